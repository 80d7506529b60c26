// SPDX-License-Identifier: MIT
// File descriptors that close themselves.
#pragma once

#include <unistd.h>

#include <utility>

#include "flowback/base/bytes.h"

namespace flowback {

// Owns a file descriptor. A negative number means that no file is open.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { Close(); }

  int operator*() const { return number_; }
  // Closes the file and leaves the number negative. Inline: a program that records itself links
  // nothing but that room.
  void Close() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

// Writes all of the bytes where the file stands. False: errno says why; some may be written.
bool WriteAll(int descriptor, Bytes bytes);

}  // namespace flowback
