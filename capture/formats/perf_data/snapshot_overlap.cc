// SPDX-License-Identifier: MIT
//
// In snapshot mode the CPU writes round and round, and each snapshot copies the whole buffer. When
// two are taken soon after each other, the second one begins in the middle of the first:
//
//      earlier  |--------PSB TSC=7-----PSB TSC=9----|
//      later             |------PSB TSC=7-----PSB TSC=9---------PSB TSC=12---|
//                         <----------- repeated ----->
//
// Loops make the same packets again and again, so equal bytes alone prove nothing. A time-stamp
// does: the later snapshot's first PSB with a TSC is looked for in the earlier one, and then all
// that both have around it must be the same. Bytes before a snapshot's first PSB are not decoded,
// so an overlap that holds no PSB costs nothing when it is not found.
#include "capture/formats/perf_data/snapshot_overlap.h"

#include <algorithm>
#include <functional>
#include <variant>

#include "decode/pt/packets/packet.h"

namespace flowback {
namespace {

constexpr size_t kLongestPsbPlus = 512;  // status packets are few; a longer PSB+ lost its PSBEND
constexpr uint64_t kPaddingBelow = 8;    // perf pads to multiples of this

// The bytes from the PSB at `at` up to the end of its TSC; empty when it has none.
Bytes PsbWithTsc(Bytes bytes, size_t at) {
  pt::PebsState pebs;
  size_t end = at;
  while (end < bytes.size() && end - at < kLongestPsbPlus) {
    pt::Packet packet;
    const pt::ReadResult size = pt::ReadPacket(bytes.subspan(end), pebs, packet);
    if (!size || std::holds_alternative<pt::PsbEnd>(packet)) return {};
    end += *size;
    if (std::holds_alternative<pt::Tsc>(packet)) return bytes.subspan(at, end - at);
  }
  return {};
}

struct Mark {
  size_t at = 0;
  Bytes bytes;
};

std::optional<Mark> FirstMark(Bytes bytes) {
  for (size_t at = pt::FindPsb(bytes, 0); at < bytes.size(); at = pt::FindPsb(bytes, at + 1)) {
    const Bytes mark = PsbWithTsc(bytes, at);
    if (!mark.empty()) return Mark{at, mark};
  }
  return std::nullopt;
}

std::optional<size_t> Find(Bytes bytes, Bytes wanted) {
  const auto found = std::search(bytes.begin(), bytes.end(),
                                 std::boyer_moore_searcher(wanted.begin(), wanted.end()));
  if (found == bytes.end()) return std::nullopt;
  return static_cast<size_t>(found - bytes.begin());
}

bool AllZero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

// One place of the trace is at `in_earlier` and at `in_later`: is all around it the same?
std::optional<SnapshotOverlap> Align(Bytes earlier, size_t in_earlier, Bytes later,
                                     size_t in_later) {
  const size_t before = std::min(in_earlier, in_later);
  const size_t after = std::min(earlier.size() - in_earlier, later.size() - in_later);
  const Bytes a = earlier.subspan(in_earlier - before, before + after);
  const Bytes b = later.subspan(in_later - before, before + after);
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin()).first;
  const auto same = static_cast<uint64_t>(differ - a.begin());
  SnapshotOverlap overlap;
  overlap.repeated = in_later - before + same;
  overlap.earlier_is_inside = in_later > in_earlier;
  const bool ends_inside = in_later + after == later.size() && in_earlier + after < earlier.size();
  if (overlap.earlier_is_inside && ends_inside) return std::nullopt;  // begins and ends before it
  if (same == a.size()) return overlap;
  const Bytes rest = earlier.subspan(in_earlier - before + same);
  if (rest.size() >= kPaddingBelow || !AllZero(rest)) return std::nullopt;
  overlap.padding = rest.size();
  return overlap;
}

}  // namespace

std::optional<SnapshotOverlap> FindSnapshotOverlap(Bytes earlier, Bytes later) {
  const auto mark = FirstMark(later);
  if (!mark) return std::nullopt;
  if (const auto at = Find(earlier, mark->bytes)) return Align(earlier, *at, later, mark->at);
  // The later one may begin before the earlier one.
  const auto other = FirstMark(earlier);
  if (!other) return std::nullopt;
  const auto at = Find(later, other->bytes);
  return at ? Align(earlier, other->at, later, *at) : std::nullopt;
}

}  // namespace flowback
