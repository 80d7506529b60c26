// SPDX-License-Identifier: MIT
// A timeline and how it is to be shown, as text, JSON or a picture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flowback/model/recording.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/timeline.h"
#include "replay/timeline/cpu_strips.h"

namespace flowback {

// The order of functions and call paths (--sort).
enum class TimelineSort : uint8_t { kTime, kInstructions, kCalls, kTotal };

// The view refers to these objects, which must outlive it.
struct TimelineView {
  const Timeline* timeline = nullptr;
  const Recording* recording = nullptr;
  const Threads* threads = nullptr;
  const RecordingClock* clock = nullptr;
  SourceLines* lines = nullptr;
  std::vector<CpuStrip> cpus;
  std::string input;
  std::string function;    // --function, as it was given
  size_t rows = 0;         // of each profile
  uint64_t max_depth = 0;  // of call paths
  size_t width = 0;        // of a line
  bool color = false;
  bool is_part = false;  // --time, --tid, ... leave something out
  // A column knows a function's share of a stretch around it, not who executed in it.
  bool is_coarse = false;
  bool is_sampled = false;  // numbers of samples are in the place of times
  TimelineSort sort = TimelineSort::kTime;

  // If false, instructions replace times.
  bool has_times() const { return timeline->begin < timeline->end; }
  // Returns whether the trace contains a processor's cycles. An emulator's cycles are only its
  // clock.
  bool has_cycles() const {
    return !timeline->emulated && timeline->paths.front().sums.cycles.any();
  }
  // Whether shares are shares of the instructions; else they are shares of the time.
  bool weighs_instructions() const {
    const bool asks_for_time = sort == TimelineSort::kTime || sort == TimelineSort::kTotal;
    return !has_times() || sort == TimelineSort::kInstructions ||
           (timeline->emulated && !asks_for_time);
  }
  uint64_t WeightOf(const CallSums& sums) const {
    return weighs_instructions() ? sums.instructions : sums.total;
  }
  uint64_t SelfWeightOf(const CallSums& sums) const {
    return weighs_instructions() ? sums.self_instructions : sums.self.time;
  }
};

// Returns the sentences that begin the text: the duration, the threads, where the time went, the
// longest call of each thread, and what is not known.
std::vector<std::string> Sentences(const TimelineView& view);

// Return the first and second sentence, and the list of what is not known. An empty string or list
// means that there is nothing to say.
std::string HowLong(const TimelineView& view);
std::string WhereTimeWent(const TimelineView& view);
std::vector<std::string> UnknownOf(const TimelineView& view);

// Warns about the times of an emulated recording.
inline constexpr const char* kEmulatedTimes =
    "The recording is emulated: these times are not those of an undisturbed run.";
// Explains the order of an emulated timeline.
inline constexpr const char* kEmulatedSort =
    "Functions are sorted by instructions, which are the program's own (--sort time: by time).";

// Append the parts of the text.
void AppendSentences(const TimelineView& view, std::string& out);
void AppendStrips(const TimelineView& view, std::string& out);
void AppendFunctionProfile(const TimelineView& view, std::string& out);
void AppendPathProfile(const TimelineView& view, std::string& out);

// Words.
std::string DurationWords(uint64_t duration, bool nanoseconds);  // "1.25 ms", "12 ticks"
std::string MomentWords(uint64_t time, bool nanoseconds);        // "12.345678901", "tsc:123"
std::string ShareWords(uint64_t part, uint64_t whole);           // "12.5 %"
// Returns the instructions per cycle: "1.25", "~1.25" if the bounds differ by more than a
// twentieth, or "-" if there is no value.
std::string IpcWords(const CycleShare& cycles);
std::string NameWords(std::string_view name, size_t most);  // printable, cut
std::string NameOf(const TimelineView& view, uint32_t function, size_t most);
// Always contains the thread's number.
std::string NameOf(const TimelineView& view, const ThreadTimeline& thread, size_t most = 29);
size_t ColumnsOf(std::string_view text);  // width on a terminal
inline constexpr size_t kLeastName = 24;  // columns for a function's name in a table
// Returns how many columns a name may take after `used` columns of its line.
size_t NameColumns(const TimelineView& view, size_t used);
// Returns the threads sorted by the length of their lives, the longest first.
std::vector<const ThreadTimeline*> ByLife(const Timeline& timeline);
// Returns the functions for which `has` is true, sorted by their keys, the greatest first.
template <class Has, class Key>
std::vector<uint32_t> FunctionsBy(const std::vector<CallSums>& sums, Has has, Key key) {
  std::vector<uint32_t> sorted;
  for (uint32_t i = 0; i < sums.size(); ++i)
    if (has(sums[i])) sorted.push_back(i);
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [&](uint32_t function) { return key(sums[function]); });
  return sorted;
}
// Adds the function's name to a table's line. Cuts it to the columns that are left, but never below
// kLeastName.
void AppendName(const TimelineView& view, uint32_t function, std::string& line);
// Adds a line below a table that does not show all of its rows.
void AppendMore(size_t count, size_t shown, std::string& out);
// Returns a sentence such as "12 % of the samples stood in f, 3 % in g" about the first functions
// whose `of` is not 0; `what` names the amount.
std::string SharesOf(const TimelineView& view, const std::vector<uint32_t>& functions,
                     uint64_t CallSums::* of, uint64_t all, std::string_view what);
// Returns the functions sorted by their own time or instructions, the most first. Leaves out
// functions without any.
std::vector<uint32_t> BySelf(const TimelineView& view);
// Returns the same functions in the order of `view.sort`.
std::vector<uint32_t> Sorted(const TimelineView& view);

}  // namespace flowback
