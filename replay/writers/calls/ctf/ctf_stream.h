// SPDX-License-Identifier: MIT
// A stream of events in the Common Trace Format 1.8: packets, each with the time and the size that
// readers look for to find their way.
//
//   packet    | header | context: first time, last time, sizes, thread | event | event | ...
//   event     | number of its kind (1 byte) | time (8) | fields |
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "replay/writers/text/quick_text.h"
#include "replay/writers/text/spooled_text.h"

namespace flowback {

// The kinds of events; the metadata has a declaration for each.
enum class CtfEvent : uint8_t { kCall, kReturn, kLoss, kNoFlow };

// Events come in the order of their times. The text is whole after Finish.
class CtfStream {
 public:
  void SetThread(int32_t pid, int32_t tid, std::string_view name) {
    pid_ = pid;
    tid_ = tid;
    name_ = name;
  }
  // Adds an event, of whose fields `numbers` come first. `texts` are the others, each with a zero
  // byte behind it. All are in the order of the declaration.
  template <class... Numbers>
  void Add(CtfEvent kind, uint64_t time, std::string_view texts, Numbers... numbers) {
    Begin(time);
    const size_t size =
        sizeof(uint8_t) + sizeof time + (size_t{0} + ... + sizeof(Numbers)) + texts.size();
    AppendUpTo(size, events_, [&](char* at) {
      at = PutBytes(time, PutBytes(static_cast<uint8_t>(kind), at));
      ((at = PutBytes(numbers, at)), ...);
      return PutText(texts, at);
    });
  }
  void Finish();
  bool empty() const { return text_.size() == 0 && events_.empty(); }
  SpooledText& text() { return text_; }

 private:
  // Little-endian, as the metadata says and base/host.cc requires of the host.
  template <class Number>
  static char* PutBytes(Number number, char* at) {
    std::memcpy(at, &number, sizeof(Number));
    return at + sizeof(Number);
  }

  // Makes room for an event.
  void Begin(uint64_t time);

  int32_t pid_ = -1;
  int32_t tid_ = -1;
  std::string name_;
  std::string events_;  // of the packet
  uint64_t first_ = 0;
  uint64_t last_ = 0;
  SpooledText text_;  // whole packets
};

}  // namespace flowback
