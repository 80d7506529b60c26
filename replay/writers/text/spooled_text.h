// SPDX-License-Identifier: MIT
// Text that is written after what comes later, kept in a file without a name meanwhile.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "flowback/base/error.h"
#include "flowback/writers.h"

namespace flowback {

// A column of a table whose columns are written one after the other. Short texts stay in memory.
class SpooledText {
 public:
  // Append to it, then call Commit.
  std::string& buffer() { return buffer_; }
  void Commit() {
    if (buffer_.size() >= kMostHeld) Spill();
  }
  // In bytes.
  uint64_t size() const { return spilled_ + buffer_.size(); }
  // Writes all of the text, and forgets it. Errors: kSystem if the folder of temporary files has no
  // room; the text is not whole then.
  Status MoveTo(TextSink& sink);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  static constexpr size_t kMostHeld = size_t{1} << 20;

  void Spill();

  std::string buffer_;
  uint64_t spilled_ = 0;  // bytes in the file
  std::unique_ptr<std::FILE, Close> file_;
  int error_ = 0;
};

}  // namespace flowback
