// SPDX-License-Identifier: MIT
// `flowback export`: writes a recording in another program's format.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/recorded/call_samples.h"
#include "cli/branches/prepare.h"
#include "cli/command.h"
#include "cli/export/profile_choice.h"
#include "cli/locks/lock_search.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/reading/spike_moment.h"
#include "cli/text/format_list.h"
#include "cli/text/status.h"
#include "replay/writers/export/export_input.h"
#include "replay/writers/locks/locks_view.h"
#include "replay/writers/text/packed_sink.h"
#include "replay/writers/writers.h"

namespace flowback::cli {
namespace {

struct ExportOptions {
  ReaderOptions reader;
  std::string format;
  std::string object;
  std::string instance;  // a number of a slow instance
  bool waits = false;
};

template <class Function>
bool Writes(const Writer& writer) {
  return writer.As<Function>() != nullptr;
}

// Coverage has a command of its own.
bool IsExport(const Writer& writer) {
  return Writes<ProfileWriter>(writer) || Writes<SamplesWriter>(writer) ||
         Writes<FlowWriter>(writer);
}

std::vector<Writer> Exports() {
  std::vector<Writer> exports;
  std::ranges::copy_if(Writers(), std::back_inserter(exports), IsExport);
  return exports;
}

// Errors: kUsage for an unknown name.
Result<const Writer*> FindExport(std::string_view name) {
  for (const Writer& writer : Writers())
    if (IsExport(writer) && writer.name == name) return &writer;
  return Fail(Error(ErrorCode::kUsage, name.empty()
                                           ? std::string("export: no format is named")
                                           : "export: no format '" + std::string(name) + "'")
                  .Remedy("--to with one of " + NamesOf(Exports())));
}

// A profile of pprof is always packed; else the file's name says so.
std::optional<Packing> PackingFor(const ExportOptions& options) {
  const std::optional<Packing> named = PackingOf(options.reader.output);
  return options.format == "pprof" && !named ? Packing::kGzip : named;
}

class ExportJob final : public ReadingJob {
 public:
  ExportJob(const ExportOptions& options, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options) {}

 private:
  Status Prepare() override {
    const Result<const Writer*> writer = FindExport(options_.format);
    if (!writer) return Fail(writer.error());
    writer_ = *writer;
    if (options_.waits) return OpenForLocks(opened_);
    if (Writes<SamplesWriter>(*writer_)) return PrepareSamples();
    if (Status status = PrepareBranches(opened_); !status) return status;
    return options_.instance.empty() ? Status() : PrepareInstance();
  }
  Status PrepareInstance() {
    const Result<NamedSpike> spike = FindSpike("--instance", options_.instance, opened_);
    if (!spike) return Fail(spike.error());
    part_ = {.thread = spike->thread,
             .first = spike->instance.first_instruction,
             .instructions = spike->instance.instructions()};
    return {};
  }
  Status PrepareSamples() {
    if (CallSamplesOf(opened_.recording().config) != nullptr) return opened_.LoadCode();
    of_flow_ = true;
    if (Status status = opened_.OpenTrace(); !status) return status;
    opened_.KeepIndexes();
    if (opened_.source().samples())
      return Fail(Error(ErrorCode::kUnsupported, opened_.recording().path +
                                                     ": has no samples of calls and no whole flow, "
                                                     "which --to " +
                                                     options_.format + " is of")
                      .Remedy("record calls with `flowback record -- CMD`, or samples of them with "
                              "`perf record -g`"));
    if (Status status = opened_.OpenCode(); !status) return status;
    opened_.PrepareStreams(true);
    return opened_.ChooseThreads();
  }
  // In emulated recordings the instructions are the program's own, and the times are not.
  Status WriteCalls(TextSink& output) {
    constexpr uint64_t kPasses = 2;  // for the times and for the calls
    const WorkProgress progress = opened_.ShowProgress("export", kPasses * opened_.trace_bytes());
    opened_.AddKnownLosses();
    const bool by_instructions = opened_.clock().emulated();
    const Result<Timeline> timeline =
        opened_.MakeTimeline({.threads = options_.reader.ThreadCount(),
                              .in_flight = options_.reader.in_flight,
                              .by_instructions = by_instructions});
    if (!timeline) return Fail(timeline.error());
    for (const LossSum& sum : timeline->losses)
      opened_.losses().Add({.cause = sum.cause,
                            .end = sum.bytes,
                            .detail = {},
                            .code = sum.code,
                            .count = sum.count});
    TimelineView view = TimelineView::Of(opened_, *timeline);
    view.sort = by_instructions ? TimelineSort::kInstructions : TimelineSort::kTime;
    FindWriter<TimelineWriter>(options_.format)->write(view, output);
    return {};
  }
  Status Gather() override {
    if (options_.waits || !Writes<ProfileWriter>(*writer_)) return {};
    Result<CompilerProfile> profile = ChooseProfile(opened_, options_.object, part_);
    if (!profile) return Fail(profile.error());
    profile_ = *std::move(profile);
    return {};
  }
  bool MeetsAllLosses() const override { return true; }
  Status Run(Output& output) override {
    const std::optional<Packing> packing = PackingFor(options_);
    if (!packing) return Write(output);
    PackedSink packed(*packing, output);
    const Status status = Write(packed);
    packed.Finish();
    return status;
  }
  Status Write(TextSink& output) {
    if (options_.waits) return WriteWaits(output);
    if (ProfileWriter* const write = writer_->As<ProfileWriter>())
      return write({profile_, opened_.options().search, &Warn}, output);
    if (of_flow_) return WriteCalls(output);
    if (SamplesWriter* const write = writer_->As<SamplesWriter>()) return write({opened_}, output);
    return WriteFlow(*writer_->As<FlowWriter>(), output);
  }
  Status WriteWaits(TextSink& output) {
    constexpr uint64_t kPasses = 2;  // for the times and for the waits
    const WorkProgress progress = opened_.ShowProgress("export", kPasses * opened_.trace_bytes());
    const TimelineSources sources = opened_.TimelineInput();
    const LockOptions how{.threads = options_.reader.ThreadCount(),
                          .in_flight = options_.reader.in_flight,
                          .paths = true,
                          .worst = 0};
    const Result<LockReport> report =
        SearchLocks(opened_, sources, FlowsOf(opened_.threads().owners()), how);
    if (!report) return Fail(report.error());
    LocksView view;
    view.report = &*report;
    view.threads = &opened_.threads();
    view.input = opened_.InputName();
    FindWriter<LocksWriter>(options_.format)->write(view, output);
    return {};
  }
  Status WriteFlow(FlowWriter& write, TextSink& output) {
    const uint64_t passes = &write == &WritePerf ? 2 : 1;
    const WorkProgress progress = opened_.ShowProgress("export", passes * opened_.SelectedBytes());
    return write({opened_, &Warn, part_}, output);
  }

  const ExportOptions& options_;
  const Writer* writer_ = nullptr;
  bool of_flow_ = false;  // --to folded of a trace
  CompilerProfile profile_;
  ThreadPart part_;  // all, unless an instance is asked for
};

// A profile is of one file; what else is written is of all that ran.
Status CheckObject(const ExportOptions& options) {
  const auto writer = FindExport(options.format);
  if (!writer) return Fail(writer.error());
  if (options.object.empty() || Writes<ProfileWriter>(**writer)) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("--object does not apply to --to {}, which is of all code that ran",
                                options.format))
                  .Remedy("leave --object out; it chooses the file of a profile: " +
                          NamesOf(WritersOf<ProfileWriter>())));
}

// Call paths are of the whole recording.
Status CheckInstance(const ExportOptions& options) {
  const auto writer = FindExport(options.format);
  if (options.instance.empty() || !writer || !Writes<SamplesWriter>(**writer)) return {};
  return Fail(
      Error(ErrorCode::kUsage,
            fmt::format("--instance does not apply to --to {}, which adds up the whole recording",
                        options.format))
          .Remedy("--to brstack or another format of whole flow"));
}

// Formats of code and of branches have no place for them.
Status CheckWaits(const ExportOptions& options) {
  const auto writer = FindExport(options.format);
  if (!options.waits || !writer || FindWriter<LocksWriter>(options.format)) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("--waits does not apply to --to {}, which has no place for them",
                                options.format))
                  .Remedy("--to folded --waits"));
}

void AddExportOptions(CLI::App& app, ExportOptions& options, ReaderWords&) {
  app.add_option("--to", options.format, "Format to write: " + SummariesOf(Exports()));
  app.add_option("--object", options.object,
                 "File of code for a profile: its path or its last part");
  app.add_option(
      "--instance", options.instance,
      "Write only the N-th slowest instance of the last `spikes`, exact to the instruction");
  app.add_flag("--waits", options.waits,
               "With --to folded: write the call paths in which threads waited for each other, as "
               "`locks` finds them, with their times");
}

Status UnderstandExport(const CLI::App&, ExportOptions& options) {
  if (Status status = CheckObject(options); !status) return status;
  if (Status status = CheckInstance(options); !status) return status;
  if (Status status = CheckWaits(options); !status) return status;
  if (options.reader.time.empty() && !options.reader.json) return {};
  return Fail(Error(ErrorCode::kUsage,
                    "export writes the whole recording in the format that --to names: "
                    "--time and --json do not apply")
                  .Remedy("flowback branches --json prints the same as JSON lines"));
}

}  // namespace

int RunExport(const Arguments& arguments) {
  return ExecuteReading<ExportOptions>(
      arguments, {.name = "export",
                  .summary = "Writes profiles and calls of a recording for other programs.",
                  .add_options = AddExportOptions,
                  .hidden = {"--time", "--json"},
                  .understand = UnderstandExport,
                  .run = [](const ExportOptions& options) {
                    return RunReadingJob<ExportJob>(options.reader, options);
                  }});
}

}  // namespace flowback::cli
