// SPDX-License-Identifier: MIT
#include "replay/timeline/cpu_strips.h"

#include <algorithm>
#include <map>
#include <utility>

namespace flowback {
namespace {

// A CPU's columns as they are filled, stay by stay.
class CpuFiller {
 public:
  CpuFiller(uint64_t begin, uint64_t end, size_t columns)
      : begin_(begin), end_(end), by_tid_(columns) {}

  void Add(uint64_t begin, uint64_t end, int32_t tid) {
    begin = std::clamp(begin, begin_, end_);
    end = std::clamp(end, begin_, end_);
    const auto columns = static_cast<double>(by_tid_.size());
    const auto length = static_cast<double>(end_ - begin_);
    while (begin < end) {
      const size_t column =
          std::min(by_tid_.size() - 1,
                   static_cast<size_t>(static_cast<double>(begin - begin_) * columns / length));
      const uint64_t border =
          begin_ + static_cast<uint64_t>(static_cast<double>(column + 1) * length / columns);
      const uint64_t until = column + 1 == by_tid_.size() ? end : std::min(end, border);
      const uint64_t next = std::max(until, begin + 1);
      by_tid_[column][tid] += next - begin;
      begin = next;
    }
  }
  CpuStrip Take(int32_t cpu) const {
    CpuStrip strip{.cpu = cpu, .tids = {}, .busy = {}};
    for (const auto& times : by_tid_) {
      uint64_t busy = 0;
      uint64_t most = 0;
      int32_t who = -1;
      for (const auto& [tid, time] : times) {
        busy += time;
        if (time > most) who = tid;
        most = std::max(most, time);
      }
      strip.tids.push_back(who);
      strip.busy.push_back(busy);
    }
    return strip;
  }

 private:
  uint64_t begin_;
  uint64_t end_;
  std::vector<std::map<int32_t, uint64_t>> by_tid_;
};

}  // namespace

std::vector<CpuStrip> CpuStripsOf(const Timeline& timeline, const Recording& recording,
                                  const StreamInputs& inputs, size_t columns) {
  if (!timeline.nanoseconds || columns == 0 || timeline.begin >= timeline.end) return {};
  std::map<int32_t, CpuStrip> strips_of;  // one at a time is filled: that takes most memory
  for (const Stream& stream : recording.streams) {
    const Schedule& schedule = inputs.ScheduleOf(stream);
    if (stream.cpu < 0 || schedule.stays.empty() || strips_of.contains(stream.cpu)) continue;
    CpuFiller filler(timeline.begin, timeline.end, columns);
    for (const ThreadStay& stay : schedule.stays)
      if (stay.tid > 0) filler.Add(stay.begin, stay.end, stay.tid);
    strips_of.emplace(stream.cpu, filler.Take(stream.cpu));
  }
  std::vector<CpuStrip> strips;
  for (auto& [cpu, strip] : strips_of) strips.push_back(std::move(strip));
  return strips;
}

}  // namespace flowback
