// SPDX-License-Identifier: MIT
#include "flowback/capture/record.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "capture/record/cpu_binding.h"
#include "capture/record/emulate_engine.h"
#include "capture/record/fixed_addresses.h"
#include "capture/record/launch.h"
#include "capture/record/perf_data_writer.h"
#include "capture/record/ptrace_calls.h"
#include "capture/record/raw_writer.h"
#include "capture/record/snapshot_signal.h"
#include "capture/record/snapshot_sink.h"
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
constexpr uint8_t kMaxCycThreshold = 12;
constexpr uint64_t kMaxSnapshot = uint64_t{4} << 30;

// Decoders choose their workarounds for hardware errata by CPU model. This one's concern
// virtualisation and address filters only, neither of which a step recording has.
constexpr const char* kEmulatedCpu = "GenuineIntel,6,85,7";
constexpr const char* kEmulatedCpuOption = "6/85/7";

constexpr long kPtraceOptions =
    PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE;

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
  Status AddSnapshot(const StreamInfo& stream, Bytes bytes, uint64_t offset,
                     uint64_t time) override {
    return All([&](RecordingSink& sink) { return sink.AddSnapshot(stream, bytes, offset, time); });
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

Status CheckSnapshots(const RecordOptions& options) {
  const uint64_t least = 2 * uint64_t{options.psb_period_bytes};
  if (*options.snapshot_bytes < least || *options.snapshot_bytes > kMaxSnapshot)
    return Fail(Error(ErrorCode::kUsage, "snapshots of " + std::to_string(*options.snapshot_bytes) +
                                             " bytes: not between two PSB periods (" +
                                             std::to_string(least) + ") and 4 GiB")
                    .Remedy("-S" + std::to_string(std::max(least, uint64_t{65536}))));
  if (!options.timestamps)
    return Fail(Error(ErrorCode::kUsage,
                      "snapshots without TSC packets: what two of them have in common could not be "
                      "told")
                    .Remedy("leave --no-tsc, tsc=0 or -S out"));
  if (!options.raw_directory.empty())
    return Fail(Error(ErrorCode::kUsage, "raw streams can't hold snapshots")
                    .Remedy("leave --raw-dir or -S out"));
  return {};
}

Status CheckOptions(const RecordOptions& options) {
  const auto engines = RecordEngineNames();
  if (std::find(engines.begin(), engines.end(), options.engine) == engines.end())
    return Fail(Error(ErrorCode::kUnsupported,
                      "this build can't record with the engine '" + options.engine + "'")
                    .Remedy("use --engine step"));
  if (options.command.empty() || options.command[0].empty())
    return Fail(Error(ErrorCode::kUsage, "no command to record")
                    .Remedy("give it after --: flowback record -- CMD"));
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
  if (options.cyc_threshold && *options.cyc_threshold > kMaxCycThreshold)
    return Fail(Error(ErrorCode::kUsage, "a CYC threshold of " +
                                             std::to_string(*options.cyc_threshold) +
                                             " is not one the hardware has")
                    .Remedy("use 0 (every packet) to 12 (2048 cycles apart)"));
  return options.snapshot_bytes ? CheckSnapshots(options) : Status();
}

std::string EngineText(const RecordOptions& options) {
  return options.engine +
         (options.clock == RecordClock::kInstructions ? ", instruction clock" : "");
}

Result<std::unique_ptr<RecordingSink>> OpenSinks(const RecordOptions& options,
                                                 const TraceClock& clock) {
  auto sinks = std::make_unique<Sinks>();
  if (!options.output.empty()) {
    std::vector<std::string> command_line;
    if (!options.recorder_command_line.empty())
      command_line.push_back(options.recorder_command_line);
    auto writer = PerfDataWriter::Create(
        options, clock,
        {.recorder = "flowback " FLOWBACK_VERSION " emulated (" + EngineText(options) + ")",
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
  if (!options.snapshot_bytes) return sinks;
  return std::make_unique<SnapshotSink>(std::move(sinks), *options.snapshot_bytes);
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

// Lets the caller's thread stop the engine that runs in the tracing thread, or have it take a
// snapshot.
class StopSwitch {
 public:
  template <class Engine>
  void Connect(Engine& engine) {
    const std::lock_guard lock(mutex_);
    stop_ = [&engine] { engine.RequestStop(); };
    snapshot_ = [&engine] { engine.RequestSnapshot(); };
    if (stopped_) stop_();
  }
  // The engine is no more.
  void Disconnect() {
    const std::lock_guard lock(mutex_);
    stop_ = snapshot_ = {};
  }
  void TakeSnapshot() {
    const std::lock_guard lock(mutex_);
    if (snapshot_) snapshot_();
  }
  void Stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (stop_) stop_();
  }

 private:
  std::mutex mutex_;
  std::function<void()> stop_;
  std::function<void()> snapshot_;
  bool stopped_ = false;
};

Result<RecordSummary> Finished(Result<RecordSummary> summary, RecordingSink& sink) {
  if (!summary) return summary;
  if (auto finished = sink.Finish(*summary); !finished) return Fail(std::move(finished.error()));
  return summary;
}

Result<RecordSummary> RunStepped(const RecordOptions& options,
                                 const TerminalSignalsIgnored& signals, StopSwitch& stop) {
  const bool counts = options.clock == RecordClock::kInstructions;
  std::atomic<uint64_t> ticks = 0;
  const TraceClock clock =
      counts ? TraceClock::OfInstructions(ticks) : TraceClock::ForThisMachine();
  const CpuBinding binding(options.one_cpu);
  const FixedAddresses addresses(counts);
  const auto pid = LaunchTraced(options.command, kPtraceOptions, signals);
  if (!pid) return Fail(pid.error());
  // Only now, so that a command that can't be run costs no older recording.
  auto sinks = OpenSinks(options, clock);
  if (!sinks) {
    KillAndReap(*pid);
    return Fail(std::move(sinks.error()));
  }
  StepEngine engine(*pid, options, clock, binding, **sinks);
  if (counts && !addresses.in_force())
    engine.AddNote(
        "the program's addresses are chosen at random, which this system does not let be turned "
        "off: the next recording will have others");
  stop.Connect(engine);
  auto summary = engine.Run();
  stop.Disconnect();
  return Finished(std::move(summary), **sinks);
}

Result<RecordSummary> RunEmulated(const RecordOptions& options,
                                  const TerminalSignalsIgnored& signals, StopSwitch& stop) {
  auto area = OwnedArea::Create(options);
  if (!area) return Fail(std::move(area.error()));
  const auto command = MakeEmulatedCommand(options, (*area)->path());
  if (!command) return Fail(command.error());
  auto sinks = OpenSinks(options, (*area)->clock());
  if (!sinks) return Fail(std::move(sinks.error()));
  EmulateEngine engine(options, **area);
  for (const std::string& note : command->notes) engine.AddNote(note);
  const auto pid = Launch(command->words, command->environment, signals);
  if (!pid) return Fail(pid.error());
  stop.Connect(engine);
  auto summary = engine.Run(*pid, **sinks);
  stop.Disconnect();
  return Finished(std::move(summary), **sinks);
}

// Until the engine is done, does what it is to do meanwhile.
void WaitFor(const std::future<Result<RecordSummary>>& result, const RecordOptions& options,
             const SnapshotSignal& snapshot, StopSwitch& stop) {
  constexpr std::chrono::milliseconds kLookEvery{10};
  const auto begin = std::chrono::steady_clock::now();
  const auto done = [&](auto time) { return result.wait_for(time) == std::future_status::ready; };
  if (!options.snapshot_bytes) {
    if (options.max_duration && !done(*options.max_duration)) stop.Stop();
    return;
  }
  while (!done(std::chrono::seconds(0))) {
    if (snapshot.Wait(kLookEvery)) stop.TakeSnapshot();
    const auto now = std::chrono::steady_clock::now();
    if (options.max_duration && now - begin > *options.max_duration) stop.Stop();
  }
}

}  // namespace

Result<RecordSummary> Record(const RecordOptions& options) {
  if (auto checked = CheckOptions(options); !checked) return Fail(std::move(checked.error()));
  const auto begin = std::chrono::steady_clock::now();
  const TerminalSignalsIgnored signals;
  StopSwitch stop;
  const SnapshotSignal snapshot(options.snapshot_bytes.has_value());
  // A thread of its own, so that waiting for any child means the traced ones only.
  auto result = std::async(std::launch::async, [&] {
    return options.engine == kStep ? RunStepped(options, signals, stop)
                                   : RunEmulated(options, signals, stop);
  });
  WaitFor(result, options, snapshot, stop);
  auto summary = result.get();
  if (summary) summary->elapsed = std::chrono::steady_clock::now() - begin;
  return summary;
}

std::vector<std::string_view> RecordEngineNames() { return {kStep, kEmulate}; }

}  // namespace flowback
