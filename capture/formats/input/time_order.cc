// SPDX-License-Identifier: MIT
#include "capture/formats/input/time_order.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

namespace flowback {
namespace {

uint64_t TimeOf(const SidebandRecord& record) {
  return std::visit([](const SidebandBase& base) { return base.time; }, record);
}

bool Earlier(const SidebandRecord& a, const SidebandRecord& b) { return TimeOf(a) < TimeOf(b); }

// Few records stand out of order, mostly, and near their places: all that lies between the first
// place that one of them goes to and the last of them is sorted, and no more.
void SortNearlySorted(std::deque<SidebandRecord>& records) {
  const auto first = std::is_sorted_until(records.begin(), records.end(), Earlier);
  if (first == records.end()) return;
  auto last = first;
  uint64_t newest = TimeOf(*std::prev(first));
  for (auto at = first; at != records.end(); ++at) {
    if (TimeOf(*at) < newest) last = at;
    newest = std::max(newest, TimeOf(*at));
  }
  const auto oldest = std::min_element(first, std::next(last), Earlier);
  const auto begin = std::upper_bound(records.begin(), first, *oldest, Earlier);
  std::stable_sort(begin, std::next(last), Earlier);
}

// Each record without time goes with the one before it.
void SortAll(std::vector<SidebandRecord>& records) {
  std::vector<std::pair<uint64_t, size_t>> order;
  uint64_t time = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    if (TimeOf(records[i]) != 0) time = TimeOf(records[i]);
    order.emplace_back(time, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<SidebandRecord> sorted;
  sorted.reserve(records.size());
  for (const auto& [unused, index] : order) sorted.push_back(std::move(records[index]));
  records = std::move(sorted);
}

}  // namespace

void TimeOrder::Add(SidebandRecord record) {
  const uint64_t time = TimeOf(record);
  if (time == 0) return done_.push_back(std::move(record));
  if (time < newest_done_) ++late_;
  newest_ = std::max(newest_, time);
  waiting_.push_back(std::move(record));
}

void TimeOrder::FinishRound() {
  Flush(last_round_);
  last_round_ = newest_;
}

void TimeOrder::Flush(uint64_t limit) {
  SortNearlySorted(waiting_);
  const auto end =
      std::partition_point(waiting_.begin(), waiting_.end(),
                           [&](const SidebandRecord& record) { return TimeOf(record) <= limit; });
  if (end == waiting_.begin()) return;
  newest_done_ = std::max(newest_done_, TimeOf(*std::prev(end)));
  for (auto left = end - waiting_.begin(); left != 0; --left) {
    done_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

std::vector<SidebandRecord> TimeOrder::Take() && {
  Flush(std::numeric_limits<uint64_t>::max());
  std::vector<SidebandRecord> records;
  records.reserve(done_.size());
  for (; !done_.empty(); done_.pop_front()) records.push_back(std::move(done_.front()));
  if (late_ != 0) SortAll(records);
  return records;
}

}  // namespace flowback
