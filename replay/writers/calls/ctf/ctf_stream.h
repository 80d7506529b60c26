// SPDX-License-Identifier: MIT
// A stream of events in the Common Trace Format 1.8: packets, each with the time and the size that
// readers look for to find their way.
//
//   packet    | header | context: first time, last time, sizes, thread | event | event | ...
//   event     | number of its kind (1 byte) | time (8) | fields |
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
  // Add the fields of the declaration behind it, in its order.
  void Begin(CtfEvent kind, uint64_t time);
  template <class Number>
  void Add(Number number) {
    AppendNumber(number, events_);
  }
  void AddText(std::string_view text) {
    events_ += text;
    events_ += '\0';
  }
  void Finish();
  bool empty() const { return text_.size() == 0 && events_.empty(); }
  SpooledText& text() { return text_; }

 private:
  // Little-endian, as the metadata says.
  template <class Number>
  static void AppendNumber(Number number, std::string& out) {
    const auto value = static_cast<uint64_t>(number);
    for (size_t i = 0; i < sizeof(Number); ++i) out += static_cast<char>(value >> (8 * i));
  }

  int32_t pid_ = -1;
  int32_t tid_ = -1;
  std::string name_;
  std::string events_;  // of the packet
  uint64_t first_ = 0;
  uint64_t last_ = 0;
  SpooledText text_;  // whole packets
};

}  // namespace flowback
