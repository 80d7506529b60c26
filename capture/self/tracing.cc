// SPDX-License-Identifier: MIT
#include "capture/self/tracing.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace flowback::self {

std::atomic<bool> counts_regions = false;

namespace {

constexpr const char* kNotStarted = "nothing is recorded: flowback_self_start was not called";
constexpr const char* kTurnedOff = "FLOWBACK_SELF=off is in the environment";
constexpr const char* kForked =
    "this process was forked from one that is recorded: it is recorded with it";

uint64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Returns its path; empty: not found.
std::string FindRecorderProgram(const char* wanted) {
  std::string name = wanted != nullptr ? wanted : "";
  if (const char* variable = getenv("FLOWBACK_PROGRAM"); name.empty() && variable != nullptr)
    name = variable;
  if (name.empty()) name = "flowback";
  if (name.contains('/')) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* const path = getenv("PATH");
  for (std::string_view folders = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;;) {
    const size_t colon = folders.find(':');
    const std::string_view folder = folders.substr(0, colon);
    const std::string file = std::string(folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    if (colon == std::string_view::npos) return "";
    folders.remove_prefix(colon + 1);
  }
}

std::vector<std::string> ArgumentsFor(const flowback_self_options& options) {
  std::vector<std::string> words;
  const auto add = [&words](const std::string& option, const std::string& value) {
    words.push_back(option);
    words.push_back(value);
  };
  add("--engine", options.engine != nullptr ? options.engine : "hardware");
  add("-o", options.output != nullptr ? options.output : "perf.data");
  add("-D", "-1");
  if (options.this_thread != 0)
    add("-t", std::to_string(syscall(SYS_gettid)));
  else
    add("-p", std::to_string(getpid()));
  if (options.snapshot_bytes != 0)
    words.push_back("--snapshot=" + std::to_string(options.snapshot_bytes));
  if (options.counters != 0) words.emplace_back("--stat");
  for (const char* const* word = options.arguments; word != nullptr && *word != nullptr; ++word)
    words.emplace_back(*word);
  return words;
}

// "COUNT EVENT", as `--control` answers `stat`.
flowback_self_counter CounterOf(std::string_view line) {
  flowback_self_counter counter{};
  const size_t space = std::min(line.find(' '), line.size());
  std::from_chars(line.data(), line.data() + space, counter.value);
  line.remove_prefix(std::min(space + 1, line.size()));
  line.copy(counter.name, sizeof counter.name - 1);
  return counter;
}

}  // namespace

Tracing& Tracing::OfProcess() {
  static Tracing& process = *new Tracing;
  return process;
}

Tracing::Tracing() {
  if (const char* said = getenv("FLOWBACK_SELF"); said != nullptr) {
    turned_off_ = std::strcmp(said, "off") == 0;
    by_regions_ = std::strcmp(said, "regions") == 0;
  }
  pthread_atfork([] { OfProcess().mutex_.lock(); }, [] { OfProcess().mutex_.unlock(); },
                 [] { OfProcess().AfterForkInChild(); });
}

// The child's recorder belongs to its parent.
void Tracing::AfterForkInChild() {
  forked_ = forked_ || recorder_.has_value();
  recorder_.reset();
  counts_.reset();
  on_ = regions_only_ = counts_regions = false;
  in_regions_ = 0;
  mutex_.unlock();
}

bool Tracing::Start(const flowback_self_options& options, std::string& why) {
  const std::lock_guard lock(mutex_);
  if (by_regions_) return true;
  if (turned_off_)
    why = kTurnedOff;
  else if (forked_)
    why = kForked;
  else if (recorder_)
    why = "this process is recorded already: flowback_self_stop ends that";
  if (!why.empty() || !StartRecorder(options, why)) return false;
  ++recording_;
  in_regions_ = 0;
  why_ended_.clear();
  regions_only_ = options.regions_only != 0;
  counts_regions = true;
  if (options.paused != 0 || options.regions_only != 0 || Tell("enable", why)) return true;
  // Started, and nothing is recorded: it would be neither.
  std::string nobody;
  if (recorder_) recorder_->End(nobody);
  Ended(why);
  return false;
}

bool Tracing::StartRecorder(const flowback_self_options& options, std::string& why) {
  const std::string program = FindRecorderProgram(options.program);
  if (program.empty()) {
    why =
        "there is no program flowback in PATH; try: FLOWBACK_PROGRAM=/usr/local/bin/flowback in "
        "the environment";
    return false;
  }
  auto recorder = RecorderProcess::Start(program, ArgumentsFor(options), why);
  if (!recorder) return false;
  if (!counts_) counts_.emplace(RegionCounts::Create());
  counts_->Clear();
  if (counts_->file() >= 0) {
    // An older recorder, which knows no regions, records without their names.
    std::string refused;
    recorder->Ask(
        "regions /proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(counts_->file()),
        refused);
    if (!recorder->runs()) {
      why = refused;
      return false;
    }
  }
  recorder_.emplace(*std::move(recorder));
  static const int at_exit = std::atexit([] {
    std::string nobody;
    OfProcess().Stop(nobody);
  });
  static_cast<void>(at_exit);
  return true;
}

// REQUIRES: mutex_ is held.
bool Tracing::Tell(const std::string& command, std::string& why, std::vector<std::string>* lines) {
  if (!HasRecorder(why)) return false;
  if (!recorder_->Ask(command, why, lines)) {
    if (!recorder_->runs()) Ended(why);
    return false;
  }
  if (command == "enable" || command == "disable") on_ = command == "enable";
  return true;
}

bool Tracing::HasRecorder(std::string& why) const {
  if (turned_off_)
    why = kTurnedOff;
  else if (forked_)
    why = kForked;
  else if (by_regions_)
    why = "flowback record --regions runs this program, and records its regions and nothing else";
  else if (!recorder_)
    why = why_ended_.empty() ? kNotStarted : why_ended_;
  return why.empty();
}

// REQUIRES: mutex_ is held.
void Tracing::Ended(const std::string& why) {
  why_ended_ = why;
  recorder_.reset();
  on_ = regions_only_ = counts_regions = false;
}

bool Tracing::Ask(const std::string& command, std::string& why, std::vector<std::string>* lines) {
  const std::lock_guard lock(mutex_);
  return Tell(command, why, lines);
}

bool Tracing::Stop(std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!HasRecorder(why)) return false;
  const bool ended = recorder_->End(why);
  Ended(why);
  return ended;
}

std::vector<flowback_self_counter> Tracing::Counters(std::string& why) {
  std::vector<std::string> lines;
  std::vector<flowback_self_counter> counters;
  if (!Ask("stat", why, &lines)) return counters;
  for (const std::string& line : lines) counters.push_back(CounterOf(line));
  if (counters.empty()) why = "no event is counted";
  return counters;
}

// ---- regions ----

void Tracing::BeginCounted(OpenRegions& open) {
  if (open.depth == 1 && regions_only_) EnterRecorded(open);
  if (open.depth > OpenRegions::kKept) return;
  OpenRegions::Region& region = open.regions[open.depth - 1];
  region.recording = recording_;
  region.entry = counts_ ? counts_->Begin(region.name) : nullptr;
  region.begin_ns = Now();
}

void Tracing::EndCounted(OpenRegions& open) {
  if (open.depth <= OpenRegions::kKept) {
    OpenRegions::Region& region = open.regions[open.depth - 1];
    if (region.entry != nullptr && region.recording == recording_)
      RegionCounts::End(*region.entry, Now() - region.begin_ns);
  }
  if (open.depth == 1 && open.recorded) LeaveRecorded(open);
}

void Tracing::EnterRecorded(OpenRegions& open) {
  const std::lock_guard lock(mutex_);
  if (!regions_only_) return;
  open.recorded = true;
  std::string nobody;
  if (in_regions_++ == 0) Tell("enable", nobody);
}

void Tracing::LeaveRecorded(OpenRegions& open) {
  const std::lock_guard lock(mutex_);
  open.recorded = false;
  std::string nobody;
  if (in_regions_ != 0 && --in_regions_ == 0 && regions_only_) Tell("disable", nobody);
}

}  // namespace flowback::self
