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

// A path with less than 1/200 of its tree is not shown.
constexpr uint64_t kLeastShare = 200;

// Returns what `weight` yields for the threads' lives, or for the requested calls; at least 1.
template <class Weight>
uint64_t AllOf(const TimelineView& view, Weight weight) {
  const std::vector<CallPath>& paths = view.timeline->paths;
  if (view.function.empty()) return std::max<uint64_t>(weight(paths.front().sums), 1);
  uint64_t all = 0;
  for (const CallPath& path : paths)
    if (path.depth == 1) all += weight(path.sums);
  return std::max<uint64_t>(all, 1);
}
uint64_t TimeOf(const CallSums& sums) { return sums.total; }

bool IsSystemCall(const TimelineView& view, uint32_t function) {
  return function != CallPath::kNoFunction && view.timeline->functions[function].is_system_call;
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
        all_(AllOf(view, [&](const CallSums& sums) { return view.WeightOf(sums); })),
        all_time_(AllOf(view, TimeOf)),
        children_(paths_.size()) {
    for (uint32_t i = 1; i < paths_.size(); ++i) children_[paths_[i].parent].push_back(i);
    for (std::vector<uint32_t>& some : children_)
      std::ranges::stable_sort(some, [&](uint32_t a, uint32_t b) {
        if (view.sort == TimelineSort::kCalls) return paths_[a].sums.count > paths_[b].sums.count;
        return KeyOf(paths_[a]) > KeyOf(paths_[b]);
      });
    FindLarge();
  }

  void Print() {
    std::vector<uint32_t> work(children_[0].rbegin(), children_[0].rend());
    while (!work.empty()) {
      const uint32_t path = work.back();
      work.pop_back();
      if (!is_large_[path] || shown_ == view_.rows) {
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
  // A system call has no instructions. Where these are the weight, its time sorts it.
  std::pair<uint64_t, uint64_t> KeyOf(const CallPath& path) const {
    return {view_.WeightOf(path.sums), path.sums.total};
  }

  // Marks each large path, and the paths that lead to it.
  void FindLarge() {
    for (const CallPath& path : paths_) {
      if (!IsSystemCall(view_, path.function)) continue;
      system_calls_ += path.sums.count;
      system_call_time_ += path.sums.total;
    }
    is_large_.resize(paths_.size());
    for (size_t i = paths_.size() - 1; i > 0; --i) {
      is_large_[i] = is_large_[i] || IsLarge(paths_[i]);
      if (is_large_[i]) is_large_[paths_[i].parent] = true;
    }
  }
  bool IsLarge(const CallPath& path) const {
    if (!IsSystemCall(view_, path.function)) return view_.WeightOf(path.sums) >= all_ / kLeastShare;
    if (!view_.weighs_instructions()) return path.sums.total >= all_time_ / kLeastShare;
    // An emulator slows code down and not the kernel: system calls are compared with each other.
    return path.sums.count >= system_calls_ / kLeastShare ||
           path.sums.total > system_call_time_ / kLeastShare;
  }
  std::string ShareOf(const CallPath& path) const {
    if (view_.weighs_instructions() && IsSystemCall(view_, path.function)) return "-";
    return ShareWords(view_.WeightOf(path.sums), all_);
  }
  void PrintOne(const CallPath& path) {
    const CallSums& sums = path.sums;
    const size_t numbers = kNumbers + (view_.has_cycles() ? kIpc : 0);
    const size_t most_indent =
        view_.width > numbers + kLeastName ? view_.width - numbers - kLeastName : 0;
    const size_t indent = std::min<size_t>({2 * (size_t{path.depth} - 1), most_indent, 40});
    std::string line = fmt::format("{:>8} {:>10} {:>10} {:>9} {} {:<{}}", ShareOf(path),
                                   TimeOrDash(view_, sums.total),
                                   path.is_cut ? "-" : TimeOrDash(view_, sums.self.time),
                                   GroupedDigits(sums.count) + (path.at_least ? "+" : ""),
                                   IpcColumn(view_, sums.cycles), "", indent);
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
  uint64_t all_time_;
  uint64_t system_calls_ = 0;
  uint64_t system_call_time_ = 0;
  std::vector<std::vector<uint32_t>> children_;
  std::vector<bool> is_large_;
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

// Sorted by time, which is the kernel's or spent off the CPU; by number where there are no times.
void AppendSystemCallProfile(const TimelineView& view, std::string& out) {
  const std::vector<CallSums>& sums = view.timeline->by_function;
  std::vector<uint32_t> calls = FunctionsBy(
      sums, [](const CallSums& one) { return one.count != 0 || one.total != 0; },
      [&](const CallSums& one) {
        return view.sort == TimelineSort::kCalls ? std::pair(one.count, one.total)
                                                 : std::pair(one.total, one.count);
      });
  std::erase_if(calls, [&](uint32_t function) { return !IsSystemCall(view, function); });
  if (calls.empty()) return;
  out += fmt::format(
      "\nby system call\n{:>8} {:>10} {:>10} {:>10} {:>9}  {}\n", "share", "time", "in kernel",
      "off CPU", "calls",
      view.width < 110 ? "system call" : "system call  [shortest / median / p99 / longest call]");
  const uint64_t all = AllOf(view, TimeOf);
  const auto time = [&](const CallSums& one, TimeClass kind) {
    return TimeOrDash(view, one.own[static_cast<size_t>(kind)]);
  };
  for (size_t i = 0; i < std::min(calls.size(), view.rows); ++i) {
    const CallSums& one = sums[calls[i]];
    std::string line = fmt::format("{:>8} {:>10} {:>10} {:>10} {:>9}  ", ShareWords(one.total, all),
                                   TimeOrDash(view, one.total), time(one, TimeClass::kKernel),
                                   time(one, TimeClass::kOffCpu), GroupedDigits(one.count));
    AppendName(view, calls[i], line);
    if (view.width >= 110) line += DurationsOf(view, one.durations);
    out += line + '\n';
  }
  AppendMore(calls.size(), view.rows, out);
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
