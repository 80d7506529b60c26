// SPDX-License-Identifier: MIT
// What a timeline shows of waits: `timeline --waits`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "flowback/writers.h"
#include "replay/locks/locks.h"
#include "replay/writers/locks/locks_view.h"

namespace flowback {

// The classes of time, then what waiting has of them.
inline constexpr size_t kTimeClasses = std::size(kAllTimeClasses);
inline constexpr size_t kSpinning = kTimeClasses;
inline constexpr size_t kSleeping = kTimeClasses + 1;
inline constexpr size_t kTimeParts = kTimeClasses + 2;
// Spinning and sleeping are taken out of the classes in which they happened: the parts add up to
// the same time as the classes.
using TimeParts = std::array<uint64_t, kTimeParts>;

// Returns the number of parts that the view shows: without waits the classes alone.
size_t PartsOf(const TimelineView& view);
// "spinning" or "sleeping" for the last two parts, else the class.
const char* PartName(size_t part);

// Returns the waits of a thread of view.timeline, which must have them (view.waits).
const ThreadWaits& WaitsOf(const TimelineView& view, const ThreadTimeline& thread);
// Return the parts of a column of the thread's strip, and of the thread's life; without view.waits
// nothing is spinning or sleeping.
TimeParts PartsOf(const TimelineView& view, const ThreadTimeline& thread, size_t column);
TimeParts PartsOf(const TimelineView& view, const ThreadTimeline& thread);

// A time of a thread that is all of one part.
struct PartStretch {
  size_t part = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};
// Returns ThreadTimeline::spans, from which the waits are cut out.
std::vector<PartStretch> PartStretchesOf(const TimelineView& view, const ThreadTimeline& thread);

// Returns the thread's waits among LockReport::worst, by begin.
std::vector<const LockWait*> LongestWaits(const TimelineView& view, const ThreadTimeline& thread);
// "q.lock() called at srv.cc:14": the site at which the thread waited longest; empty: none.
std::string MostWaitedFor(const TimelineView& view, const ThreadTimeline& thread);
// "waited 1.20 ms for q.lock() called at srv.cc:14, held by srv 24261".
std::string WaitWords(const TimelineView& view, const LockWait& wait);
// "spinning", "sleeping 80 %", "sleeping".
std::string HowItWaited(const LockWait& wait);

// Returns a sentence for the beginning of the text; empty: the view has no waits.
std::string WaitSentence(const TimelineView& view);
// Appends a table of the threads that waited.
void AppendWaits(const TimelineView& view, std::string& out);
// Returns the JSON object of a thread's waits.
std::string WaitsJson(const TimelineView& view, const ThreadTimeline& thread);
// Returns the waits of all threads.
std::string WaitsJson(const TimelineView& view);

}  // namespace flowback
