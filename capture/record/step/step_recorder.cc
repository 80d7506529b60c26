// SPDX-License-Identifier: MIT
// The step engine as a recorder: of a command, or of threads that run already.
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <optional>

#include "capture/record/control/recorder.h"
#include "capture/record/control/recording_outputs.h"
#include "capture/record/step/step_engine.h"
#include "capture/record/target/attach.h"
#include "capture/record/target/cpu_binding.h"
#include "capture/record/target/fixed_addresses.h"
#include "capture/record/target/launch.h"
#include "capture/record/target/program_file.h"
#include "capture/record/target/ptrace_calls.h"

namespace flowback::record {
namespace {

constexpr long kAttachOptions = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE |
                                PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACESYSGOOD;
constexpr long kLaunchOptions = kAttachOptions | PTRACE_O_EXITKILL;

void KillAndReap(pid_t pid) {
  kill(pid, SIGKILL);
  while (true) {
    int status = 0;
    if (waitpid(pid, &status, __WALL) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (!WIFSTOPPED(status)) return;
    Continue(pid);  // also a killed one stops for its exit event
  }
}

// Launching and attaching share the engine and the outputs.
class StepRecorder : public Recorder {
 public:
  explicit StepRecorder(const RecordOptions& options)
      : options_(options),
        counts_(!options.target.runs_already() &&
                options.streams.clock == RecordClock::kInstructions),
        clock_(counts_ ? TraceClock::OfInstructions(ticks_) : TraceClock::ForThisMachine()) {}

  Result<pid_t> Start(RecordSession& session) override {
    session_ = &session;
    return options_.target.runs_already() ? Attach() : Launch();
  }
  Result<RecordSummary> Run() override {
    return Finished(pid_ < 0 ? engine_->RunAttached(threads_) : engine_->Run(pid_), outputs_,
                    *session_);
  }
  void RequestStop() override { engine_->RequestStop(); }
  void RequestSnapshot() override { engine_->RequestSnapshot(); }

 private:
  Result<pid_t> Launch();
  Result<pid_t> Attach();
  Status OpenEngine();

  const RecordOptions& options_;
  const bool counts_;  // its times are instructions
  std::atomic<uint64_t> ticks_ = 0;
  const TraceClock clock_;
  std::optional<CpuBinding> binding_;
  std::optional<FixedAddresses> addresses_;
  RecordSession* session_ = nullptr;
  pid_t pid_ = -1;
  std::vector<SeizedThread> threads_;
  Outputs outputs_;
  std::optional<StepEngine> engine_;
};

Status StepRecorder::OpenEngine() {
  auto outputs = OpenOutputs(options_, clock_, *session_);
  if (!outputs) return Fail(std::move(outputs.error()));
  outputs_ = std::move(*outputs);
  engine_.emplace(options_, clock_, *binding_, *outputs_.metered);
  return {};
}

Result<pid_t> StepRecorder::Launch() {
  binding_.emplace(options_.step.one_cpu);
  addresses_.emplace(counts_);
  const auto pid = LaunchTraced(options_.target.command, kLaunchOptions, session_->signals());
  if (!pid) return pid;
  // Only now, so that a command that can't be run costs no older recording.
  if (Status opened = OpenEngine(); !opened) {
    KillAndReap(*pid);
    return Fail(std::move(opened.error()));
  }
  if (counts_ && !addresses_->in_force()) engine_->AddNote(kRandomAddresses);
  const auto program = FindProgram(LookUpInPath(options_.target.command[0]));
  if (program && program->changes_identity && !MayTraceOtherRights())
    engine_->AddNote(IdentityNote(*program));
  return pid_ = *pid;
}

// An instruction clock would be useless: where they begin is not the same twice.
Result<pid_t> StepRecorder::Attach() {
  binding_.emplace(false);
  auto threads = SeizeThreads(options_.target.pids, options_.target.tids, kAttachOptions);
  if (!threads) return Fail(std::move(threads.error()));
  threads_ = std::move(*threads);
  if (Status opened = OpenEngine(); !opened) {
    ReleaseAll();
    return Fail(std::move(opened.error()));
  }
  return -1;
}

}  // namespace

// Only trying shows whether ptrace is allowed.
Status CheckStep(const RecordOptions&) { return {}; }

std::unique_ptr<Recorder> MakeStepRecorder(const RecordOptions& options) {
  return std::make_unique<StepRecorder>(options);
}

}  // namespace flowback::record
