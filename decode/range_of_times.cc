// SPDX-License-Identifier: MIT
#include <algorithm>

#include "flowback/decode/trace_source.h"

namespace flowback {
namespace {

// Sync points closer than this need not be told apart.
constexpr uint64_t kFine = uint64_t{64} << 10;

// The last sync point that is before, and the first one behind it that is not, or the stream's end.
// `is_before` gets the time at a sync point; 0: it has no time.
template <class IsBefore>
StreamRange Divide(const TraceSource& source, const Stream& stream, IsBefore is_before) {
  StreamRange border{.begin = 0, .end = stream.bytes.size()};
  for (uint64_t low = 0; border.end - low > kFine;) {
    const uint64_t middle = low + (border.end - low) / 2;
    const uint64_t point = source.SyncPointBefore(stream, middle);
    const bool is_new = point > border.begin;
    if (is_new && !is_before(source.FirstTime(stream, {.begin = point, .end = border.end}))) {
      border.end = point;
      continue;
    }
    if (is_new) border.begin = point;
    low = middle;
  }
  return border;
}

}  // namespace

StreamRange RangeOfTimes(const TraceSource& source, const Stream& stream,
                         const std::function<bool(uint64_t tsc)>& too_early,
                         const std::function<bool(uint64_t tsc)>& too_late, uint64_t run_up) {
  const uint64_t begin =
      Divide(source, stream, [&](uint64_t tsc) { return tsc != 0 && too_early(tsc); }).begin;
  const uint64_t end =
      Divide(source, stream, [&](uint64_t tsc) { return tsc == 0 || !too_late(tsc); }).end;
  return {.begin = begin > run_up ? source.SyncPointBefore(stream, begin - run_up) : 0, .end = end};
}

}  // namespace flowback
