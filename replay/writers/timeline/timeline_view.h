// SPDX-License-Identifier: MIT
// The parts of a timeline's text and pictures, and their words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flowback/replay/timeline.h"
#include "flowback/writers.h"

namespace flowback {

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
void AppendSystemCallProfile(const TimelineView& view, std::string& out);
void AppendPathProfile(const TimelineView& view, std::string& out);

// Words.
std::string DurationWords(uint64_t duration, bool nanoseconds);  // "1.25 ms", "12 ticks"
std::string MomentWords(uint64_t time, bool nanoseconds);        // "12.345678901", "tsc:123"
std::string ShareWords(uint64_t part, uint64_t whole);           // "12.5 %"
// Returns the instructions per cycle: "1.25", "~1.25" if the bounds differ by more than a
// twentieth, or "-" if there is no value.
std::string IpcWords(const CycleShare& cycles);
std::string NameWords(std::string_view name, size_t most);  // printable, cut
std::string CutWords(std::string_view text, size_t most);   // cut, for text that is printable
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
// functions without any, and system calls.
std::vector<uint32_t> BySelf(const TimelineView& view);
// Returns the same functions in the order of `view.sort`.
std::vector<uint32_t> Sorted(const TimelineView& view);

}  // namespace flowback
