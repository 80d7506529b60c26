// SPDX-License-Identifier: MIT
#include "capture/record/control/recording_outputs.h"

#include <sys/wait.h>

#include <utility>

#include "capture/record/output/output_file.h"
#include "capture/record/output/process_files.h"
#include "capture/record/output/raw_writer.h"
#include "capture/record/output/snapshot_sink.h"
#include "capture/record/perf_data/perf_data_writer.h"
#include "capture/record/target/program_file.h"
#include "capture/record/watch/watched_functions.h"

namespace flowback::record {
namespace {

// Decoders choose their workarounds for hardware errata by CPU model. This model's errata concern
// only virtualisation and address filters, and a step recording has neither.
constexpr const char* kEmulatedCpu = "GenuineIntel,6,85,7";
constexpr const char* kEmulatedCpuOption = "6/85/7";

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

std::string EngineText(const RecordOptions& options) {
  return options.engine +
         (options.streams.clock == RecordClock::kInstructions ? ", instruction clock" : "");
}

// As uname has it; empty: this machine's.
std::string ArchitectureOf(const RecordOptions& options) {
  if (!options.streams.branch_depth || options.target.command.empty()) return {};
  const auto program =
      FindProgram(LookUpInPath(options.target.command[0]), ForeignRoot(options.emulate.root));
  return program && program->mode == CodeMode::kAArch64 ? "aarch64" : "";
}

Result<std::unique_ptr<RecordingSink>> OpenPerfData(const RecordOptions& options,
                                                    const TraceClock& clock) {
  std::vector<std::string> command_line;
  if (!options.files.command_line.empty()) command_line.push_back(options.files.command_line);
  auto writer = PerfDataWriter::Create(
      options, clock,
      {.recorder = "flowback " FLOWBACK_VERSION " emulated (" + EngineText(options) + ")",
       .watched = *UnderstandWatch(options),
       .cpu = options.streams.branch_depth ? "emulated processor with branch stacks"
                                           : "emulated Intel PT processor",
       .cpuid = ArchitectureOf(options).empty() ? kEmulatedCpu : "emulated",
       .architecture = ArchitectureOf(options),
       .command_line = std::move(command_line)});
  if (!writer) return Fail(std::move(writer.error()));
  return std::move(*writer);
}

// Both outlive it.
std::unique_ptr<RecordingSink> OpenProcessFiles(const RecordOptions& options,
                                                const TraceClock& clock) {
  const auto open = [&](const std::string& path) {
    RecordOptions own = options;
    own.files.output = path;
    return OpenPerfData(own, clock);
  };
  return std::make_unique<ProcessFiles>(options.processes.folder,
                                        KeepsImages(options) ? ImagesFolderFor(options) : "", open,
                                        options.processes.on_end);
}

// `keeper` is set where there is one.
Result<std::unique_ptr<RecordingSink>> OpenSinks(const RecordOptions& options,
                                                 const TraceClock& clock, ImageKeeper*& keeper) {
  auto sinks = std::make_unique<Sinks>();
  if (!options.files.output.empty()) {
    auto writer = OpenPerfData(options, clock);
    if (!writer) return Fail(std::move(writer.error()));
    sinks->Add(std::move(*writer));
  }
  if (KeepsImages(options)) {
    auto own = std::make_unique<ImageKeeper>(options, clock);
    keeper = own.get();
    sinks->Add(std::move(own));
  }
  if (!options.processes.folder.empty()) sinks->Add(OpenProcessFiles(options, clock));
  if (!options.files.raw_directory.empty()) {
    auto writer = RawWriter::Create(options, clock, kEmulatedCpuOption);
    if (!writer) return Fail(std::move(writer.error()));
    sinks->Add(std::move(*writer));
  }
  if (!options.streams.snapshot_bytes) return sinks;
  return std::make_unique<SnapshotSink>(std::move(sinks), *options.streams.snapshot_bytes,
                                        options.direction.on_crash);
}

}  // namespace

Result<Outputs> OpenOutputs(const RecordOptions& options, const TraceClock& clock,
                            RecordSession& session) {
  Outputs outputs;
  outputs.only_of_crash = options.direction.on_crash;
  auto kept = options.files.pipe < 0 ? KeepOlderFile(options.files.output) : std::string();
  if (!kept) return Fail(std::move(kept.error()));
  if (!kept->empty()) outputs.notes.push_back(*kept);
  auto sinks = OpenSinks(options, clock, outputs.keeper);
  if (!sinks) return Fail(std::move(sinks.error()));
  outputs.sinks = std::move(*sinks);
  if (outputs.keeper != nullptr && !options.target.command.empty())
    outputs.keeper->KeepScript(LookUpInPath(options.target.command[0]));
  outputs.metered =
      std::make_unique<MeteredSink>(*outputs.sinks, session.meter(), options.limits.file_bytes,
                                    [&session] { session.Stop(StopReason::kFileSize); });
  return outputs;
}

Result<RecordSummary> Finished(Result<RecordSummary> summary, Outputs& outputs,
                               const RecordSession& session) {
  if (!summary) return summary;
  if (!summary->failure)
    if (auto finished = outputs.metered->Finish(*summary); !finished)
      return Fail(std::move(finished.error()));
  summary->written_bytes = session.meter().trace_bytes;
  if (outputs.only_of_crash && !WIFSIGNALED(summary->command_status))
    summary->notes.emplace_back(kNoCrash);
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

}  // namespace flowback::record
