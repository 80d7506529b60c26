// SPDX-License-Identifier: MIT
#include "replay/writers/spikes/page_instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "replay/writers/spikes/value_columns.h"
#include "replay/writers/text/counted.h"

namespace flowback {
namespace {

// Instances of one cell are of one kind.
enum class StripKind : uint8_t { kNormal, kSlow, kApart };

class InstanceChooser {
 public:
  InstanceChooser(const SpikesView& view, const PageLimits& limits)
      : view_(view), report_(*view.report), limits_(limits) {}

  PageInstances Choose() {
    if (report_.instances.empty()) return std::move(page_);
    Measure();
    MakeRows();
    MakeBars();
    KeepAlways();
    Thin();
    Sort();
    return std::move(page_);
  }

 private:
  void Measure();
  void MakeRows();
  void MakeBars();
  void KeepAlways();
  void Thin();
  void Sort();

  StripKind KindOf(const Instance& instance) const {
    const InstanceGroup group = report_.GroupOf(instance);
    if (group == InstanceGroup::kOther) return StripKind::kApart;
    return group == InstanceGroup::kSlow ? StripKind::kSlow : StripKind::kNormal;
  }
  uint64_t MeasureOf(uint32_t number) const {
    return flowback::MeasureOf(report_.instances[number], report_.measure);
  }
  uint32_t RowOf(const Instance& instance) const { return row_of_.at(instance.thread); }
  uint64_t CellOf(const Instance& instance, const ValueColumns& levels) const;

  const SpikesView& view_;
  const SpikeReport& report_;
  const PageLimits& limits_;
  PageInstances page_;
  std::unordered_map<uint32_t, uint32_t> row_of_;  // by the thread's number
  std::set<uint32_t> always_;
};

void InstanceChooser::Measure() {
  page_.begin = UINT64_MAX;
  uint64_t last = 0;
  for (const Instance& instance : report_.instances) {
    page_.begin = std::min(page_.begin, StripPlace(report_, instance));
    last = std::max(last, StripPlace(report_, instance));
  }
  page_.length = std::max<uint64_t>(last - page_.begin, 1);
}

// Threads with slow instances have lines first, then those with many.
void InstanceChooser::MakeRows() {
  struct Thread {
    uint32_t number = 0;
    uint32_t first = 0;  // its first instance
    uint64_t slow = 0;
    uint64_t instances = 0;
  };
  std::map<uint32_t, Thread> by_number;
  for (uint32_t i = 0; i < report_.instances.size(); ++i) {
    const Instance& instance = report_.instances[i];
    Thread& thread =
        by_number.try_emplace(instance.thread, Thread{.number = instance.thread, .first = i})
            .first->second;
    ++thread.instances;
    thread.slow += KindOf(instance) == StripKind::kSlow ? 1 : 0;
  }
  std::vector<Thread> threads;
  for (const auto& [number, thread] : by_number) threads.push_back(thread);
  std::ranges::stable_sort(threads, [](const Thread& a, const Thread& b) {
    return std::pair(a.slow, a.instances) > std::pair(b.slow, b.instances);
  });
  const bool fit = threads.size() <= limits_.rows;
  const size_t own = fit ? threads.size() : limits_.rows - 1;
  for (size_t i = 0; i < threads.size(); ++i) {
    row_of_[threads[i].number] = static_cast<uint32_t>(std::min(i, own));
    if (i < own) page_.rows.push_back({ThreadWords(view_, report_.instances[threads[i].first]), 0});
    if (i == own) page_.rows.push_back({Counted(threads.size() - own, "other thread"), 0});
    page_.rows.back().instances += threads[i].instances;
  }
}

void InstanceChooser::MakeBars() {
  if (report_.sorted.empty()) return;
  const bool is_one = report_.sorted.front() == report_.sorted.back();
  const ValueColumns columns(report_.sorted, is_one ? 1 : limits_.bars);
  page_.bars.resize(columns.size());
  for (uint32_t i = 0; i < report_.instances.size(); ++i) {
    const StripKind kind = KindOf(report_.instances[i]);
    if (kind == StripKind::kApart) continue;
    PageBar& bar = page_.bars[columns.Of(MeasureOf(i))];
    if (bar.normal + bar.slow == 0 || MeasureOf(i) > MeasureOf(bar.largest)) bar.largest = i;
    ++(kind == StripKind::kSlow ? bar.slow : bar.normal);
  }
}

void InstanceChooser::KeepAlways() {
  for (const PageBar& bar : page_.bars)
    if (bar.normal + bar.slow != 0) always_.insert(bar.largest);
  if (report_.normal != 0) always_.insert(report_.median);
  for (const Outlier& outlier : report_.outliers) always_.insert({outlier.number, outlier.nearest});
  const std::vector<uint32_t> slow = SlowestOf(report_, limits_.slow);
  always_.insert(slow.begin(), slow.end());
}

uint64_t InstanceChooser::CellOf(const Instance& instance, const ValueColumns& levels) const {
  const StripKind kind = KindOf(instance);
  const uint64_t along =
      static_cast<uint64_t>(static_cast<double>(StripPlace(report_, instance) - page_.begin) /
                            static_cast<double>(page_.length) * static_cast<double>(page_.columns));
  const uint64_t level =
      kind == StripKind::kApart ? 0 : levels.Of(flowback::MeasureOf(instance, report_.measure));
  uint64_t cell = RowOf(instance) * uint64_t{3} + static_cast<uint64_t>(kind);
  cell = cell * page_.columns + std::min<uint64_t>(along, page_.columns - 1);
  return cell * limits_.levels + level;
}

void InstanceChooser::Thin() {
  const auto add = [&](uint32_t number) {
    page_.shown.push_back({.number = number, .row = RowOf(report_.instances[number])});
  };
  const auto count = static_cast<uint32_t>(report_.instances.size());
  if (count - always_.size() <= limits_.others) {
    for (uint32_t i = 0; i < count; ++i) add(i);
    return;
  }
  page_.columns = std::max<size_t>(limits_.cells / (page_.rows.size() * limits_.levels), 1);
  const std::vector<uint64_t> none{1};
  const ValueColumns levels(report_.sorted.empty() ? none : report_.sorted, limits_.levels);
  std::unordered_map<uint64_t, PageInstance> cells;
  for (uint32_t i = 0; i < count; ++i) {
    if (always_.contains(i)) {
      add(i);
      continue;
    }
    const auto [at, is_new] =
        cells.try_emplace(CellOf(report_.instances[i], levels),
                          PageInstance{.number = i, .row = RowOf(report_.instances[i])});
    if (is_new) continue;
    ++at->second.stands_for;
    if (MeasureOf(i) > MeasureOf(at->second.number)) at->second.number = i;
  }
  for (const auto& [cell, kept] : cells) page_.shown.push_back(kept);
}

void InstanceChooser::Sort() {
  std::ranges::sort(page_.shown, [&](const PageInstance& a, const PageInstance& b) {
    const auto place = [&](const PageInstance& each) {
      return StripPlace(report_, report_.instances[each.number]);
    };
    return std::tuple(a.row, place(a), a.number) < std::tuple(b.row, place(b), b.number);
  });
}

}  // namespace

uint64_t StripPlace(const SpikeReport& report, const Instance& instance) {
  return report.has_times ? instance.begin.time : instance.first_instruction;
}

PageInstances ChooseInstances(const SpikesView& view, const PageLimits& limits) {
  return InstanceChooser(view, limits).Choose();
}

}  // namespace flowback
