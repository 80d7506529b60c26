// SPDX-License-Identifier: MIT
#include "replay/writers/calls/ctf/ctf_stream.h"

namespace flowback {

void CtfStream::Begin(CtfEvent kind, uint64_t time) {
  constexpr size_t kMostEvents = size_t{256} << 10;
  if (events_.size() >= kMostEvents) Finish();
  if (events_.empty()) first_ = time;
  last_ = time;
  Add(static_cast<uint8_t>(kind));
  Add(time);
}

void CtfStream::Finish() {
  if (events_.empty()) return;
  constexpr uint32_t kMagic = 0xc1fc1fc1;
  constexpr uint64_t kNumbers = 2 * sizeof(uint32_t) + 4 * sizeof(uint64_t) + 2 * sizeof(int32_t);
  const uint64_t bits = 8 * (kNumbers + name_.size() + 1 + events_.size());
  std::string& out = text_.buffer();
  AppendNumber(kMagic, out);
  AppendNumber(uint32_t{0}, out);  // the one kind of streams
  AppendNumber(first_, out);
  AppendNumber(last_, out);
  AppendNumber(bits, out);  // of the content, and of the packet, which has no padding
  AppendNumber(bits, out);
  AppendNumber(pid_, out);
  AppendNumber(tid_, out);
  out += name_;
  out += '\0';
  out += events_;
  events_.clear();
  text_.Commit();
}

}  // namespace flowback
