// SPDX-License-Identifier: MIT
#include "decode/stream_index.h"

#include <utility>

namespace flowback {
namespace {

constexpr uint64_t kEndOfTime = ~uint64_t{0};

// Differences are small, but may be negative: the sign goes into the lowest bit, and seven bits
// into each byte, the lowest first.
void Put(uint64_t now, uint64_t before, std::vector<uint8_t>& out) {
  const uint64_t difference = now - before;
  uint64_t left = difference << 1 ^ (difference >> 63 != 0 ? ~uint64_t{0} : 0);
  for (; left >= 0x80; left >>= 7) out.push_back(static_cast<uint8_t>(left | 0x80));
  out.push_back(static_cast<uint8_t>(left));
}

uint64_t Take(const uint8_t*& at, uint64_t before) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const uint8_t byte = *at++;
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) break;
  }
  return before + (value >> 1 ^ (0 - (value & 1)));
}

// Times of one pause are near each other, and each may be unknown.
enum Flags : uint8_t {
  kInside = 1,
  kAtEnd = 2,
  kHasEarliest = 4,
  kHasResumed = 8,
  kHasLatest = 16
};

uint64_t Convert(uint64_t tsc, const TimeConversion& time) {
  return tsc == 0 || tsc == kEndOfTime ? tsc : time.ToNanoseconds(tsc);
}

}  // namespace

Pause Pause::In(const TimeConversion& time) const {
  Pause pause = *this;
  pause.earliest = Convert(earliest, time);
  pause.resumed = Convert(resumed, time);
  pause.latest = Convert(latest, time);
  return pause;
}

// Each time is written as its distance to the one before it.
void PauseList::Add(const Pause& pause) {
  if (!complete_) return;
  bytes_.push_back(static_cast<uint8_t>((pause.inside ? kInside : 0) | (pause.at_end ? kAtEnd : 0) |
                                        (pause.earliest != 0 ? kHasEarliest : 0) |
                                        (pause.resumed != 0 ? kHasResumed : 0) |
                                        (pause.latest != kEndOfTime ? kHasLatest : 0)));
  Put(pause.offset, std::exchange(last_offset_, pause.offset), bytes_);
  const auto put = [this](uint64_t time) { Put(time, std::exchange(last_time_, time), bytes_); };
  if (pause.earliest != 0) put(pause.earliest);
  if (pause.resumed != 0) put(pause.resumed);
  if (pause.latest != kEndOfTime) put(pause.latest);
  if (bytes_.size() <= most_bytes_) return;
  complete_ = false;
  bytes_ = {};
}

void PauseList::Visit(const std::function<bool(const Pause&)>& visit) const {
  const uint8_t* at = bytes_.data();
  const uint8_t* const end = at + bytes_.size();
  uint64_t offset = 0;
  uint64_t time = 0;
  while (at != end) {
    const uint8_t flags = *at++;
    offset = Take(at, offset);
    Pause pause{.offset = offset,
                .latest = kEndOfTime,
                .inside = (flags & kInside) != 0,
                .at_end = (flags & kAtEnd) != 0};
    if ((flags & kHasEarliest) != 0) pause.earliest = time = Take(at, time);
    if ((flags & kHasResumed) != 0) pause.resumed = time = Take(at, time);
    if ((flags & kHasLatest) != 0) pause.latest = time = Take(at, time);
    if (!visit(pause)) return;
  }
}

}  // namespace flowback
