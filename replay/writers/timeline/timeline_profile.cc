// SPDX-License-Identifier: MIT
// The profiles: functions by their own time, and call paths as a tree.
#include <fmt/format.h>

#include <algorithm>

#include "replay/writers/text/counted.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
namespace {

constexpr size_t kNumbers = 43;  // columns ahead of a name
constexpr size_t kIpc = 8;       // and of the cycles

// A path with less of its tree is not shown.
constexpr uint64_t kLeastShare = 200;  // one in so many

// Returns the sum of the threads' lives, or of the requested calls.
uint64_t AllOf(const TimelineView& view) {
  const std::vector<CallPath>& paths = view.timeline->paths;
  if (view.function.empty()) return std::max<uint64_t>(view.WeightOf(paths.front().sums), 1);
  uint64_t all = 0;
  for (const CallPath& path : paths)
    if (path.depth == 1) all += view.WeightOf(path.sums);
  return std::max<uint64_t>(all, 1);
}

std::string TimeOrDash(const TimelineView& view, uint64_t time) {
  return view.has_times() ? DurationWords(time, view.timeline->nanoseconds) : "-";
}

// A column of it, where there is anything to say.
std::string IpcColumn(const TimelineView& view, const CycleShare& cycles) {
  return view.has_cycles() ? fmt::format("{:>7} ", IpcWords(cycles)) : "";
}
std::string IpcTitle(const TimelineView& view) { return view.has_cycles() ? "    IPC " : ""; }

// "0.52 ms, 99 of 100 in 0.9 ms": nothing of a single call, whose time is its total.
std::string DurationsOf(const TimelineView& view, const CallDurations& durations) {
  if (durations.count < 2 || !view.has_times()) return {};
  const bool nanoseconds = view.timeline->nanoseconds;
  return fmt::format("  [{} / {} / {} / {}]", DurationWords(durations.min, nanoseconds),
                     DurationWords(durations.median, nanoseconds),
                     DurationWords(durations.p99, nanoseconds),
                     DurationWords(durations.max, nanoseconds));
}

// Paths by parent, the heaviest first.
class PathPrinter {
 public:
  PathPrinter(const TimelineView& view, std::string& out)
      : view_(view),
        out_(out),
        paths_(view.timeline->paths),
        all_(AllOf(view)),
        children_(paths_.size()) {
    for (uint32_t i = 1; i < paths_.size(); ++i) children_[paths_[i].parent].push_back(i);
    for (std::vector<uint32_t>& some : children_)
      std::ranges::stable_sort(some, [&](uint32_t a, uint32_t b) {
        if (view.sort == TimelineSort::kCalls) return paths_[a].sums.count > paths_[b].sums.count;
        return view.WeightOf(paths_[a].sums) > view.WeightOf(paths_[b].sums);
      });
  }

  void Print() {
    std::vector<uint32_t> work(children_[0].rbegin(), children_[0].rend());
    while (!work.empty()) {
      const uint32_t path = work.back();
      work.pop_back();
      if (view_.WeightOf(paths_[path].sums) < all_ / kLeastShare || shown_ == view_.rows) {
        ++left_out_;
        continue;
      }
      ++shown_;
      PrintOne(paths_[path]);
      if (paths_[path].depth < view_.max_depth)
        work.insert(work.end(), children_[path].rbegin(), children_[path].rend());
    }
    if (left_out_ != 0)
      out_ += fmt::format("  ({} more that took less, or are further down)\n", left_out_);
  }

 private:
  void PrintOne(const CallPath& path) {
    const CallSums& sums = path.sums;
    const size_t numbers = kNumbers + (view_.has_cycles() ? kIpc : 0);
    const size_t most_indent =
        view_.width > numbers + kLeastName ? view_.width - numbers - kLeastName : 0;
    const size_t indent = std::min<size_t>({2 * (size_t{path.depth} - 1), most_indent, 40});
    std::string line = fmt::format(
        "{:>8} {:>10} {:>10} {:>9} {} {:<{}}", ShareWords(view_.WeightOf(sums), all_),
        TimeOrDash(view_, sums.total), path.is_cut ? "-" : TimeOrDash(view_, sums.self.time),
        GroupedDigits(sums.count) + (path.at_least ? "+" : ""), IpcColumn(view_, sums.cycles), "",
        indent);
    if (path.is_cut) {
      out_ += line + "(cheaper paths, which were cut)\n";
      return;
    }
    const std::string behind = DurationsOf(view_, sums.durations);
    const size_t used = ColumnsOf(line) + behind.size();
    const bool fits = view_.width >= 110 && used + 16 < view_.width;
    line += NameOf(view_, path.function, NameColumns(view_, fits ? used : ColumnsOf(line)));
    if (fits) line += behind;
    out_ += line + '\n';
  }

  const TimelineView& view_;
  std::string& out_;
  const std::vector<CallPath>& paths_;
  uint64_t all_;
  std::vector<std::vector<uint32_t>> children_;
  size_t shown_ = 0;
  size_t left_out_ = 0;
};

}  // namespace

void AppendFunctionProfile(const TimelineView& view, std::string& out) {
  const Timeline& timeline = *view.timeline;
  const std::vector<uint32_t> functions = Sorted(view);
  if (functions.empty()) return;
  out += fmt::format("\nby function\n{:>8} {:>10} {:>10} {:>9} {:>13} {} {}\n", "own", "own time",
                     "with calls", "calls", "instructions", IpcTitle(view), "function");
  const uint64_t all = view.weighs_instructions()
                           ? timeline.paths.front().sums.instructions
                           : timeline.times[static_cast<size_t>(TimeClass::kExecuting)];
  for (size_t i = 0; i < std::min(functions.size(), view.rows); ++i) {
    const CallSums& sums = timeline.by_function[functions[i]];
    std::string line = fmt::format(
        "{:>8} {:>10} {:>10} {:>9} {:>13} {} ", ShareWords(view.SelfWeightOf(sums), all),
        TimeOrDash(view, sums.self.time), TimeOrDash(view, sums.total), GroupedDigits(sums.count),
        GroupedDigits(sums.self_instructions), IpcColumn(view, sums.self_cycles));
    AppendName(view, functions[i], line);
    out += line + '\n';
  }
  AppendMore(functions.size(), view.rows, out);
}

void AppendPathProfile(const TimelineView& view, std::string& out) {
  if (view.timeline->paths.size() < 2) return;
  out += fmt::format(
      "\nby call path\n{:>8} {:>10} {:>10} {:>9} {} {}\n", "share", "time", "own time", "calls",
      IpcTitle(view),
      view.width < 110 ? "function" : "function  [shortest / median / p99 / longest call]");
  PathPrinter(view, out).Print();
}

}  // namespace flowback
