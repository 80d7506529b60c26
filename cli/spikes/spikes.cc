// SPDX-License-Identifier: MIT
// `flowback spikes`: why the slow ones were slow.
#include "replay/spikes/spikes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/help/completion.h"
#include "cli/listing/function_filter.h"
#include "cli/reading/losses.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/reading/stream_report.h"
#include "cli/reading/time_words.h"
#include "cli/spikes/place_match.h"
#include "cli/spikes/spikes_words.h"
#include "cli/text/status.h"
#include "cli/text/terminal.h"
#include "replay/session/instance_waits.h"
#include "replay/spikes/inlined_calls.h"
#include "replay/spikes/kept_spikes.h"
#include "replay/spikes/last_spikes.h"
#include "replay/spikes/request_loops.h"
#include "replay/spikes/slow_recording.h"
#include "replay/timeline/kept_times.h"
#include "replay/timeline/thread_times.h"
#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/writers.h"

namespace flowback::cli {
namespace {

constexpr InstanceMeasure kMeasures[] = {InstanceMeasure::kTime, InstanceMeasure::kInstructions,
                                         InstanceMeasure::kOffCpu, InstanceMeasure::kKernel,
                                         InstanceMeasure::kCycles};

// One run of the command.
class SpikesJob final : public ReadingJob {
 public:
  SpikesJob(const SpikesWords& words, Recording recording)
      : ReadingJob(words.reader, std::move(recording)), words_(words) {}

 private:
  Status Prepare() override;
  std::string OutputPath() const override { return words_.html; }
  Status Run(Output& output) override;
  void Keep() const override;
  bool MeetsAllLosses() const override { return true; }
  bool FoundNone() const;
  std::optional<Error> IsInlined();
  Error NoInstance();
  void WarnOfUnnamedRegions() const;

  Status UnderstandRegion();
  Status ChooseLoop();
  Status FindLoops();
  Status FindReport();
  bool IsChosen(const AddressSpace* space, uint64_t ip) const;
  std::string Region() const;
  Status SaveInstances(const SpikesView& view) const;
  SpikeOptions Options();
  SpikesView View();
  Status FindDataWaits(SpikesView& view) const;

  const SpikesWords& words_;
  std::optional<NamePattern> pattern_;
  std::optional<FunctionMatch> match_;
  std::optional<RegionPlaces> places_;
  std::optional<ProgramRegions> regions_;
  std::vector<RequestLoop> loops_;  // the first one is chosen
  TimeSpan span_;
  SpikeOptions options_;
  std::vector<const ThreadFlow*> flows_;
  std::optional<TimelineSources> sources_;
  std::optional<KeptSpikes> kept_;
  bool loops_were_kept_ = false;
  std::optional<SpikeReport> report_;
  std::optional<WhoRan> who_ran_;  // made when it is asked
};

Error RefuseSamples(const std::string& input) {
  return Error(ErrorCode::kUsage,
               fmt::format("{}: these are samples, between which nothing is known: whether a call "
                           "was slow, and why, cannot be known from them",
                           input))
      .Remedy(
          "`timeline` or `branches` of it; for spikes record whole flow with "
          "`flowback record -- CMD`");
}

Status SpikesJob::Prepare() {
  if (Status status = opened_.OpenTrace(); !status) return status;
  opened_.KeepIndexes();
  if (opened_.source().samples()) return Fail(RefuseSamples(opened_.InputName()));
  Result<TimeSpan> span = ParseTimeSpan(words_.reader.time, opened_.recording(), opened_.clock());
  if (!span) return Fail(span.error());
  span_ = *span;
  if (Status status = CheckSpan(opened_.recording(), opened_.clock(), span_, words_.reader);
      !status)
    return status;
  if (Status status = UnderstandRegion(); !status) return status;
  if (Status status = opened_.OpenCode(); !status) return status;
  opened_.PrepareStreams(true);
  if (Status status = opened_.ChooseThreads(); !status) return status;
  WarnOfSharedStreams(opened_.recording(), opened_.threads(), opened_.InputName());
  return {};
}

Status SpikesJob::UnderstandRegion() {
  if (words_.has_places()) {
    Result<PlaceMatch> start =
        PlaceMatch::Parse("--start", words_.start, names_.symbolizer, names_.lines);
    if (!start) return Fail(start.error());
    Result<PlaceMatch> stop =
        PlaceMatch::Parse("--stop", words_.stop, names_.symbolizer, names_.lines);
    if (!stop) return Fail(stop.error());
    places_.emplace(*std::move(start), *std::move(stop));
    return {};
  }
  if (words_.automatic) return {};
  const bool is_region = !words_.region.empty();
  Result<NamePattern> pattern = NamePattern::Parse(is_region ? words_.region : words_.function);
  if (!pattern) return Fail(pattern.error());
  pattern_ = *pattern;
  if (is_region) return {};
  match_.emplace(*std::move(pattern), names_.symbolizer);
  return {};
}

Status SpikesJob::FindLoops() {
  if (auto kept = kept_->LoadLoops()) {
    loops_ = *std::move(kept);
    loops_were_kept_ = true;
    return {};
  }
  Result<std::vector<RequestLoop>> loops =
      FindRequestLoops(*sources_, flows_, words_.reader.ThreadCount(), words_.reader.in_flight);
  if (!loops) return Fail(loops.error());
  loops_ = *std::move(loops);
  return {};
}

Status SpikesJob::ChooseLoop() {
  if (Status status = FindLoops(); !status) return status;
  if (!loops_.empty()) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("{}: --auto: no function is called again and again in a loop, by a "
                                "function that is not",
                                opened_.InputName()))
                  .Remedy("name one: `timeline` lists the functions with their numbers of calls"));
}

bool SpikesJob::IsChosen(const AddressSpace* space, uint64_t ip) const {
  const TimelineFunction& chosen = loops_.front().function;
  if (space == nullptr) return false;
  const auto symbol = names_.symbolizer.Find(*space, ip);
  if (symbol) return chosen.named && symbol->function == chosen.name;
  return !chosen.named && space == chosen.space && ip == chosen.entry_ip;
}

std::string SpikesJob::Region() const {
  if (words_.has_places()) return fmt::format("{} to {}", words_.start, words_.stop);
  if (!words_.region.empty()) return fmt::format("the region {}", words_.region);
  return words_.automatic && !loops_.empty() ? loops_.front().function.name : words_.function;
}

SpikeOptions SpikesJob::Options() {
  SpikeOptions options{.threads = words_.reader.ThreadCount(),
                       .in_flight = words_.reader.in_flight,
                       .span = span_,
                       .limit = words_.limit,
                       .least_time = words_.least_time,
                       .top = words_.top};
  if (words_.automatic)
    options.is_region = [this](const AddressSpace* space, uint64_t ip) {
      return IsChosen(space, ip);
    };
  if (match_)
    options.is_region = [this](const AddressSpace* space, uint64_t ip) {
      return (*match_)(space, ip);
    };
  if (places_) options.places = &*places_;
  options.across_threads = words_.across_threads;
  if (regions_) options.regions = &*regions_;
  for (const InstanceMeasure measure : kMeasures)
    if (words_.by == Name(measure)) options.measure = measure;
  return options;
}

SpikesView SpikesJob::View() {
  constexpr size_t kInFiles = 120;
  constexpr size_t kNarrowest = 60;
  SpikesView view;
  view.report = &*report_;
  view.threads = &opened_.threads();
  view.clock = &opened_.clock();
  view.lines = &names_.lines;
  view.symbolizer = &names_.symbolizer;
  view.recorded_path = sources_->recorded_path;
  view.input = opened_.InputName();
  view.trigger = TriggerFunctionOf(opened_.recording());
  view.region = Region();
  view.is_function = !words_.has_places() && !regions_;
  view.loops = loops_;
  if (report_->nanoseconds)
    view.ran_instead = [this](const Instance& instance) {
      if (!who_ran_) who_ran_.emplace(opened_.recording());
      return who_ran_->InsteadOf(instance.tid, instance.begin.time, instance.end.time);
    };
  const bool is_terminal = words_.reader.output.empty();
  view.width = is_terminal ? TerminalWidth(STDOUT_FILENO, kInFiles) : kInFiles;
  view.width = std::max(view.width, kNarrowest);
  return view;
}

// Samples have perf's time.
Status SpikesJob::FindDataWaits(SpikesView& view) const {
  if (!report_->nanoseconds || !report_->has_times) return {};
  std::vector<uint32_t> shown;
  for (const Outlier& outlier : report_->outliers) shown.push_back(outlier.number);
  Result<std::map<uint32_t, DataWaits>> waits = SumDataWaits(opened_, report_->instances, shown);
  if (!waits) return Fail(waits.error());
  view.data_waits = *std::move(waits);
  return {};
}

Status SpikesJob::Run(Output& output) {
  opened_.AddKnownLosses();
  // For the times, the instances, and the first branches of those that are shown.
  constexpr uint64_t kPasses = 3;
  const WorkProgress progress = opened_.ShowProgress("spikes", kPasses * opened_.trace_bytes());
  flows_ = FlowsOf(opened_.threads().owners());
  sources_.emplace(opened_.TimelineInput());
  kept_.emplace(*sources_, flows_, words_.Region(), opened_.CacheFor(CachedResult::kTimeline));
  if (words_.automatic)
    if (Status status = ChooseLoop(); !status) return status;
  if (!words_.region.empty())
    regions_.emplace(sources_->functions, names_.symbolizer,
                     [this](const std::string& name) { return pattern_->Matches(name); });
  if (Status status = FindReport(); !status) return status;
  for (const LossSum& sum : report_->losses)
    opened_.losses().Add(
        {.cause = sum.cause, .end = sum.bytes, .detail = {}, .code = sum.code, .count = sum.count});
  if (FoundNone()) return Fail(NoInstance());
  WarnOfUnnamedRegions();
  SpikesView view = View();
  if (Status status = FindDataWaits(view); !status) return status;
  FindWriter<SpikesWriter>(words_.Format())->write(view, output);
  return SaveInstances(view);
}

Status SpikesJob::FindReport() {
  const auto times = [this]() -> Result<TimeAccounts> {
    auto known =
        LoadTimes(opened_.recording(), opened_.inputs(), opened_.CacheFor(CachedResult::kLasting));
    if (known && known->losses.empty()) return std::move(known->accounts);
    return AccountTimes(*sources_);
  };
  options_ = Options();
  Result<SpikeReport> report = FindSpikes(*sources_, flows_, options_, times, &*kept_);
  if (!report) return Fail(report.error());
  report_ = *std::move(report);
  return {};
}

// A region that never ran is not kept: a later command could not say which functions its name may
// have meant.
void SpikesJob::Keep() const {
  if (report_ && !FoundNone())
    KeepLastSpikes(opened_.recording(), opened_.CacheFor(CachedResult::kIndex),
                   LastSpikesOf(*report_, flows_, Region()));
  if (!report_ || report_->instances.empty() || !opened_.MayKeepResults()) return;
  if (words_.automatic && !loops_were_kept_) kept_->KeepLoops(loops_);
  kept_->Keep(options_, *report_);
}

Status SpikesJob::SaveInstances(const SpikesView& view) const {
  if (words_.save_instances.empty()) return {};
  Result<Output> file = opened_.OpenOutput(words_.save_instances);
  if (!file) return Fail(file.error());
  FindWriter<SpikesWriter>("csv")->write(view, *file);
  return file->Finish();
}

// What regions the flow has instead.
std::string WhichRegions(const ProgramRegions& regions) {
  constexpr size_t kMostNames = 8;
  if (regions.counts().empty()) return ": the flow has no call of flowback_region_begin";
  std::string text = "; these were: ";
  size_t names = 0;
  for (const auto& [name, count] : regions.counts()) {
    if (names == kMostNames) return text + ", ...";
    text += fmt::format("{}{} ({})", names++ == 0 ? "" : ", ",
                        name.empty() ? "some whose names the code does not contain" : name, count);
  }
  return text;
}

void SpikesJob::WarnOfUnnamedRegions() const {
  const uint64_t unnamed = report_->unnamed_regions;
  if (unnamed == 0) return;
  Warn(fmt::format("{}: {} left out: the code does not contain the name, which is made when the "
                   "program runs",
                   opened_.InputName(),
                   unnamed == 1 ? "1 region is" : fmt::format("{} regions are", unnamed)),
       {"names that are literals in the call"});
}

// Where the function's code is in others.
std::optional<Error> SpikesJob::IsInlined() {
  constexpr size_t kMost = 5;
  if (!pattern_->is_plain()) return {};
  const Result<InlinedCalls> found = FindInlinedCalls(
      *sources_, flows_,
      {.threads = words_.reader.ThreadCount(), .in_flight = words_.reader.in_flight}, *pattern_,
      names_.lines);
  if (!found || found->callers.empty()) return {};
  std::string callers;
  for (size_t i = 0; i < std::min(kMost, found->callers.size()); ++i)
    callers += fmt::format("{}{}", i == 0 ? "" : ", ", Printable(found->callers[i]));
  if (found->callers.size() > kMost) callers += ", ...";
  const std::string file = Printable(found->file.substr(found->file.rfind('/') + 1));
  return Error(ErrorCode::kUsage,
               fmt::format("{}: {}: no instruction calls it: the compiler put its code into {}",
                           opened_.InputName(), words_.function, callers))
      .Remedy(fmt::format("`flowback spikes {} '{}'`, or --start {}:{} --stop {}:{}",
                          opened_.InputName(), Printable(found->callers.front()), file,
                          found->first_line, file, found->last_line));
}

// From one place the flow may never have come to the other. Where trace is lost nobody knows.
bool SpikesJob::FoundNone() const {
  const std::vector<Instance>& instances = report_->instances;
  if (words_.automatic) return false;
  if (!places_ || words_.across_threads) return instances.empty();
  return std::ranges::none_of(instances, [](const Instance& instance) {
    return instance.state == InstanceState::kWhole || instance.lost_bytes != 0;
  });
}

Error SpikesJob::NoInstance() {
  if (regions_)
    return Error(ErrorCode::kUsage, fmt::format("{}: {} was never begun{}", opened_.InputName(),
                                                Region(), WhichRegions(*regions_)))
        .Remedy(
            "the names that `flowback info` lists; regions are found in programs that have "
            "their symbols and call flowback_region_begin");
  if (!pattern_)
    return Error(ErrorCode::kUsage,
                 fmt::format("{}: {}: the flow {}", opened_.InputName(), Region(),
                             report_->instances.empty()
                                 ? "never came from the one to the other"
                                 : "came to the first place, but never to the second"))
        .Remedy(
            "places that run: functions as `timeline` prints them, FILE:LINE as `decode -F "
            "srcline` does");
  if (auto inlined = IsInlined()) return *std::move(inlined);
  return Error(ErrorCode::kUsage,
               fmt::format("{}: {}: no such function was called{}{}", opened_.InputName(),
                           words_.function, InFoundFiles(opened_.losses()),
                           WhyNoFunction(*pattern_, names_.symbolizer)))
      .Remedy(
          "its name as `timeline` prints it, a pattern ('str*') or a regular expression "
          "('/^str/'); where the compiler put it into its callers, one of these, or --start "
          "FILE:LINE --stop FILE:LINE");
}

void AddSpikesOptions(CLI::App& app, SpikesWords& words, ReaderWords&) {
  app.add_option(
      "FUNC,--function", words.function,
      "Function whose calls are compared: any of its names, a pattern (str*) or /an expression/");
  CLI::Option* const start = app.add_option(
      "--start", words.start,
      "Compare runs from this place (a function's entry, FILE:LINE or 0xADDRESS) ...");
  CLI::Option* const stop = app.add_option("--stop", words.stop, "... up to this place");
  start->needs(stop);
  stop->needs(start);
  app.add_flag("--across-threads", words.across_threads,
               "Let an instance begin in one thread and stop in another. The program marks both "
               "ends with one value, which it writes with PTWRITE behind each place")
      ->needs(start);
  app.add_option(
      "--region", words.region,
      "Compare runs of a region that the program names (`flowback help self`); a name or a "
      "pattern");
  app.add_flag("--auto", words.automatic,
               "Compare calls of the function that looks most like a request handler: one that an "
               "outermost loop calls again and again")
      ->excludes(start);
  app.add_option("--by", words.by,
                 "Measure of slowness: time, instructions, off-cpu, kernel or cycles. Default: "
                 "time; of emulated recordings, instructions")
      ->check(CLI::IsMember({"time", "instructions", "off-cpu", "kernel", "cycles"}));
  app.add_option("--over", words.over,
                 "Call an instance slow over this limit: a time (5ms), a number of instructions "
                 "(50000), a percentile (p99) or a multiple of the median (3x). Default: a gap in "
                 "the distribution");
  app.add_option("--min-duration", words.min_duration,
                 "Do not count shorter instances as slow, e.g. 100us");
  app.add_option("--top", words.top,
                 "Number of slowest instances to explain one by one (default 5)");
  app.add_option("--save-instances", words.save_instances, "Write every instance to a CSV file");
  app.add_option(
      "--html", words.html,
      "Write a page to explore instead of the text, as one HTML file that needs nothing else");
  app.footer("`flowback help output spikes` describes the text and the JSON.");
}

// One word alone that names no file is the function, of perf.data.
void UnderstandOneWord(SpikesWords& words) {
  std::error_code ignored;
  if (!words.function.empty() || words.names_otherwise()) return;
  if (std::filesystem::exists(words.reader.open.input, ignored)) return;
  words.function = std::exchange(words.reader.open.input, "perf.data");
}

Status UnderstandSpikes(const CLI::App& app, SpikesWords& words) {
  if (app.count("INPUT") != 0) UnderstandOneWord(words);
  const bool names_none = words.function.empty();
  if (names_none == !words.names_otherwise() || (words.has_places() && !words.region.empty()) ||
      (words.automatic && !words.region.empty()))
    return Fail(Error(ErrorCode::kUsage, names_none && !words.names_otherwise()
                                             ? "which calls are to be compared?"
                                             : "a function, --start, --region and --auto exclude "
                                               "each other")
                    .Remedy("`flowback spikes RECORDING FUNC`, --start A --stop B, --region NAME, "
                            "or --auto; `timeline` lists the functions"));
  if (!words.over.empty()) {
    Result<SlowLimit> limit = SlowLimit::Parse(words.over);
    if (!limit) return Fail(limit.error());
    words.limit = *limit;
  }
  if (!words.save_instances.empty())
    if (Status status = CheckDiffer(words.Page(), {"--save-instances", words.save_instances});
        !status)
      return status;
  if (words.min_duration.empty()) return {};
  const Result<SlowLimit> least = SlowLimit::Parse(words.min_duration);
  if (!least || least->kind != SlowLimit::Kind::kValue)
    return Fail(Error(ErrorCode::kUsage,
                      fmt::format("--min-duration: can't understand '{}'", words.min_duration))
                    .Remedy("--min-duration 100us"));
  words.least_time = least->value;
  return {};
}

}  // namespace

int RunSpikes(const Arguments& arguments) {
  return ExecuteReading<SpikesWords>(
      arguments, {.name = "spikes",
                  .summary = "Explains why the slow calls of a function were slow.",
                  .add_options = AddSpikesOptions,
                  .complete = CompleteRecorded,
                  .understand = UnderstandSpikes,
                  .run = [](const SpikesWords& words) {
                    return RunReadingJob<SpikesJob>(words.reader, words);
                  }});
}

}  // namespace flowback::cli
