// SPDX-License-Identifier: MIT
// What ran when: for each thread its calls merged by call path, the calls long enough to be seen,
// and strips of how it spent its time.
//
//   inputs.set_times(true);
//   Result<Timeline> timeline = MakeTimeline(sources, flows, options);
//
// The law: each moment of a thread's life is in exactly one node of its tree, where it is of one
// class. So the self times of all calls, and the times off CPUs, in the kernel, lost, filtered and
// undecodable, add up to the life; and the instructions add up to the thread's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/model/recording.h"
#include "flowback/replay/call_stack.h"
#include "flowback/replay/functions.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/time_account.h"

namespace flowback {

// All times are in the unit of the RecordingClock, which is TimeAccounts'.
using ClassTimes = std::array<uint64_t, std::size(kAllTimeClasses)>;

struct TimelineFunction {
  std::string name;  // demangled; "[FILE+0x123]" where no symbol names it
  std::string file;  // empty: not known
  uint64_t entry_ip = 0;
  const AddressSpace* space = nullptr;
  bool named = false;  // by a symbol
  // Stands for a system call, as "read (system call)": its calls lie in the functions that made
  // them. It has no code and no instructions.
  bool is_system_call = false;
};

// How long calls took that were seen from their entry to their end. The quantiles are right to a
// thirty-second of their value, the others to the unit. All 0: no such call was seen.
struct CallDurations {
  uint64_t count = 0;
  uint64_t min = 0;
  uint64_t median = 0;
  uint64_t p99 = 0;
  uint64_t max = 0;
};

// Core cycles of instructions, if the trace has them: between two packets that count cycles (CYC),
// with tracing on.
struct CycleShare {
  uint64_t instructions = 0;  // whose cycles are known
  uint64_t likely = 0;        // their cycles
  uint64_t lo = 0;            // the least that these and all others took, as the trace proves;
  uint64_t hi = 0;            // the most that all but the `untold` ones took
  uint64_t untold = 0;        // instructions of whose cycles nothing is known

  bool any() const { return instructions != 0; }
};

// Cycles of a thread that belong to no call.
struct CycleTotals {
  uint64_t paused = 0;     // while tracing was off
  uint64_t undivided = 0;  // of instructions and such a time together
};

// A call path, or a function wherever it was called.
struct CallSums {
  uint64_t count = 0;      // calls
  uint64_t partial = 0;    // of these: begun before the flow, or not seen to end
  TimeShare self;          // executing in it; the trace proves lo <= time <= hi
  uint64_t executing = 0;  // in it and what it called
  uint64_t total = 0;      // the same with the time off the CPU, in the kernel, ...
  // Its own time by class: kExecuting equals self.time, the others were not executing.
  ClassTimes own{};
  uint64_t self_instructions = 0;
  uint64_t instructions = 0;  // with what it called
  CycleShare self_cycles;
  CycleShare cycles;  // with what it called
  CallDurations durations;
};

// A node of a thread's tree. Parents come before their children; the first one is the thread
// itself: its own time and instructions were in no known call.
//
// A tree has a limit. Paths beyond it are cut, the cheapest first: all calls cut below a path
// together become one child of it, without a function.
struct CallPath {
  uint32_t parent = 0;
  uint32_t function = kNoFunction;  // of Timeline::functions
  uint32_t depth = 0;
  bool is_cut = false;  // has the calls that were cut below its parent
  // Some calls of this path may have been cut: it has at least the counted ones.
  bool at_least = false;
  CallSums sums;

  static constexpr uint32_t kNoFunction = UINT32_MAX;
};

// One call, or the recorded part of it.
struct TimelineCall {
  uint64_t begin = 0;
  uint64_t begin_lo = 0;  // the entry lies within
  uint64_t begin_hi = 0;
  uint64_t end = 0;
  uint64_t end_lo = 0;
  uint64_t end_hi = 0;
  uint64_t instructions = 0;  // with what it called
  uint64_t cycles = 0;        // best estimate; 0: unknown, as in a call that is too short
  uint64_t cycles_lo = 0;     // at least
  uint32_t function = CallPath::kNoFunction;
  uint32_t depth = 0;
  uint32_t stack = 0;  // CallStack::stack
  CallEntry entry{};
  CallExit exit{};

  uint64_t duration() const { return end - begin; }
  // Its entry and its end were seen.
  bool IsWhole() const;
};

// A piece of a thread's time.
struct StripColumn {
  ClassTimes times{};
  uint32_t function = CallPath::kNoFunction;  // that executed most of it
  uint64_t function_time = 0;
  uint64_t focus = 0;  // in calls of TimelineOptions::focus and what they called
};

struct ThreadTimeline {
  int32_t pid = -1;
  int32_t tid = -1;
  const Stream* stream = nullptr;  // where tid is -1
  uint64_t begin = 0;              // its life, cut to TimelineOptions::span
  uint64_t end = 0;
  ClassTimes times{};                    // of that
  std::map<LossCause, uint64_t> causes;  // as TimeAccount has it, of the whole life
  // In the span: what lies between two entries and exits counts where the second one does.
  uint64_t instructions = 0;
  uint64_t losses = 0;
  // How often the thread turned out to be on another of its stacks than the likely one: its work
  // until then is counted in calls of the wrong stack.
  uint64_t other_stacks = 0;
  CycleTotals cycles;  // beside those of `paths`; in the span
  bool off_cpu_told = true;
  bool condensed = false;               // ClassSpans::condensed
  std::vector<CallPath> paths;          // one at least
  std::vector<TimelineCall> calls;      // by begin, the outer ones first
  uint64_t calls_left_out = 0;          // shorter than `shortest`
  uint64_t shortest = 0;                // calls at least this long are in `calls`
  uint64_t cut_calls = 0;               // calls whose paths were cut: too many paths, too deep
  std::optional<TimelineCall> longest;  // of the whole calls; else of all
  // The innermost of the calls that it was in at its end that took half of its life at least.
  std::optional<TimelineCall> last;
  std::vector<ClassSpan> spans;    // within the span asked for; where they are wanted
  std::vector<StripColumn> strip;  // from Timeline::begin on, all of one length
};

// A thread's losses of one cause in the code of one file.
struct LossSum {
  int32_t tid = -1;  // -1: it is not known whose
  LossCause cause{};
  std::shared_ptr<const CodeSection> code;  // as DataLoss::code
  uint64_t ip = 0;                          // DataLoss::last_ip of one of them
  uint64_t count = 0;
  uint64_t bytes = 0;  // of trace
};

struct Timeline {
  bool nanoseconds = true;  // else TSC ticks
  bool emulated = false;
  uint64_t begin = 0;  // the first thread's begin and the last one's end, cut to the span
  uint64_t end = 0;
  std::vector<TimelineFunction> functions;
  std::vector<ThreadTimeline> threads;  // in the order of the flows
  ClassTimes times{};                   // of all threads
  // Sums of all threads: by merged path, and by function, which no limit of paths changes.
  std::vector<CallPath> paths;
  std::vector<CallSums> by_function;
  std::vector<LossSum> losses;  // in the order in which the first of each was met
};

// Must outlive the timeline.
struct TimelineSources {
  const Recording& recording;
  FlowSource flow;  // with times
  Symbolizer& symbolizer;
  FunctionFinder& functions;
  // The path a code section's file was recorded under; empty: as the section has it.
  std::function<std::string(const std::string& file)> recorded_path{};
};

// Which threads ran on a CPU, in the columns of the threads' strips.
struct CpuStrip {
  int32_t cpu = -1;
  std::vector<int32_t> tids;   // of each column: the thread that ran longest; -1: none is known
  std::vector<uint64_t> busy;  // time of each column in which a thread ran
};

struct TimelineOptions {
  // That decode; with several another one adds up times. The result does not depend on it.
  unsigned threads = 1;
  size_t in_flight = 0;  // as PlayOptions
  TimeSpan span{};       // flow outside is not counted
  // Which calls TimelineCall contains (empty: all) and StripColumn::focus counts (empty: none).
  std::function<bool(const AddressSpace* space, uint64_t ip)> focus{};
  size_t most_paths = size_t{1} << 17;  // in Timeline::paths, and in those of all threads
  // Which paths are the cheapest: those with the fewest instructions, as where times say little;
  // else those that took least time.
  bool by_instructions = false;
  size_t most_calls = size_t{1} << 16;  // kept at most; the longest of each thread
  size_t columns = 0;                   // of the strips; 0: no strips are made
  size_t most_strips = 64;              // threads that have one: the longest-lived
  bool spans = false;                   // ThreadTimeline::spans
};

// Plays the flows, on TimelineOptions::threads, after a pass that learns what the threads' times
// were. The flows must be those of GroupByThread, or some of them. Errors: as AccountFlow's and
// Player::Play's; kSystem where the law does not hold.
Result<Timeline> MakeTimeline(const TimelineSources& sources,
                              const std::vector<const ThreadFlow*>& flows,
                              const TimelineOptions& options);

// The same where the accounts are known, with spans.
Result<Timeline> MakeTimeline(const TimelineSources& sources,
                              const std::vector<const ThreadFlow*>& flows,
                              const TimelineOptions& options, const TimeAccounts& accounts);

// Returns the sums of the existing paths, by number in Timeline::functions, which has `functions`
// entries. A recursion's time counts once; durations are left out.
std::vector<CallSums> SumsByFunction(const std::vector<CallPath>& paths, size_t functions);

// Errors: a thread's times or instructions that do not add up.
Status CheckTimeline(const Timeline& timeline);

}  // namespace flowback
