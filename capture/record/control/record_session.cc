// SPDX-License-Identifier: MIT
#include "capture/record/control/record_session.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace flowback::record {
namespace {

// How often limits are looked at, and how often the progress is reported.
constexpr int kLookMilliseconds = 50;
constexpr std::chrono::milliseconds kTellEvery(250);
// timeout(1) signals a process, and then its group: that is one request.
constexpr std::chrono::milliseconds kSameRequest(500);

// How long a program that is to end may take before it is killed.
constexpr std::chrono::seconds kHeedsNothing(5);

bool HeedsSnapshotSignal(const RecordOptions& options) {
  return options.streams.snapshot_bytes || options.rotation.on_signal;
}

}  // namespace

RecordSession::RecordSession(const RecordOptions& options, const RecorderSignals& signals)
    : options_(options),
      signals_(signals),
      snapshot_signal_(HeedsSnapshotSignal(options)),
      done_(eventfd(0, EFD_CLOEXEC)) {}

void RecordSession::Connect(pid_t program, std::function<void()> stop,
                            std::function<void()> snapshot) {
  const std::lock_guard lock(mutex_);
  if (program > 0) program_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, program, 0)));
  stop_ = std::move(stop);
  snapshot_ = std::move(snapshot);
  connected_ = std::chrono::steady_clock::now();
  if (reason_ != StopReason::kProgramEnded) stop_();
}

void RecordSession::Disconnect() {
  const std::lock_guard lock(mutex_);
  stop_ = snapshot_ = {};
}

void RecordSession::TakeSnapshot() {
  const std::lock_guard lock(mutex_);
  if (snapshot_) snapshot_();
}

void RecordSession::Done() {
  const uint64_t one = 1;
  static_cast<void>(write(*done_, &one, sizeof one));
}

void RecordSession::Stop(StopReason reason) {
  StopReason none = StopReason::kProgramEnded;
  if (!reason_.compare_exchange_strong(none, reason)) return;
  const std::lock_guard lock(mutex_);
  if (stop_) stop_();
}

void RecordSession::Supervise() {
  while (!WaitForEvent()) {
    while (const auto request = signals_.Take()) OnSignal(*request);
    if (HeedsSnapshotSignal(options_) && snapshot_signal_.Wait(std::chrono::milliseconds(0)))
      TakeSnapshot();
    if (TimeLeft().count() <= 0) Stop(StopReason::kDuration);
    EndProgram();
    TellProgress();
  }
}

// Once the recording is complete: where a signal asked for the end, as perf does, and where a limit
// was reached and the program is to end with the recording.
void RecordSession::EndProgram() {
  if (options_.files.kill_on_failure && IsLimit(reason_) && end_signal_ == 0) end_signal_ = SIGTERM;
  if (end_signal_ == 0 || !(meter_.complete || meter_.failed)) return;
  const auto now = std::chrono::steady_clock::now();
  if (!std::exchange(asked_to_end_, true)) {
    asked_ = now;
    return Signal(end_signal_);
  }
  if (IsLimit(reason_) && now - asked_ >= kHeedsNothing && !std::exchange(killed_, true))
    Signal(SIGKILL);
}

// Returns the rest of the duration, which begins with the recording, after the set-up.
std::chrono::nanoseconds RecordSession::TimeLeft() const {
  const auto connected = connected_.load();
  if (!options_.limits.duration || connected == kNotYet) return std::chrono::nanoseconds::max();
  return *options_.limits.duration - (std::chrono::steady_clock::now() - connected);
}

// True: the engine's thread ends.
bool RecordSession::WaitForEvent() {
  pollfd events[] = {{*done_, POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}};
  // Rounded up, which the longest time there is would not bear.
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      std::min<std::chrono::nanoseconds>(TimeLeft(), std::chrono::hours(1)));
  const bool due = left.count() <= 0;
  poll(events, 2,
       due ? kLookMilliseconds
           : static_cast<int>(std::min<int64_t>(left.count(), kLookMilliseconds)));
  return (events[0].revents & POLLIN) != 0;
}

void RecordSession::OnSignal(const RecorderSignals::Request& request) {
  const bool for_program = request.signal == SIGINT && request.from_terminal && ProgramRuns();
  if (for_program && !std::exchange(interrupted_, true)) return;
  const auto now = std::chrono::steady_clock::now();
  if (end_signal_ != 0) {
    // It was asked kindly before.
    if (now - requested_ >= kSameRequest) Signal(SIGKILL);
    return;
  }
  requested_ = now;
  end_signal_ = request.signal == SIGHUP ? SIGHUP : SIGTERM;
  Stop(StopReason::kSignal);
}

// Whether the program that was started still does: else no Ctrl-C can be meant for it.
bool RecordSession::ProgramRuns() {
  const std::lock_guard lock(mutex_);
  pollfd ended{*program_, POLLIN, 0};
  return *program_ >= 0 && poll(&ended, 1, 0) == 0;
}

void RecordSession::Signal(int signal) {
  const std::lock_guard lock(mutex_);
  if (*program_ >= 0) syscall(SYS_pidfd_send_signal, *program_, signal, nullptr, 0);
}

void RecordSession::TellProgress() {
  const auto now = std::chrono::steady_clock::now();
  if (!options_.on_progress || now - told_ < kTellEvery) return;
  told_ = now;
  RecordProgress progress;
  progress.elapsed = Elapsed();
  progress.instructions = meter_.instructions;
  progress.trace_bytes = meter_.trace_bytes;
  progress.file_bytes = meter_.file_bytes;
  progress.threads = meter_.threads;
  progress.losses = meter_.losses;
  progress.interrupted = interrupted_;
  progress.complete = meter_.complete;
  progress.stop_reason = reason_;
  progress.left_running = meter_.left_running;
  if (meter_.failed) progress.failure = meter_.failure;
  options_.on_progress(progress);
}

}  // namespace flowback::record
