// SPDX-License-Identifier: MIT
#include "replay/writers/locks/lock_lanes.h"

#include <algorithm>

namespace flowback {
namespace {

// Divides the report's time into columns.
class Columns {
 public:
  Columns(const LockReport& report, size_t count)
      : begin_(report.begin), whole_(report.end - report.begin), count_(count) {}

  // Calls `add(column, time)` for each column's part of a span.
  template <class Add>
  void Divide(uint64_t begin, uint64_t end, Add add) const {
    begin = std::clamp(begin, begin_, begin_ + whole_);
    end = std::clamp(end, begin, begin_ + whole_);
    for (size_t i = ColumnOf(begin); i < count_ && BorderOf(i) < end; ++i) {
      const uint64_t from = std::max(begin, BorderOf(i));
      const uint64_t to = std::min(end, BorderOf(i + 1));
      if (to > from) add(i, to - from);
    }
  }

 private:
  // Without an overflow of long recordings; borders of neighbours are the same.
  uint64_t BorderOf(size_t column) const {
    return begin_ + whole_ / count_ * column + whole_ % count_ * column / count_;
  }
  size_t ColumnOf(uint64_t time) const {
    const double share = static_cast<double>(time - begin_) / static_cast<double>(whole_);
    const auto near = static_cast<size_t>(share * static_cast<double>(count_));
    return near == 0 ? 0 : near - 1;
  }

  uint64_t begin_;
  uint64_t whole_;
  size_t count_;
};

void AddWaits(const LockReport& report, const Columns& columns, LockLane& lane) {
  for (const LockWait& wait : report.worst) {
    if (wait.thread != lane.thread || wait.time() == 0) continue;
    const double slept = static_cast<double>(wait.sleeping) / static_cast<double>(wait.time());
    columns.Divide(wait.begin.time, wait.end.time, [&](size_t column, uint64_t time) {
      const auto sleeping = static_cast<uint64_t>(static_cast<double>(time) * slept);
      lane.columns[column][1] += time - std::min(time, sleeping);
      lane.columns[column][2] += std::min(time, sleeping);
    });
  }
}

LockLane LaneOf(const LockReport& report, uint32_t number, size_t count) {
  const LockThread& thread = report.threads[number];
  if (!thread.strip.empty()) count = thread.strip.size();
  LockLane lane{.thread = number, .columns = {}};
  lane.columns.resize(count);
  const Columns columns(report, count);
  columns.Divide(thread.begin, thread.end,
                 [&](size_t column, uint64_t time) { lane.columns[column][0] = time; });
  for (size_t i = 0; i < thread.strip.size(); ++i) {
    lane.columns[i][1] = thread.strip[i].spinning;
    lane.columns[i][2] = thread.strip[i].sleeping;
  }
  if (thread.strip.empty()) AddWaits(report, columns, lane);
  for (auto& [idle, spinning, sleeping] : lane.columns) idle -= std::min(idle, spinning + sleeping);
  return lane;
}

}  // namespace

std::vector<LockLane> LanesOf(const LockReport& report, size_t columns, size_t most) {
  if (!report.has_times || report.end <= report.begin) return {};
  std::vector<uint64_t> weights(report.threads.size());
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = report.threads[i].spinning + report.threads[i].sleeping;
  for (const LockHolder& holder : report.holders) weights[holder.thread] += holder.time;
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < weights.size(); ++i)
    if (weights[i] != 0) chosen.push_back(i);
  std::ranges::stable_sort(chosen, std::ranges::greater(), [&](uint32_t i) { return weights[i]; });
  chosen.resize(std::min(chosen.size(), most));
  std::ranges::sort(chosen);
  std::vector<LockLane> lanes;
  for (const uint32_t thread : chosen) lanes.push_back(LaneOf(report, thread, columns));
  return lanes;
}

}  // namespace flowback
