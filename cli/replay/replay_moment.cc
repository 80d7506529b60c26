// SPDX-License-Identifier: MIT
#include "cli/replay/replay_moment.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <optional>

#include "cli/options/arguments.h"
#include "cli/reading/spike_moment.h"
#include "cli/reading/time_words.h"

namespace flowback::cli {
namespace {

std::optional<size_t> ThreadOfNumber(const ReplayedMachine& machine, int32_t tid) {
  for (size_t thread = 0; thread < machine.size(); ++thread)
    if (machine.thread(thread).tid == tid) return thread;
  return std::nullopt;
}

std::optional<size_t> KilledThread(const ReplayedMachine& machine, const Recording& recording) {
  for (const ProcessEnd& end : recording.process_ends)
    if (WIFSIGNALED(end.wait_status))
      if (const auto thread = ThreadOfNumber(machine, end.tid)) return thread;
  return std::nullopt;
}

Status GoToNumber(const std::string& word, uint64_t number, ReplayedMachine& machine) {
  const size_t thread = machine.current();
  if (machine.ToInstruction(thread, number)) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("--at {}: thread {} has {} instructions", word,
                                machine.thread(thread).tid, machine.thread(thread).instructions))
                  .Remedy("a number from #0 on below that, or another thread with --tid"));
}

Status GoToSpike(const std::string& word, const OpenedRecording& opened, ReplayedMachine& machine) {
  const Result<NamedSpike> spike = FindSpike("--at", word, opened);
  if (!spike) return Fail(spike.error());
  const auto thread = ThreadOfNumber(machine, spike->instance.tid);
  if (thread && machine.ToInstruction(*thread, spike->instance.first_instruction)) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("--at {}: the instance is thread {}'s, which is not replayed", word,
                                spike->instance.tid))
                  .Remedy("--pid of its process"));
}

}  // namespace

size_t FirstThread(const ReplayedMachine& machine, const Recording& recording) {
  if (const auto killed = KilledThread(machine, recording)) return *killed;
  for (size_t thread = 0; thread < machine.size(); ++thread)
    if (machine.thread(thread).tid == machine.thread(thread).pid) return thread;
  return 0;
}

Status GoToMoment(const std::string& word, const OpenedRecording& opened,
                  ReplayedMachine& machine) {
  const size_t first = FirstThread(machine, opened.recording());
  machine.ToEnd(first);
  if (word == "end") return {};
  if (word == "begin") {
    machine.ToBegin(first);
    return {};
  }
  if (word == "crash") {
    if (KilledThread(machine, opened.recording())) return {};
    return Fail(
        Error(ErrorCode::kUsage, "--at crash: the recording tells of no crash").Remedy("--at end"));
  }
  if (NamesSpike(word)) return GoToSpike(word, opened, machine);
  if (const auto number = ParseNumber(word.starts_with('#') ? word.substr(1) : word))
    return GoToNumber(word, *number, machine);
  const Result<uint64_t> time = ParseTime("--at", word, opened.recording(), opened.clock());
  if (!time) return Fail(time.error());
  machine.ToTime(opened.clock().TscAt(*time));
  return {};
}

}  // namespace flowback::cli
