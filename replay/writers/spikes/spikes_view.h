// SPDX-License-Identifier: MIT
// Spikes and how they are to be shown, as text, JSON or CSV.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/replay/recording_clock.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/threads.h"
#include "replay/spikes/causes/data_waits.h"
#include "replay/spikes/causes/who_ran.h"
#include "replay/spikes/request_loops.h"
#include "replay/spikes/spikes.h"
#include "replay/writers/text/code_words.h"

namespace flowback {

// The view refers to these objects, which must outlive it.
struct SpikesView {
  const SpikeReport* report = nullptr;
  const Threads* threads = nullptr;
  const RecordingClock* clock = nullptr;
  SourceLines* lines = nullptr;
  Symbolizer* symbolizer = nullptr;
  // The path that a file of code was recorded under.
  std::function<std::string(const std::string& file)> recorded_path;
  // Which threads ran on the instance's CPU while its thread was off it; empty: unknown.
  std::function<std::vector<RanInstead>(const Instance& instance)> ran_instead;
  std::map<uint32_t, DataWaits> data_waits;  // by number, of instances that are shown
  std::string input;
  std::string trigger;  // the function whose slow calls alone were recorded; empty: everything was
  std::string region;   // the function as it was given, or "A to B"
  std::vector<RequestLoop> loops;  // --auto: the first one was chosen; else empty
  bool is_function = true;         // instances are calls
  size_t width = 0;                // of a line
};

// Where code is, in words.
CodeWords WordsOf(const SpikesView& view, const AddressSpace* space, uint64_t ip);

// A value of report->measure: "2.6 ms", "120000 instructions".
std::string MeasureWords(const SpikesView& view, double value);
// " (3.1 cycles for each rather than 0.8)"; empty where nothing counted them.
std::string CyclesWords(const Cause& cause);
// An instance's thread: "redis-server 31945".
std::string ThreadWords(const SpikesView& view, const Instance& instance);
// A path's name: "slow_path(int)", "the system call read".
std::string PathName(const SpikesView& view, uint32_t node);

// The sentences that begin the text: how many were slow, what they have in common, and how many
// instances were not compared.
std::vector<std::string> SpikeSentences(const SpikesView& view);
// Why a function looks like the handler of requests: "main calls handle 600 times, ...".
std::string LoopSentence(const SpikesView& view, const RequestLoop& loop);
// What slow instances did, and how much it accounts for.
std::string CauseSentence(const SpikesView& view, const Cause& cause, bool is_first);
// A part of what one instance took more: "called slow_path(int) (handle(int)+0x42, srv.cc:13)".
std::string PartWords(const SpikesView& view, const Cause& cause);
// What explains one slow instance.
std::string OutlierSentence(const SpikesView& view, const Outlier& outlier);
// Which threads ran, for at least a tenth of the time that the instance's thread was off the CPU: a
// sentence after a space. Empty: unknown.
std::string WhoRanWords(const SpikesView& view, const Instance& instance);
// The site of the lock that a cause's time was waited for: a sentence after a space. Empty: it was
// not, or no function of a lock is known there.
std::string LockWaitWords(const SpikesView& view, const Cause& cause);
// What its sampled accesses to memory waited for: a sentence after a space. Empty: it has none.
std::string DataWaitWords(const SpikesView& view, uint32_t number);
// Which thread ran there for most of the time that the slow instances were off the CPU: ", while
// worker (tid 77) ran there", or nothing.
std::string WhoMostlyRan(const SpikesView& view);
// Where it left the way of the normal instance that is most like it.
std::string PartingSentence(const SpikesView& view, const Outlier& outlier);
// The code place that a cause names: where the call was made, or the branch is.
CodeWords CauseWords(const SpikesView& view, const Cause& cause);
// Where a branch is, and where it goes.
CodeWords EdgeWords(const SpikesView& view, uint32_t edge);
CodeWords TargetWords(const SpikesView& view, uint32_t edge);
// The name of the function that a cause is about.
std::string CauseFunction(const SpikesView& view, const Cause& cause);

// The object that --json prints, without a newline.
std::string SpikesJson(const SpikesView& view);

void AppendHistogram(const SpikesView& view, std::string& out);

}  // namespace flowback
