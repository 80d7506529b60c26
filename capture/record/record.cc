// SPDX-License-Identifier: MIT
#include "flowback/capture/record.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "capture/record/attach.h"
#include "capture/record/cpu_binding.h"
#include "capture/record/emulate_engine.h"
#include "capture/record/launch.h"
#include "capture/record/perf_data_writer.h"
#include "capture/record/ptrace_calls.h"
#include "capture/record/raw_writer.h"
#include "capture/record/step_engine.h"
#include "capture/record/trace_clock.h"

namespace flowback {
namespace {

using namespace record;

constexpr std::string_view kStep = "step";
constexpr std::string_view kEmulate = "emulate";
constexpr uint32_t kMinPsbPeriod = 2048;
constexpr uint32_t kMaxPsbPeriod = 2048u << 15;
constexpr uint8_t kMaxMtcShift = 15;

// Decoders choose their workarounds for hardware errata by CPU model. This one's concern
// virtualisation and address filters only, neither of which a step recording has.
constexpr const char* kEmulatedCpu = "GenuineIntel,6,85,7";
constexpr const char* kEmulatedCpuOption = "6/85/7";

constexpr long kAttachOptions = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE |
                                PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
constexpr long kLaunchOptions = kAttachOptions | PTRACE_O_EXITKILL;

// Passes everything on to several sinks.
class Sinks : public RecordingSink {
 public:
  void Add(std::unique_ptr<RecordingSink> sink) { sinks_.push_back(std::move(sink)); }

  Status AddStream(const StreamInfo& stream) override {
    return All([&](RecordingSink& sink) { return sink.AddStream(stream); });
  }
  Status AddSideband(const SidebandRecord& record) override {
    return All([&](RecordingSink& sink) { return sink.AddSideband(record); });
  }
  Status AddTrace(const StreamInfo& stream, Bytes bytes, uint64_t time) override {
    return All([&](RecordingSink& sink) { return sink.AddTrace(stream, bytes, time); });
  }
  Status AddCode(const MemoryCode& code) override {
    return All([&](RecordingSink& sink) { return sink.AddCode(code); });
  }
  Status Finish(const RecordSummary& summary) override {
    return All([&](RecordingSink& sink) { return sink.Finish(summary); });
  }

 private:
  template <class Call>
  Status All(Call call) {
    for (const auto& sink : sinks_)
      if (auto done = call(*sink); !done) return done;
    return {};
  }

  std::vector<std::unique_ptr<RecordingSink>> sinks_;
};

bool Attaches(const RecordOptions& options) {
  return !options.pids.empty() || !options.tids.empty();
}

// What is to be recorded: a command, or what runs already.
Status CheckTarget(const RecordOptions& options) {
  const bool has_command = !options.command.empty() && !options.command[0].empty();
  if (!Attaches(options))
    return has_command ? Status()
                       : Fail(Error(ErrorCode::kUsage, "no command to record")
                                  .Remedy("give it after --: flowback record -- CMD"));
  if (!options.command.empty())
    return Fail(
        Error(ErrorCode::kUsage, "a command and running processes can't be recorded at once")
            .Remedy("either -- CMD, or -p PID"));
  if (options.engine != kStep)
    return Fail(Error(ErrorCode::kUsage,
                      "the engine '" + options.engine +
                          "' can't record a program that runs already: the emulator has to start "
                          "it itself")
                    .Remedy("--engine step single-steps it where it is"));
  return {};
}

Status CheckOptions(const RecordOptions& options) {
  const auto engines = RecordEngineNames();
  if (std::find(engines.begin(), engines.end(), options.engine) == engines.end())
    return Fail(Error(ErrorCode::kUnsupported,
                      "this build can't record with the engine '" + options.engine + "'")
                    .Remedy("use --engine step"));
  if (auto fit = CheckTarget(options); !fit) return fit;
  const uint32_t period = options.psb_period_bytes;
  if (!std::has_single_bit(period) || period < kMinPsbPeriod || period > kMaxPsbPeriod)
    return Fail(Error(ErrorCode::kUsage, "a PSB period of " + std::to_string(period) +
                                             " bytes is not one the hardware has")
                    .Remedy("use a power of two from 2K to 64M"));
  if (options.max_instructions && options.engine != kStep)
    return Fail(Error(ErrorCode::kUsage,
                      "the engine 'emulate' can't stop after a number of "
                      "instructions")
                    .Remedy("--duration 10s, or --engine step"));
  if (options.mtc_shift && *options.mtc_shift > kMaxMtcShift)
    return Fail(Error(ErrorCode::kUsage, "an MTC period of 2^" +
                                             std::to_string(*options.mtc_shift) +
                                             " crystal ticks is not one the hardware has")
                    .Remedy("use 0 to 15"));
  return {};
}

Result<std::unique_ptr<Sinks>> OpenSinks(const RecordOptions& options, const TraceClock& clock) {
  auto sinks = std::make_unique<Sinks>();
  if (!options.output.empty()) {
    std::vector<std::string> command_line;
    if (!options.recorder_command_line.empty())
      command_line.push_back(options.recorder_command_line);
    auto writer = PerfDataWriter::Create(
        options, clock,
        {.recorder = "flowback " FLOWBACK_VERSION " emulated (" + options.engine + ")",
         .cpuid = kEmulatedCpu,
         .command_line = std::move(command_line)});
    if (!writer) return Fail(std::move(writer.error()));
    sinks->Add(std::move(*writer));
  }
  if (!options.raw_directory.empty()) {
    auto writer = RawWriter::Create(options, clock, kEmulatedCpuOption);
    if (!writer) return Fail(std::move(writer.error()));
    sinks->Add(std::move(*writer));
  }
  return sinks;
}

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

// Lets the caller's thread stop the engine that runs in the tracing thread.
class StopSwitch {
 public:
  // `stop` stops the engine; empty: there is none any more.
  void Connect(std::function<void()> stop) {
    const std::lock_guard lock(mutex_);
    stop_ = std::move(stop);
    if (stop_ && stopped_) stop_();
  }
  void Stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (stop_) stop_();
  }

 private:
  std::mutex mutex_;
  std::function<void()> stop_;
  bool stopped_ = false;
};

Result<RecordSummary> Finished(Result<RecordSummary> summary, RecordingSink& sink) {
  if (!summary) return summary;
  if (auto finished = sink.Finish(*summary); !finished) return Fail(std::move(finished.error()));
  return summary;
}

Result<RecordSummary> RunStepped(const RecordOptions& options,
                                 const TerminalSignalsIgnored& signals, StopSwitch& stop) {
  const TraceClock clock = TraceClock::ForThisMachine();
  const CpuBinding binding(options.one_cpu);
  const auto pid = LaunchTraced(options.command, kLaunchOptions, signals);
  if (!pid) return Fail(pid.error());
  // Only now, so that a command that can't be run costs no older recording.
  auto sinks = OpenSinks(options, clock);
  if (!sinks) {
    KillAndReap(*pid);
    return Fail(std::move(sinks.error()));
  }
  StepEngine engine(options, clock, binding, **sinks);
  stop.Connect([&engine] { engine.RequestStop(); });
  auto summary = engine.Run(*pid);
  stop.Connect({});
  return Finished(std::move(summary), **sinks);
}

Result<RecordSummary> RunAttached(const RecordOptions& options, StopSwitch& stop) {
  const TraceClock clock = TraceClock::ForThisMachine();
  const CpuBinding none(false);
  const auto threads = SeizeThreads(options.pids, options.tids, kAttachOptions);
  if (!threads) return Fail(threads.error());
  auto sinks = OpenSinks(options, clock);
  if (!sinks) {
    ReleaseAll();
    return Fail(std::move(sinks.error()));
  }
  StepEngine engine(options, clock, none, **sinks);
  stop.Connect([&engine] { engine.RequestStop(); });
  auto summary = engine.RunAttached(*threads);
  stop.Connect({});
  return Finished(std::move(summary), **sinks);
}

Result<RecordSummary> RunEmulated(const RecordOptions& options,
                                  const TerminalSignalsIgnored& signals, StopSwitch& stop) {
  const TraceClock clock = TraceClock::ForThisMachine();
  auto area = OwnedArea::Create(options, clock);
  if (!area) return Fail(std::move(area.error()));
  const auto command = MakeEmulatedCommand(options, (*area)->path());
  if (!command) return Fail(command.error());
  auto sinks = OpenSinks(options, clock);
  if (!sinks) return Fail(std::move(sinks.error()));
  EmulateEngine engine(options, clock, **area);
  for (const std::string& note : command->notes) engine.AddNote(note);
  const auto pid = Launch(command->words, command->environment, signals);
  if (!pid) return Fail(pid.error());
  stop.Connect([&engine] { engine.RequestStop(); });
  auto summary = engine.Run(*pid, **sinks);
  stop.Connect({});
  return Finished(std::move(summary), **sinks);
}

}  // namespace

Result<RecordSummary> Record(const RecordOptions& options) {
  if (auto checked = CheckOptions(options); !checked) return Fail(std::move(checked.error()));
  const auto begin = std::chrono::steady_clock::now();
  const TerminalSignalsIgnored signals;
  StopSwitch stop;
  // A thread of its own, so that waiting for any child means the traced ones only.
  auto result = std::async(std::launch::async, [&] {
    if (Attaches(options)) return RunAttached(options, stop);
    return options.engine == kStep ? RunStepped(options, signals, stop)
                                   : RunEmulated(options, signals, stop);
  });
  if (options.max_duration && result.wait_for(*options.max_duration) == std::future_status::timeout)
    stop.Stop();
  auto summary = result.get();
  if (summary) summary->elapsed = std::chrono::steady_clock::now() - begin;
  return summary;
}

std::vector<std::string_view> RecordEngineNames() { return {kStep, kEmulate}; }

}  // namespace flowback
