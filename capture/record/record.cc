// SPDX-License-Identifier: MIT
#include "flowback/capture/record.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <future>
#include <memory>
#include <utility>

#include "capture/record/attach.h"
#include "capture/record/cpu_binding.h"
#include "capture/record/emulate_engine.h"
#include "capture/record/fixed_addresses.h"
#include "capture/record/image_keeper.h"
#include "capture/record/launch.h"
#include "capture/record/metered_sink.h"
#include "capture/record/perf_data_writer.h"
#include "capture/record/process_files.h"
#include "capture/record/program_file.h"
#include "capture/record/ptrace_calls.h"
#include "capture/record/raw_writer.h"
#include "capture/record/record_session.h"
#include "capture/record/snapshot_sink.h"
#include "capture/record/step_engine.h"
#include "capture/record/trace_clock.h"
#include "capture/record/watched_functions.h"

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

constexpr long kAttachOptions = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE |
                                PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACESYSGOOD;
constexpr long kLaunchOptions = kAttachOptions | PTRACE_O_EXITKILL;

// Passes everything on to several sinks.
class Sinks : public RecordingSink {
 public:
  void Add(std::unique_ptr<RecordingSink> sink) { sinks_.push_back(std::move(sink)); }

  Status AddStream(const RecordedStream& stream) override {
    return All([&](RecordingSink& sink) { return sink.AddStream(stream); });
  }
  Status AddSideband(const SidebandRecord& record) override {
    return All([&](RecordingSink& sink) { return sink.AddSideband(record); });
  }
  Status AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t time) override {
    return All([&](RecordingSink& sink) { return sink.AddTrace(stream, bytes, time); });
  }
  Status AddSnapshot(const RecordedStream& stream, Bytes bytes, uint64_t offset,
                     uint64_t time) override {
    return All([&](RecordingSink& sink) { return sink.AddSnapshot(stream, bytes, offset, time); });
  }
  Status EndStream(const RecordedStream& stream) override {
    return All([&](RecordingSink& sink) { return sink.EndStream(stream); });
  }
  Status Settle() override {
    return All([&](RecordingSink& sink) { return sink.Settle(); });
  }
  Status AddCode(const MemoryCode& code) override {
    return All([&](RecordingSink& sink) { return sink.AddCode(code); });
  }
  void AddImage(const MmapRecord& record, const MappedImage& image) override {
    for (const auto& sink : sinks_) sink->AddImage(record, image);
  }
  Status Finish(const RecordSummary& summary) override {
    return All([&](RecordingSink& sink) { return sink.Finish(summary); });
  }
  uint64_t file_size() const override {
    uint64_t size = 0;
    for (const auto& sink : sinks_) size += sink->file_size();
    return size;
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

Status Refuse(const std::string& why, const std::string& remedy) {
  return Fail(Error(ErrorCode::kUsage, why).Remedy(remedy));
}

Status CheckPerCpu(const RecordOptions& options) {
  if (options.engine != kEmulate)
    return Refuse("the engine 'step' has no CPUs: its buffers are per thread",
                  "--per-thread, or --engine emulate");
  if (!options.timestamps)
    return Refuse("buffers per CPU without TSC packets: whose trace it is could not be told",
                  "--per-thread, or leave --no-tsc or tsc=0 out");
  if (!options.raw_directory.empty())
    return Refuse("raw streams of CPUs don't tell their threads",
                  "--per-thread, or leave --raw-dir out");
  return {};
}

Status CheckProcessFiles(const RecordOptions& options) {
  if (options.engine != kEmulate)
    return Refuse("only the engine 'emulate' records each process by itself", "--engine emulate");
  if (options.per_cpu || options.snapshot_bytes || !options.on_process)
    return Refuse(
        "recordings of processes have streams of threads, whole, and someone to take them",
        "leave per_cpu and snapshot_bytes out, and set on_process");
  return {};
}

Status CheckSnapshots(const RecordOptions& options) {
  const uint64_t least = 2 * uint64_t{options.psb_period_bytes};
  if (*options.snapshot_bytes < least || *options.snapshot_bytes > kMaxSnapshot)
    return Refuse("snapshots of " + std::to_string(*options.snapshot_bytes) +
                      " bytes: not between two PSB periods (" + std::to_string(least) +
                      ") and 4 GiB",
                  "-S" + std::to_string(std::max(least, uint64_t{65536})));
  if (!options.timestamps)
    return Refuse(
        "snapshots without TSC packets: what two of them have in common could not be told",
        "leave --no-tsc, tsc=0 or -S out");
  if (!options.raw_directory.empty())
    return Refuse("raw streams can't hold snapshots", "leave --raw-dir or -S out");
  return {};
}

bool Attaches(const RecordOptions& options) {
  return !options.pids.empty() || !options.tids.empty();
}

// What is to be recorded: a command, or what runs already.
Status CheckTarget(const RecordOptions& options) {
  const bool has_command = !options.command.empty() && !options.command[0].empty();
  if (!Attaches(options) && !has_command)
    return Refuse("no command to record", "give it after --: flowback record -- CMD");
  if (!Attaches(options)) return {};
  if (!options.command.empty())
    return Refuse("a command and running processes can't be recorded at once",
                  "either -- CMD, or -p PID");
  if (options.engine != kStep)
    return Refuse("the engine '" + options.engine +
                      "' can't record a program that runs already: the emulator has to start it "
                      "itself",
                  "--engine step single-steps it where it is");
  return {};
}

// What the packets tell, and how often: as hardware can.
Status CheckPackets(const RecordOptions& options) {
  const uint32_t period = options.psb_period_bytes;
  if (!std::has_single_bit(period) || period < kMinPsbPeriod || period > kMaxPsbPeriod)
    return Refuse(
        "a PSB period of " + std::to_string(period) + " bytes is not one the hardware has",
        "use a power of two from 2K to 64M");
  if (options.mtc_shift && *options.mtc_shift > kMaxMtcShift)
    return Refuse("an MTC period of 2^" + std::to_string(*options.mtc_shift) +
                      " crystal ticks is not one the hardware has",
                  "use 0 to 15");
  if (options.cyc_threshold && *options.cyc_threshold > kMaxCycThreshold)
    return Refuse("a CYC threshold of " + std::to_string(*options.cyc_threshold) +
                      " is not one the hardware has",
                  "use 0 (every packet) to 12 (2048 cycles apart)");
  return {};
}

Status CheckOptions(const RecordOptions& options) {
  const auto engines = RecordEngineNames();
  if (std::find(engines.begin(), engines.end(), options.engine) == engines.end())
    return Fail(Error(ErrorCode::kUnsupported,
                      "this build can't record with the engine '" + options.engine + "'")
                    .Remedy("use --engine step"));
  if (auto fit = CheckTarget(options); !fit) return fit;
  if (const auto watched = UnderstandWatch(options); !watched) return Fail(watched.error());
  if (auto fit = CheckPackets(options); !fit) return fit;
  if (options.max_instructions && options.engine != kStep)
    return Refuse("the engine 'emulate' can't stop after a number of instructions",
                  "--duration 10s, or --engine step");
  if (options.per_cpu)
    if (auto checked = CheckPerCpu(options); !checked) return checked;
  if (!options.process_folder.empty())
    if (auto checked = CheckProcessFiles(options); !checked) return checked;
  return options.snapshot_bytes ? CheckSnapshots(options) : Status();
}

std::string EngineText(const RecordOptions& options) {
  return options.engine +
         (options.clock == RecordClock::kInstructions ? ", instruction clock" : "");
}

Result<std::unique_ptr<RecordingSink>> OpenPerfData(const RecordOptions& options,
                                                    const TraceClock& clock) {
  std::vector<std::string> command_line;
  if (!options.recorder_command_line.empty()) command_line.push_back(options.recorder_command_line);
  auto writer = PerfDataWriter::Create(
      options, clock,
      {.recorder = "flowback " FLOWBACK_VERSION " emulated (" + EngineText(options) + ")",
       .watched = *UnderstandWatch(options),
       .cpuid = kEmulatedCpu,
       .command_line = std::move(command_line)});
  if (!writer) return Fail(std::move(writer.error()));
  return std::move(*writer);
}

// Both outlive it.
std::unique_ptr<RecordingSink> OpenProcessFiles(const RecordOptions& options,
                                                const TraceClock& clock) {
  const auto open = [&](const std::string& path) {
    RecordOptions own = options;
    own.output = path;
    return OpenPerfData(own, clock);
  };
  return std::make_unique<ProcessFiles>(options.process_folder,
                                        KeepsImages(options) ? ImagesFolderFor(options) : "", open,
                                        options.on_process);
}

// `keeper` is set where there is one.
Result<std::unique_ptr<RecordingSink>> OpenSinks(const RecordOptions& options,
                                                 const TraceClock& clock, ImageKeeper*& keeper) {
  auto sinks = std::make_unique<Sinks>();
  if (!options.output.empty()) {
    auto writer = OpenPerfData(options, clock);
    if (!writer) return Fail(std::move(writer.error()));
    sinks->Add(std::move(*writer));
  }
  if (KeepsImages(options)) {
    auto own = std::make_unique<ImageKeeper>(options, clock);
    keeper = own.get();
    sinks->Add(std::move(own));
  }
  if (!options.process_folder.empty()) sinks->Add(OpenProcessFiles(options, clock));
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

// What both engines' runs share.
struct Outputs {
  ImageKeeper* keeper = nullptr;  // one of the sinks; null: no images are kept
  std::unique_ptr<RecordingSink> sinks;
  std::unique_ptr<MeteredSink> metered;
  std::vector<std::string> notes;
};

Result<Outputs> OpenOutputs(const RecordOptions& options, const TraceClock& clock,
                            RecordSession& session) {
  Outputs outputs;
  auto kept = options.output_pipe < 0 ? KeepOlderFile(options.output) : std::string();
  if (!kept) return Fail(std::move(kept.error()));
  if (!kept->empty()) outputs.notes.push_back(*kept);
  auto sinks = OpenSinks(options, clock, outputs.keeper);
  if (!sinks) return Fail(std::move(sinks.error()));
  outputs.sinks = std::move(*sinks);
  if (outputs.keeper != nullptr && !options.command.empty())
    outputs.keeper->KeepScript(LookUpInPath(options.command[0]));
  outputs.metered =
      std::make_unique<MeteredSink>(*outputs.sinks, session.meter(), options.max_file_bytes,
                                    [&session] { session.Stop(StopReason::kFileSize); });
  return outputs;
}

// Completes the outputs, if stopping did not, and the summary.
Result<RecordSummary> Finished(Result<RecordSummary> summary, Outputs& outputs,
                               const RecordSession& session) {
  if (!summary) return summary;
  if (!summary->failure)
    if (auto finished = outputs.metered->Finish(*summary); !finished)
      return Fail(std::move(finished.error()));
  summary->written_bytes = session.meter().trace_bytes;
  summary->notes.insert(summary->notes.begin(), outputs.notes.begin(), outputs.notes.end());
  if (outputs.keeper != nullptr) {
    summary->images = outputs.keeper->kept();
    const auto& problems = summary->images->problems;
    summary->notes.insert(summary->notes.end(), problems.begin(), problems.end());
  }
  summary->file_bytes = outputs.metered->file_size();
  summary->overwritten_bytes = outputs.sinks->overwritten_bytes();
  if (summary->stop_reason == StopReason::kProgramEnded)
    summary->stop_reason = session.stop_reason();
  return summary;
}

// What a recording by instruction clock needs of the system.
constexpr const char* kRandomAddresses =
    "the program's addresses are chosen at random, which this system does not let be turned off: "
    "the next recording will have others";

Result<RecordSummary> RunStepped(const RecordOptions& options, RecordSession& session) {
  const bool counts = options.clock == RecordClock::kInstructions;
  std::atomic<uint64_t> ticks = 0;
  const TraceClock clock =
      counts ? TraceClock::OfInstructions(ticks) : TraceClock::ForThisMachine();
  const CpuBinding binding(options.one_cpu);
  const FixedAddresses addresses(counts);
  const auto pid = LaunchTraced(options.command, kLaunchOptions, session.signals());
  if (!pid) return Fail(pid.error());
  // Only now, so that a command that can't be run costs no older recording.
  auto outputs = OpenOutputs(options, clock, session);
  if (!outputs) {
    KillAndReap(*pid);
    return Fail(std::move(outputs.error()));
  }
  StepEngine engine(options, clock, binding, *outputs->metered);
  if (counts && !addresses.in_force()) engine.AddNote(kRandomAddresses);
  const auto program = FindProgram(LookUpInPath(options.command[0]));
  if (program && program->changes_identity && !MayTraceOtherRights())
    engine.AddNote(IdentityNote(*program));
  session.Connect(*pid, engine);
  auto summary = engine.Run(*pid);
  session.Disconnect();
  return Finished(std::move(summary), *outputs, session);
}

Result<RecordSummary> RunAttached(const RecordOptions& options, RecordSession& session) {
  // An instruction clock would tell nothing: where they begin is not the same twice.
  const TraceClock clock = TraceClock::ForThisMachine();
  const CpuBinding none(false);
  const auto threads = SeizeThreads(options.pids, options.tids, kAttachOptions);
  if (!threads) return Fail(threads.error());
  auto outputs = OpenOutputs(options, clock, session);
  if (!outputs) {
    ReleaseAll();
    return Fail(std::move(outputs.error()));
  }
  StepEngine engine(options, clock, none, *outputs->metered);
  session.Connect(-1, engine);
  auto summary = engine.RunAttached(*threads);
  session.Disconnect();
  return Finished(std::move(summary), *outputs, session);
}

Result<RecordSummary> RunEmulated(const RecordOptions& options, RecordSession& session) {
  auto area = OwnedArea::Create(options);
  if (!area) return Fail(std::move(area.error()));
  const auto command = MakeEmulatedCommand(options, (*area)->path());
  if (!command) return Fail(command.error());
  const TraceClock& clock = (*area)->clock();
  auto outputs = OpenOutputs(options, clock, session);
  if (!outputs) return Fail(std::move(outputs.error()));
  EmulateEngine engine(options, command->plugin_interface, **area, *outputs->metered);
  for (const std::string& note : command->notes) engine.AddNote(note);
  const FixedAddresses addresses(command->wants_same_places);
  if (command->wants_same_places && !addresses.in_force()) engine.AddNote(kRandomAddresses);
  const auto pid = Launch(command->words, command->environment, session.signals());
  if (!pid) return Fail(pid.error());
  session.Connect(*pid, engine);
  auto summary = engine.Run(*pid);
  session.Disconnect();
  return Finished(std::move(summary), *outputs, session);
}

// Of this process and of those of its children that it has waited for.
std::chrono::nanoseconds CpuTime() {
  std::chrono::nanoseconds sum{0};
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      sum += std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  }
  return sum;
}

}  // namespace

Result<RecordSummary> Record(const RecordOptions& options) {
  if (auto checked = CheckOptions(options); !checked) return Fail(std::move(checked.error()));
  const auto cpu_time = CpuTime();
  const RecorderSignals signals;
  RecordSession session(options, signals);
  // A thread of its own, so that waiting for any child means the traced ones only.
  auto result = std::async(std::launch::async, [&] {
    auto summary = Attaches(options)         ? RunAttached(options, session)
                   : options.engine == kStep ? RunStepped(options, session)
                                             : RunEmulated(options, session);
    session.Done();
    return summary;
  });
  session.Supervise();
  auto summary = result.get();
  if (summary) {
    summary->elapsed = session.Elapsed();
    summary->cpu_time = CpuTime() - cpu_time;
    NoteWatch(*UnderstandWatch(options), *summary);
  }
  return summary;
}

std::vector<std::string_view> RecordEngineNames() { return {kStep, kEmulate}; }

}  // namespace flowback
