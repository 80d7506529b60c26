// SPDX-License-Identifier: MIT
#include "replay/writers/calls/ctf/ctf_stream.h"

namespace flowback {

void CtfStream::Begin(uint64_t time) {
  constexpr size_t kMostEvents = size_t{256} << 10;
  if (events_.size() >= kMostEvents) Finish();
  if (events_.empty()) first_ = time;
  last_ = time;
}

void CtfStream::Finish() {
  if (events_.empty()) return;
  constexpr uint32_t kMagic = 0xc1fc1fc1;
  constexpr uint64_t kNumbers = 2 * sizeof(uint32_t) + 4 * sizeof(uint64_t) + 2 * sizeof(int32_t);
  const uint64_t bits = 8 * (kNumbers + name_.size() + 1 + events_.size());
  std::string& out = text_.buffer();
  AppendUpTo(kNumbers, out, [&](char* at) {
    at = PutBytes(uint32_t{0}, PutBytes(kMagic, at));  // the one kind of streams
    at = PutBytes(last_, PutBytes(first_, at));
    at = PutBytes(bits, PutBytes(bits, at));  // of the content, and of the packet: no padding
    return PutBytes(tid_, PutBytes(pid_, at));
  });
  out += name_;
  out += '\0';
  out += events_;
  events_.clear();
  text_.Commit();
}

}  // namespace flowback
