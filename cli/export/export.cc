// SPDX-License-Identifier: MIT
// `flowback export`: writes a recording in another program's format.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/name_pattern.h"
#include "base/recorded/call_samples.h"
#include "cli/branches/prepare.h"
#include "cli/command.h"
#include "cli/export/profile_choice.h"
#include "cli/export/size_estimate.h"
#include "cli/listing/function_filter.h"
#include "cli/locks/lock_search.h"
#include "cli/reading/losses.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/reading/spike_moment.h"
#include "cli/reading/time_words.h"
#include "cli/text/format_list.h"
#include "cli/text/quantity.h"
#include "cli/text/status.h"
#include "cli/text/terminal.h"
#include "replay/writers/calls/exported_calls.h"
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
  // Of formats of calls.
  std::string function;
  std::string min_duration;
  size_t max_depth = SIZE_MAX;
  bool calls_only = false;
};

template <class Function>
bool Writes(const Writer& writer) {
  return writer.As<Function>() != nullptr;
}

// Coverage has a command of its own.
bool IsExport(const Writer& writer) {
  return Writes<ProfileWriter>(writer) || Writes<SamplesWriter>(writer) ||
         Writes<FlowWriter>(writer) || Writes<CallsWriter>(writer);
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
    if (OnlyWaits()) return OpenForLocks(opened_);
    if (Writes<SamplesWriter>(*writer_)) return PrepareSamples();
    const bool of_calls = Writes<CallsWriter>(*writer_);
    if (Status status = of_calls ? PrepareCalls() : PrepareBranches(opened_); !status)
      return status;
    return options_.instance.empty() ? Status() : PrepareInstance();
  }
  // Times of calls are the estimates that other commands show.
  Status PrepareCalls() {
    if (Status status = opened_.OpenTrace(); !status) return status;
    if (Status status = opened_.OpenCode(); !status) return status;
    opened_.PrepareStreams(true);
    if (Status status = opened_.ChooseThreads(); !status) return status;
    WarnOfSharedStreams(opened_.recording(), opened_.threads(), opened_.InputName());
    return UnderstandCalls();
  }
  Status UnderstandCalls() {
    const Result<TimeSpan> span =
        ParseTimeSpan(options_.reader.time, opened_.recording(), opened_.clock());
    if (!span) return Fail(span.error());
    const Result<uint64_t> duration = ParseDuration(options_.min_duration, "--min-duration");
    if (!options_.min_duration.empty() && !duration) return Fail(duration.error());
    calls_.span = *span;
    calls_.min_duration = options_.min_duration.empty() ? 0 : *duration;
    calls_.max_depth = options_.max_depth;
    calls_.calls_only = options_.calls_only;
    if (options_.function.empty()) return {};
    Result<NamePattern> pattern = NamePattern::Parse(options_.function);
    if (!pattern) return Fail(pattern.error());
    match_.emplace(*pattern, names_.symbolizer);
    calls_.matches = [this, pattern = *std::move(pattern)](const ExportedFunction& function) {
      const bool matches =
          pattern.Matches(function.name) || (*match_)(function.space, function.entry_ip);
      function_ran_ = function_ran_ || matches;
      return matches;
    };
    return {};
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
    if (!Writes<ProfileWriter>(*writer_)) return {};
    Result<CompilerProfile> profile = ChooseProfile(opened_, options_.object, part_);
    if (!profile) return Fail(profile.error());
    profile_ = *std::move(profile);
    return {};
  }
  bool MeetsAllLosses() const override { return true; }
  // Another program takes a part for the whole.
  bool KeepsPart() const override { return false; }
  Status Run(Output& output) override {
    const Status status = WritePacked(output);
    return status ? CheckFunctionRan() : status;
  }
  Status WritePacked(Output& output) {
    const std::optional<Packing> packing = PackingFor(options_);
    if (!packing) return Write(output);
    PackedSink packed(*packing, output);
    const Status status = Write(packed);
    packed.Finish();
    return status;
  }
  Status Write(TextSink& output) {
    if (OnlyWaits()) return WriteWaits(output);
    if (ProfileWriter* const write = writer_->As<ProfileWriter>())
      return write({profile_, opened_.options().search, &Warn}, output);
    if (of_flow_) return WriteCalls(output);
    if (SamplesWriter* const write = writer_->As<SamplesWriter>()) return write({opened_}, output);
    if (CallsWriter* const write = writer_->As<CallsWriter>()) return WriteEach(*write, output);
    return WriteFlow(*writer_->As<FlowWriter>(), output);
  }
  // Formats of locks; others have waits beside the calls.
  bool OnlyWaits() const {
    return options_.waits && FindWriter<LocksWriter>(options_.format).has_value();
  }
  Status WriteEach(CallsWriter& write, TextSink& output) {
    WarnOfSize(options_.format, opened_.SelectedBytes(), IsPart());
    const uint64_t passes = options_.waits ? 2 : 1;
    const WorkProgress progress = opened_.ShowProgress("export", passes * opened_.SelectedBytes());
    CallsExport input{opened_, &Warn, part_, calls_};
    if (!options_.waits) return write(input, output);
    constexpr size_t kMostWaits = 100'000;  // the longest
    const TimelineSources sources = opened_.TimelineInput();
    // Its losses are those of the calls, which count.
    const Result<LockReport> report =
        FindWaits(opened_, sources, FlowsOf(opened_.threads().owners()),
                  {.threads = options_.reader.ThreadCount(),
                   .in_flight = options_.reader.in_flight,
                   .worst = kMostWaits});
    if (!report) return Fail(report.error());
    LocksView view;
    view.report = &*report;
    view.threads = &opened_.threads();
    view.input = opened_.InputName();
    input.waits = &view;
    return write(input, output);
  }
  bool IsPart() const {
    return !part_.IsAll() || calls_.min_duration != 0 || calls_.max_depth != SIZE_MAX ||
           calls_.matches || !options_.reader.time.empty();
  }
  // Errors: kUsage if no call is one of --function.
  Status CheckFunctionRan() const {
    if (!calls_.matches || function_ran_) return {};
    return Fail(
        Error(ErrorCode::kUsage,
              fmt::format("{}: --function {}: no such function was called{}", opened_.InputName(),
                          options_.function, InFoundFiles(opened_.losses())))
            .Remedy("its name as `flowback decode --as calls` prints it, a pattern "
                    "('str*'), or /a regular expression/"));
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
  CallsPart calls_;
  std::optional<FunctionMatch> match_;  // by all names of a function
  bool function_ran_ = false;           // that --function names
};

// Errors: kUsage for a binary format that a terminal would show.
Status CheckTerminal(const ExportOptions& options) {
  constexpr std::string_view kBinary[] = {"ctf", "perf", "perfetto", "pprof", "sqlite"};
  const std::string& output = options.reader.output;
  const bool is_standard = output.empty() || output == "-";
  if (!is_standard || std::ranges::find(kBinary, options.format) == std::end(kBinary) ||
      !IsTerminal(STDOUT_FILENO))
    return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("export: --to {} writes bytes, and standard output is a terminal",
                                options.format))
                  .Remedy("-o FILE, or redirect standard output: `flowback export ... > FILE`"));
}

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

// Other formats are of the whole recording.
Status CheckCuts(const CLI::App& app, const ExportOptions& options) {
  const auto writer = FindExport(options.format);
  if (!writer || Writes<CallsWriter>(**writer)) return {};
  for (const char* const option :
       {"--time", "--function", "--min-duration", "--max-depth", "--calls-only"})
    if (app.count(option) != 0)
      return Fail(Error(ErrorCode::kUsage,
                        fmt::format("{} does not apply to --to {}", option, options.format))
                      .Remedy("leave it out, or name a format of calls: " +
                              NamesOf(WritersOf<CallsWriter>())));
  return {};
}

// Other formats have no place for them.
Status CheckWaits(const ExportOptions& options) {
  constexpr std::string_view kWithWaits = "perfetto";
  const auto writer = FindExport(options.format);
  if (!options.waits || !writer || FindWriter<LocksWriter>(options.format)) return {};
  if (options.format == kWithWaits && options.instance.empty()) return {};
  return Fail(
      Error(ErrorCode::kUsage,
            options.format == kWithWaits
                ? std::string("--waits does not apply to --instance, which is of one thread")
                : fmt::format("--waits does not apply to --to {}, which has no place for "
                              "them",
                              options.format))
          .Remedy("--to folded --waits, or --to perfetto --waits"));
}

void AddExportOptions(CLI::App& app, ExportOptions& options, ReaderWords&) {
  app.add_option("--to", options.format, "Format to write:\n" + LinesOf(Exports()));
  app.add_option("--object", options.object,
                 "File of code for a profile: its path or its last part");
  app.add_option(
      "--instance", options.instance,
      "Write only the N-th slowest instance that the last `spikes` of this recording found");
  app.add_option("--function", options.function,
                 "Calls: write only this function's calls, and what they call. A name, a pattern "
                 "(str*) or /an expression/");
  app.add_option("--min-duration", options.min_duration,
                 "Calls: write only those that took at least this long, e.g. 50us");
  app.add_option("--depth,--max-depth", options.max_depth,
                 "Calls: write only so many levels, from the outermost on")
      ->check([](const std::string& word) { return std::string(word == "0" ? "at least 1" : ""); });
  app.add_flag("--calls-only", options.calls_only,
               "Calls: leave out counters, and times without flow");
  app.add_flag("--waits", options.waits,
               "With --to folded: write the call paths in which threads waited for each other, as "
               "`locks` finds them, with their times; with --to perfetto: also these waits");
}

Status UnderstandExport(const CLI::App& app, ExportOptions& options) {
  if (Status status = CheckObject(options); !status) return status;
  if (Status status = CheckTerminal(options); !status) return status;
  if (Status status = CheckInstance(options); !status) return status;
  if (Status status = CheckWaits(options); !status) return status;
  if (Status status = CheckCuts(app, options); !status) return status;
  if (!options.reader.json) return {};
  return Fail(Error(ErrorCode::kUsage, "export: --json does not apply: --to names the format")
                  .Remedy("flowback branches --json prints branches as JSON lines"));
}

}  // namespace

int RunExport(const Arguments& arguments) {
  return ExecuteReading<ExportOptions>(
      arguments, {.name = "export",
                  .summary = "Writes profiles and calls of a recording for other programs.",
                  .add_options = AddExportOptions,
                  .hidden = {"--json"},
                  .understand = UnderstandExport,
                  .run = [](const ExportOptions& options) {
                    return RunReadingJob<ExportJob>(options.reader, options);
                  }});
}

}  // namespace flowback::cli
