// SPDX-License-Identifier: MIT
// `flowback timeline`: what ran when.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/help/completion.h"
#include "cli/listing/function_filter.h"
#include "cli/reading/losses.h"
#include "cli/reading/moment_words.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/reading/spike_moment.h"
#include "cli/reading/stream_report.h"
#include "cli/reading/time_words.h"
#include "cli/text/status.h"
#include "cli/text/terminal.h"
#include "cli/text/terminal_session.h"
#include "cli/timeline/instructions_around.h"
#include "cli/timeline/lines_job.h"
#include "cli/timeline/shown_waits.h"
#include "cli/timeline/timeline_options.h"
#include "flowback/replay/functions.h"
#include "replay/samples/sample_timeline.h"
#include "replay/timeline/kept_timeline.h"
#include "replay/timeline/kept_times.h"
#include "replay/timeline/overview.h"
#include "replay/timeline/thread_times.h"
#include "replay/writers/timeline/overview_view.h"
#include "replay/writers/timeline/samples_view.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/writers.h"

namespace flowback::cli {
namespace {

constexpr size_t kPictureColumns = 1000;
constexpr size_t kNarrowest = 40;

// `option` asks for whole flow; empty: no such option was given. Errors: kUsage.
Status CheckOfSamples(const std::string& input, const std::string& option) {
  if (option.empty()) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("{}: these are samples, between which nothing is known: {} needs "
                                "whole flow and does not apply",
                                input, option))
                  .Remedy(fmt::format("`timeline` without {}; for whole flow record with "
                                      "`flowback record -- CMD`",
                                      option)));
}

// One run of the command.
class TimelineJob final : public ReadingJob {
 public:
  TimelineJob(const TimelineWords& words, Recording recording)
      : ReadingJob(words.reader, std::move(recording)), words_(words) {}

 private:
  Status Prepare() override;
  std::string OutputPath() const override { return words_.svg.empty() ? words_.html : words_.svg; }
  Status Run(Output& output) override;
  bool MeetsAllLosses() const override { return !at_; }
  void Keep() const override;

  bool IsSampled() const { return opened_.source().samples(); }
  Status OpenCode();
  Status UnderstandTimes();
  Status UnderstandAt();
  Status UnderstandFunction();
  uint64_t WorkBytes() const;
  Status JudgeCalls();
  bool IsOfSpike(const IndexedThread& thread) const;
  Status ShowAround(Output& output);
  Status ShowOverview(Output& output);
  Status ShowSamples(Output& output);
  Status ShowTimeline(Output& output);
  void MakeSources();
  void AddLosses(const std::vector<LossSum>& losses);
  size_t Columns() const;
  void TellOfOverview() const;
  Status FindTimeline(const TimelineOptions& options);
  Status LearnTimes();
  TimelineOptions Options(size_t columns);
  TimelineView View(const Timeline& timeline, size_t columns);
  TimelineSort Sort() const;
  size_t Width() const {
    constexpr size_t kInFiles = 120;
    return WritesToTerminal() ? TerminalWidth(STDOUT_FILENO, kInFiles) : kInFiles;
  }
  bool WritesToTerminal() const { return words_.reader.output.empty() && !words_.IsPicture(); }

  const TimelineWords& words_;
  std::optional<FunctionMatch> match_;
  std::optional<NamePattern> pattern_;
  TimeSpan span_;
  std::optional<uint64_t> at_;
  std::optional<NamedSpike> spike_;      // that --at names
  std::optional<uint64_t> instruction_;  // set by --at '#N' or spike:N
  std::vector<const ThreadFlow*> flows_;
  std::optional<TimelineSources> sources_;
  std::optional<KeptTimeline> kept_;
  std::optional<Timeline> timeline_;
  std::optional<TimeAccounts> times_;
  ShownWaits waits_;
  bool was_kept_ = false;
  uint64_t calls_ = 0;  // of the function that was asked for
};

Status TimelineJob::Prepare() {
  if (Status status = opened_.OpenTrace(); !status) return status;
  opened_.KeepIndexes();
  if (IsSampled())
    if (Status status = CheckOfSamples(opened_.InputName(), words_.of_whole_flow); !status)
      return status;
  if (Status status = UnderstandTimes(); !status) return status;
  if (Status status = UnderstandFunction(); !status) return status;
  if (Status status = OpenCode(); !status) return status;
  opened_.PrepareStreams(true);
  if (Status status = opened_.ChooseThreads(); !status) return status;
  WarnOfSharedStreams(opened_.recording(), opened_.threads(), opened_.InputName());
  return UnderstandAt();
}

// Samples are there also where their records are of no kind that an engine decodes.
Status TimelineJob::OpenCode() {
  const bool needs_engine = !IsSampled() || words_.reader.engine != "native";
  return needs_engine ? opened_.OpenCode() : opened_.LoadCode();
}

Status TimelineJob::UnderstandTimes() {
  Result<TimeSpan> span = ParseTimeSpan(words_.reader.time, opened_.recording(), opened_.clock());
  if (!span) return Fail(span.error());
  span_ = *span;
  if (words_.reader.time.empty() || IsSampled()) return {};
  return CheckSpan(opened_.recording(), opened_.clock(), span_, words_.reader);
}

// Which instances have a number, is known by the code and the chosen threads.
Status TimelineJob::UnderstandAt() {
  if (words_.at.empty()) return {};
  if (NamesSpike(words_.at)) {
    Result<NamedSpike> spike = FindSpike("--at", words_.at, opened_);
    if (!spike) return Fail(spike.error());
    spike_ = *std::move(spike);
    at_ = spike_->instance.begin.time;
    instruction_ = spike_->instance.first_instruction;
    return {};
  }
  const auto moment = ParseMoment("--at", words_.at, opened_.recording(), opened_.clock());
  if (!moment) return Fail(moment.error());
  if (moment->kind == NamedMoment::Kind::kInstruction) {
    instruction_ = moment->value;
    at_ = 0;
    return {};
  }
  const Result<uint64_t> at = TimeOf(*moment, "--at", opened_.recording(), opened_.clock());
  if (!at) return Fail(at.error());
  at_ = *at;
  return {};
}

Status TimelineJob::UnderstandFunction() {
  if (words_.function.empty()) return {};
  Result<NamePattern> pattern = NamePattern::Parse(words_.function);
  if (!pattern) return Fail(pattern.error());
  pattern_ = *pattern;
  match_.emplace(*std::move(pattern), names_.symbolizer);
  return {};
}

Status TimelineJob::Run(Output& output) {
  opened_.AddKnownLosses();
  const WorkProgress progress = opened_.ShowProgress("timeline", WorkBytes());
  if (at_) return ShowAround(output);
  MakeSources();
  if (IsSampled()) return ShowSamples(output);
  return words_.overview ? ShowOverview(output) : ShowTimeline(output);
}

// That go by: once for an index or samples, twice for calls, as their times must be known first,
// and once more for waits.
uint64_t TimelineJob::WorkBytes() const {
  const uint64_t bytes = opened_.trace_bytes();
  if (at_ || words_.overview || IsSampled()) return bytes;
  return words_.waits ? 3 * bytes : 2 * bytes;
}

void TimelineJob::MakeSources() {
  flows_ = FlowsOf(opened_.threads().owners());
  sources_.emplace(opened_.TimelineInput());
}

bool TimelineJob::IsOfSpike(const IndexedThread& thread) const {
  const SlowInstance& instance = spike_->instance;
  return thread.tid == instance.tid && thread.pid == instance.pid &&
         (thread.tid != -1 ||
          (!thread.shares.empty() && thread.shares.front().stream->index == instance.stream));
}

Status TimelineJob::ShowAround(Output& output) {
  Result<std::unique_ptr<Decoder>> decoder = opened_.NewDecoder();
  if (!decoder) return Fail(decoder.error());
  Result<TimedIndex> timed = OpenTimedIndex(opened_.recording(), opened_.code(), opened_.inputs(),
                                            **decoder, {}, opened_.CacheFor(CachedResult::kSums));
  if (!timed) return Fail(timed.error());
  FlowIndex* const index = &timed->index;
  std::set<int32_t> wanted;
  for (const StreamOwner& owner : opened_.threads().owners()) wanted.insert(owner.tid);
  std::vector<size_t> shown;
  for (size_t i = 0; i < index->threads().size(); ++i)
    if (spike_ ? IsOfSpike(index->threads()[i]) : wanted.contains(index->threads()[i].tid))
      shown.push_back(i);
  PrintSettings settings;
  settings.layout = LayoutAround(words_.reader.json);
  Connect(settings, opened_, names_);
  const AroundPlan plan{.time = *at_,
                        .around = words_.around,
                        .json = words_.reader.json,
                        .input = words_.reader.InputName(),
                        .instruction = instruction_,
                        .spike = spike_ ? &*spike_ : nullptr};
  if (PrintInstructionsAround(plan, *index, shown, settings, output) != 0) return {};
  if (instruction_)
    return Fail(Error(ErrorCode::kUsage, fmt::format("{}: --at {}: no thread has that many "
                                                     "instructions",
                                                     plan.input, words_.at))
                    .Remedy("`decode --as summary` counts each thread's"));
  Warn(fmt::format("{}: --at {}: no chosen thread ran at that time", plan.input, words_.at),
       {"`flowback timeline` shows when which thread ran"});
  return {};
}

TimelineOptions TimelineJob::Options(size_t columns) {
  TimelineOptions options{.threads = words_.reader.ThreadCount(),
                          .in_flight = words_.reader.in_flight,
                          .span = span_,
                          .columns = columns};
  options.by_instructions = Sort() != TimelineSort::kTime && Sort() != TimelineSort::kTotal;
  if (match_)
    options.focus = [this](const AddressSpace* space, uint64_t ip) { return (*match_)(space, ip); };
  // Single calls are drawn only.
  if (!words_.IsPicture()) options.most_calls = 0;
  if (!words_.IsPicture()) return options;
  options.most_strips = 256;
  options.most_calls = size_t{1} << 17;
  options.spans = true;
  return options;
}

// Under emulation time passes at the emulator's pace: code that is translated, or that waits for
// another thread's turn, looks slow. Instructions are the program's own.
TimelineSort TimelineJob::Sort() const {
  if (words_.sort == "instructions") return TimelineSort::kInstructions;
  if (words_.sort == "calls") return TimelineSort::kCalls;
  if (words_.sort == "total") return TimelineSort::kTotal;
  const bool by_time = words_.sort == "time" || IsSampled() || !opened_.clock().emulated();
  return by_time ? TimelineSort::kTime : TimelineSort::kInstructions;
}

TimelineView TimelineJob::View(const Timeline& timeline, size_t columns) {
  TimelineView view = TimelineView::Of(opened_, timeline, columns);
  view.function = words_.function;
  view.rows = words_.top;
  view.sort = Sort();
  view.max_depth = words_.depth;
  view.width = Width();
  view.width = std::max(view.width, kNarrowest);
  view.color = WritesToTerminal() && HasColor(STDOUT_FILENO);
  view.is_part = view.is_part || !words_.reader.time.empty() || match_;
  return view;
}

size_t TimelineJob::Columns() const {
  constexpr size_t kBesideStrips = 20;  // of a line: whose it is
  if (words_.IsPicture() || words_.reader.json) return kPictureColumns;
  return std::max(Width(), kNarrowest) - kBesideStrips;
}

void TimelineJob::AddLosses(const std::vector<LossSum>& losses) {
  for (const LossSum& sum : losses)
    opened_.losses().Add(
        {.cause = sum.cause, .end = sum.bytes, .detail = {}, .code = sum.code, .count = sum.count});
}

// An index that is too short to be kept serves this command alone: it may be as fine as is useful.
FlowIndex::Options OverviewIndex(const OpenedRecording& opened) {
  constexpr uint64_t kSegments = 2048;
  constexpr uint64_t kLeast = 512;
  if (opened.HasLongTrace()) return {};
  const uint64_t bytes = opened.trace_bytes();
  return {.segment_bytes = std::clamp(bytes / kSegments, kLeast, FlowIndex::kSegmentBytes),
          .sample = 1};
}

Status TimelineJob::ShowOverview(Output& output) {
  Result<std::unique_ptr<Decoder>> decoder = opened_.NewDecoder();
  if (!decoder) return Fail(decoder.error());
  const FlowIndex::Options how = OverviewIndex(opened_);
  const IndexCache cache = opened_.CacheFor(CachedResult::kLasting);
  Result<TimedIndex> timed =
      OpenTimedIndex(opened_.recording(), opened_.code(), opened_.inputs(), **decoder, how, cache);
  if (!timed) return Fail(timed.error());
  if (!timed->times) {
    Result<FlowTimes> times = FindTimes(opened_.recording(), opened_.inputs(), **decoder, cache);
    if (!times) return Fail(times.error());
    timed->times = *std::move(times);
  }
  const size_t columns = Columns();
  Overview overview =
      MakeOverview(*sources_, timed->index, *timed->times, flows_, Options(columns));
  overview.sample = how.sample;
  AddLosses(overview.timeline.losses);
  OverviewView view{View(overview.timeline, columns), overview};
  view.view.is_coarse = true;
  FindWriter<OverviewWriter>(words_.Format())->write(view, output);
  return {};
}

Status TimelineJob::ShowSamples(Output& output) {
  const size_t columns = Columns();
  Result<SampleTimeline> told = MakeSampleTimeline(*sources_, flows_, Options(columns));
  if (!told) return Fail(told.error());
  AddLosses(told->timeline.losses);
  SamplesView view{View(told->timeline, columns), *told, opened_.source().EmptySamples()};
  view.view.is_coarse = view.view.is_sampled = true;
  view.view.cpus.clear();  // between samples nobody knows
  FindWriter<SampleTimelineWriter>(words_.Format())->write(view, output);
  if (told->samples != 0 || words_.reader.time.empty()) return {};
  return JudgeEmptySpan(opened_.recording(), opened_.clock(), span_, words_.reader);
}

Status TimelineJob::ShowTimeline(Output& output) {
  const size_t columns = Columns();
  if (Status status = FindTimeline(Options(columns)); !status) return status;
  for (const CallPath& path : timeline_->paths) calls_ += path.sums.count;
  AddLosses(timeline_->losses);
  if (Status status = JudgeCalls(); !status) return status;
  TimelineView view = View(*timeline_, columns);
  if (words_.waits) {
    if (Status status = LearnTimes(); !status) return status;
    if (Status status = waits_.Find(opened_, *sources_, flows_, Options(columns), *times_); !status)
      return status;
    view.waits = &waits_.view();
  }
  FindWriter<TimelineWriter>(words_.Format())->write(view, output);
  return {};
}

// Where one waits for something long, a shorter way is worth a line.
void TimelineJob::TellOfOverview() const {
  constexpr uint64_t kLong = uint64_t{256} << 20;
  if (WorkBytes() < kLong || IsQuiet() || isatty(STDERR_FILENO) == 0) return;
  Warn("timeline: following every call takes a while; --overview shows sooner what ran when");
}

Status TimelineJob::FindTimeline(const TimelineOptions& options) {
  kept_.emplace(*sources_, flows_, options, words_.function,
                opened_.CacheFor(CachedResult::kTimeline));
  timeline_ = kept_->Load();
  was_kept_ = timeline_.has_value();
  if (was_kept_) return {};
  TellOfOverview();
  if (Status status = LearnTimes(); !status) return status;
  Result<Timeline> made = MakeTimeline(*sources_, flows_, options, *times_);
  if (!made) return Fail(made.error());
  timeline_ = *std::move(made);
  return {};
}

// Decoding may place a loss elsewhere than a kept result does: only flow without a loss is kept.
Status TimelineJob::LearnTimes() {
  if (times_) return {};
  auto known =
      LoadTimes(opened_.recording(), opened_.inputs(), opened_.CacheFor(CachedResult::kLasting));
  if (known && known->losses.empty()) {
    times_ = std::move(known->accounts);
    return {};
  }
  Result<TimeAccounts> times = AccountTimes(*sources_);
  if (!times) return Fail(times.error());
  times_ = *std::move(times);
  return {};
}

// Keeps the timeline for later commands, which decode nothing. It is not kept where they would have
// to print what only decoding tells: messages about code, or names similar to a function that was
// not called.
void TimelineJob::Keep() const {
  const bool told_all = opened_.MayKeepResults() && (!pattern_ || calls_ != 0);
  if (timeline_ && !was_kept_ && told_all) kept_->Keep(*timeline_);
}

Status TimelineJob::JudgeCalls() {
  if (!pattern_ || calls_ != 0) return {};
  const bool is_part = !words_.reader.time.empty() || !opened_.options().selection.IsAll();
  const std::string none =
      fmt::format("{}: --function {}: no such function was called{}", opened_.InputName(),
                  words_.function, InFoundFiles(opened_.losses()));
  return JudgeNoFunction(none, is_part, *pattern_, names_.symbolizer,
                         "its name as `timeline` prints it, or a pattern ('str*', '/^str/')");
}

}  // namespace

int RunTimeline(const Arguments& arguments) {
  return ExecuteReading<TimelineWords>(
      arguments, {.name = "timeline",
                  .summary = "Shows where the time went, by thread, function and call path.",
                  .add_options = AddTimelineOptions,
                  .complete = CompleteRecorded,
                  .understand = UnderstandTimeline,
                  .run = [](const TimelineWords& words) {
                    return words.by_line() ? RunReadingJob<LinesJob>(words.reader, words)
                                           : RunReadingJob<TimelineJob>(words.reader, words);
                  }});
}

}  // namespace flowback::cli
