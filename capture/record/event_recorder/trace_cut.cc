// SPDX-License-Identifier: MIT
#include "capture/record/event_recorder/trace_cut.h"

#include <algorithm>
#include <variant>

#include "decode/pt/packets/packet.h"

namespace flowback::record {
namespace {

constexpr size_t kLongestPsbPlus = 512;  // status packets are few; a longer PSB+ lost its PSBEND
constexpr unsigned kTscBits = 56;        // of the counter in a packet

// The time-stamp counter's lower bits, from the PSB+ at `at`.
std::optional<uint64_t> CounterAt(Bytes trace, size_t at) {
  pt::PebsState pebs;
  size_t next = at;
  while (next < trace.size() && next - at < kLongestPsbPlus) {
    pt::Packet packet;
    const pt::ReadResult size = pt::ReadPacket(trace.subspan(next), pebs, packet);
    if (!size || std::holds_alternative<pt::PsbEnd>(packet)) return std::nullopt;
    if (const auto* tsc = std::get_if<pt::Tsc>(&packet)) return tsc->tsc;
    next += *size;
  }
  return std::nullopt;
}

// The counter at a moment of the records' clock, about.
uint64_t CounterNear(const TimeConversion& conversion, uint64_t time) {
  if (time < conversion.zero) return 0;
  const auto ns = static_cast<unsigned __int128>(time - conversion.zero);
  return static_cast<uint64_t>((ns << conversion.shift) / conversion.mult);
}

// The value with these lower bits that is nearest to `near`.
uint64_t Extend(uint64_t lower, uint64_t near) {
  constexpr uint64_t kRound = uint64_t{1} << kTscBits;
  const uint64_t value = (near & ~(kRound - 1)) | lower;
  if (value > near + kRound / 2 && value >= kRound) return value - kRound;
  if (near > value + kRound / 2) return value + kRound;
  return value;
}

}  // namespace

TraceTimes::TraceTimes(Bytes trace, const TimeConversion& conversion, uint64_t latest)
    : size_(trace.size()) {
  if (!conversion.known()) return;
  const uint64_t near = CounterNear(conversion, latest);
  for (size_t at = pt::FindPsb(trace, 0); at < trace.size(); at = pt::FindPsb(trace, at + 1))
    if (const auto counter = CounterAt(trace, at))
      points_.push_back({at, conversion.ToNanoseconds(Extend(*counter, near))});
}

std::optional<TraceCut> TraceTimes::Between(uint64_t begin, uint64_t end) const {
  if (points_.empty() || points_.front().time >= end) return std::nullopt;
  TraceCut cut{.begin = points_.front().at, .end = size_, .whole = points_.front().time <= begin};
  for (const SyncPoint& point : points_) {
    if (point.time <= begin) cut.begin = point.at;
    if (point.time >= end) {
      cut.end = point.at;
      break;
    }
  }
  return cut;
}

}  // namespace flowback::record
