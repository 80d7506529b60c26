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

// What functions and call paths are sorted by (--sort).
enum class TimelineSort : uint8_t { kTime, kInstructions, kCalls, kTotal };

// What it points to outlives it.
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

  // Without times instructions stand for them.
  bool has_times() const { return timeline->begin < timeline->end; }
  // Whether the trace tells a processor's cycles. Those of an emulator are its clock's.
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

// What is said first: how long, how many threads, where the time went, the longest call of each
// thread, and what is not known.
std::vector<std::string> Sentences(const TimelineView& view);

// The first two of them, and what is not known in a list; no words: they have nothing to say.
std::string HowLong(const TimelineView& view);
std::string WhereTimeWent(const TimelineView& view);
std::vector<std::string> UnknownOf(const TimelineView& view);

// What is said of the times of a recording that is emulated.
inline constexpr const char* kEmulatedTimes =
    "The recording is emulated: these times are not those of an undisturbed run.";
// And why a timeline is sorted as it is.
inline constexpr const char* kEmulatedSort =
    "Functions are sorted by instructions, which are the program's own (--sort time: by time).";

// The parts of the text.
void AppendSentences(const TimelineView& view, std::string& out);
void AppendStrips(const TimelineView& view, std::string& out);
void AppendFunctionProfile(const TimelineView& view, std::string& out);
void AppendPathProfile(const TimelineView& view, std::string& out);

// Words.
std::string DurationWords(uint64_t duration, bool nanoseconds);  // "1.25 ms", "12 ticks"
std::string MomentWords(uint64_t time, bool nanoseconds);        // "12.345678901", "tsc:123"
std::string ShareWords(uint64_t part, uint64_t whole);           // "12.5 %"
// Instructions a cycle: "1.25"; "~1.25" where it is proven only to more than a twentieth; "-".
std::string IpcWords(const CycleShare& cycles);
std::string NameWords(std::string_view name, size_t most);  // printable, cut
std::string NameOf(const TimelineView& view, uint32_t function, size_t most);
// Its number is told in any case.
std::string NameOf(const TimelineView& view, const ThreadTimeline& thread, size_t most = 29);
size_t ColumnsOf(std::string_view text);  // that a terminal shows it in
inline constexpr size_t kLeastName = 24;  // columns for a function's name in a table
// Of a name behind `used` columns.
size_t NameColumns(const TimelineView& view, size_t used);
// Threads by how long they live, the longest first.
std::vector<const ThreadTimeline*> ByLife(const Timeline& timeline);
// The functions of which `has` is true, those with the greatest key first.
template <class Has, class Key>
std::vector<uint32_t> FunctionsBy(const std::vector<CallSums>& sums, Has has, Key key) {
  std::vector<uint32_t> sorted;
  for (uint32_t i = 0; i < sums.size(); ++i)
    if (has(sums[i])) sorted.push_back(i);
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [&](uint32_t function) { return key(sums[function]); });
  return sorted;
}
// Adds the function's name to a table's line, in what columns the line has left, but not too few.
void AppendName(const TimelineView& view, uint32_t function, std::string& line);
// What a table says below where it does not show all of its rows.
void AppendMore(size_t count, size_t shown, std::string& out);
// "12 % of the samples stood in f, 3 % in g": the first of them, as far as `of` is not 0; `what`
// is what they have so much of.
std::string SharesOf(const TimelineView& view, const std::vector<uint32_t>& functions,
                     uint64_t CallSums::* of, uint64_t all, std::string_view what);
// Functions by their own time or instructions, the most first; those without any are left out.
std::vector<uint32_t> BySelf(const TimelineView& view);
// The same functions as `view.sort` wants them.
std::vector<uint32_t> Sorted(const TimelineView& view);

}  // namespace flowback
