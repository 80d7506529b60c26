// SPDX-License-Identifier: MIT
#include "cli/replay/replay_moment.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <optional>

#include "cli/reading/moment_words.h"
#include "cli/reading/spike_moment.h"
#include "replay/session/ended_thread.h"

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
      if (const auto thread = ThreadOfNumber(machine, EndedThread(recording, end))) return thread;
  return std::nullopt;
}

Status GoToNumber(const std::string& option, uint64_t number, size_t thread,
                  ReplayedMachine& machine) {
  if (machine.ToInstruction(thread, number)) return {};
  return Fail(
      Error(ErrorCode::kUsage,
            fmt::format("{} #{}: thread {} has the instructions #0 to #{}", option, number,
                        machine.thread(thread).tid, machine.thread(thread).instructions - 1))
          .Remedy("one of these, or another thread with --tid"));
}

Status GoToSpike(const std::string& option, const std::string& word, const OpenedRecording& opened,
                 ReplayedMachine& machine) {
  const Result<NamedSpike> spike = FindSpike(option, word, opened);
  if (!spike) return Fail(spike.error());
  const auto thread = ThreadOfNumber(machine, spike->instance.tid);
  if (thread && machine.ToInstruction(*thread, spike->instance.first_instruction)) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("{} {}: the instance is thread {}'s, which is not replayed", option,
                                word, spike->instance.tid))
                  .Remedy("--pid of its process"));
}

}  // namespace

size_t FirstThread(const ReplayedMachine& machine, const Recording& recording) {
  if (const auto killed = KilledThread(machine, recording)) return *killed;
  for (size_t thread = 0; thread < machine.size(); ++thread)
    if (machine.thread(thread).tid == machine.thread(thread).pid) return thread;
  return 0;
}

Status GoToMoment(const std::string& option, const std::string& word, size_t thread,
                  const OpenedRecording& opened, ReplayedMachine& machine) {
  using Kind = NamedMoment::Kind;
  const auto moment = ParseMoment(option, word, opened.recording(), opened.clock());
  if (!moment) return Fail(moment.error());
  switch (moment->kind) {
    case Kind::kBegin:
      machine.ToBegin(thread);
      return {};
    case Kind::kEnd:
      machine.ToEnd(thread);
      return {};
    case Kind::kCrash:
      if (const auto killed = KilledThread(machine, opened.recording())) {
        machine.ToEnd(*killed);
        return {};
      }
      return Fail(Error(ErrorCode::kUsage,
                        fmt::format("{} crash: another process than this one crashed", option))
                      .Remedy("--pid of that one"));
    case Kind::kSpike:
      return GoToSpike(option, word, opened, machine);
    case Kind::kInstruction:
      return GoToNumber(option, moment->value, thread, machine);
    case Kind::kTime:
      machine.ToTime(opened.clock().TscAt(moment->value));
      return {};
  }
  return {};
}

}  // namespace flowback::cli
