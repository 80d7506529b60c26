// SPDX-License-Identifier: MIT
#include "replay/crash/dying_thread.h"

#include <sys/wait.h>

#include "replay/debug/values/dumped_ends.h"
#include "replay/debug/values/end_core.h"
#include "replay/session/ended_thread.h"

namespace flowback {
namespace {

constexpr int kLastSignal = 64;

std::optional<size_t> ThreadOf(const ReplayedMachine& machine, int32_t tid) {
  for (size_t thread = 0; thread < machine.size(); ++thread)
    if (machine.thread(thread).tid == tid) return thread;
  return std::nullopt;
}

// Adds the core dump's facts about the thread that the recorder did not see.
ProcessEnd Completed(const CrashInput& input, const ProcessEnd& noted) {
  ProcessEnd end = noted;
  end.tid = EndedThread(input.session.recording(), noted);
  const EndCore* const core = input.death_core();
  const bool is_dumped =
      core != nullptr && core->pid() == end.pid && WIFSIGNALED(end.wait_status) &&
      (core->signal_number() == 0 || core->signal_number() == WTERMSIG(end.wait_status));
  if (end.tid < 0 && is_dumped) end.tid = core->killed_tid();
  return end;
}

// Where the recorder noted no ends, the core dump names the killed thread.
std::optional<DyingThread> FindDumped(const CrashInput& input) {
  const EndCore* const core = input.death_core();
  if (core == nullptr) return std::nullopt;
  const int32_t signal = core->signal_number();
  const auto thread = ThreadOf(input.machine, core->killed_tid());
  if (!thread || signal <= 0 || signal > kLastSignal) return std::nullopt;
  return DyingThread{.thread = *thread, .end = EndByDump(*core)};
}

}  // namespace

DyingThread FindDying(const CrashInput& input) {
  std::optional<DyingThread> found, of_unknown;
  for (const ProcessEnd& noted : input.session.recording().process_ends) {
    const ProcessEnd end = Completed(input, noted);
    const bool killed = WIFSIGNALED(end.wait_status);
    const auto thread = ThreadOf(input.machine, end.tid);
    if (thread && killed) return {*thread, end};
    if (thread && !found) found = {*thread, end};
    const bool is_here = end.pid == input.machine.thread(0).pid;
    if (end.tid < 0 && is_here && !of_unknown) of_unknown = {0, end};
  }
  if (!found) found = FindDumped(input);
  if (!found) found = of_unknown;
  return found.value_or(DyingThread());
}

}  // namespace flowback
