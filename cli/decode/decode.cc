// SPDX-License-Identifier: MIT
// `flowback decode`: the flow as text or JSON lines.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/decode/decode_kinds.h"
#include "cli/decode/decode_options.h"
#include "cli/decode/listings.h"
#include "cli/decode/print_shares.h"
#include "cli/help/completion.h"
#include "cli/listing/flow_printer.h"
#include "cli/listing/function_filter.h"
#include "cli/listing/listing.h"
#include "cli/listing/merged_listing.h"
#include "cli/reading/image_report.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/reading/stream_report.h"
#include "cli/reading/time_words.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"
#include "flowback/replay/functions.h"
#include "flowback/replay/player.h"
#include "replay/flow/flow_in_span.h"
#include "replay/flow/kept_sums.h"
#include "replay/flow/stream_sums.h"
#include "replay/threads/thread_lives.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

// One run of the command.
class DecodeJob final : public ReadingJob {
 public:
  DecodeJob(const DecodeOptions& options, const Kind& kind, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options), kind_(kind) {}

 private:
  Status Prepare() override;
  Status Run(Output& output) override;
  bool MeetsAllLosses() const override { return true; }
  void Keep() const override;
  void TellHow() const override;
  Status JudgeResult() override;

  // Steps of Prepare.
  Status ChooseColumns();
  Status OpenTrace();
  Status UnderstandTimes();
  Status ConnectPrinters();
  Status OpenCode() { return ShowsPackets() ? Status() : opened_.OpenCode(); }
  Status PrepareInputs();
  Status ChooseThreads();
  Status WarnOfThreads();

  // Kinds of Run.
  Status ListPackets(Output& output);
  Status List(Output& output);
  Status ListByTime(Output& output);
  Status Sum(Output& output);

  void CountBytes();
  void WarnOfSamples() const;
  StreamSums::Check AccountCheck() const;
  FlowSource Flow();
  Player NewPlayer(unsigned threads);
  IndexCache UsableIndex() const;
  bool ShowsPackets() const { return kind_.name == "packets"; }
  bool ShowsAll() const { return settings_.times.all; }

  const DecodeOptions& options_;
  const Kind& kind_;
  std::optional<ThreadLives> lives_;
  std::optional<FlowInSpan> in_span_;  // --time's
  std::optional<KeptSums> kept_;       // what sums are made of
  PrintSettings settings_;
  std::atomic<bool> function_ran_ = false;
};

Status DecodeJob::Prepare() {
  if (Status status = CheckByTime(kind_, options_.by_time); !status) return status;
  using Step = Status (DecodeJob::*)();
  for (const Step step :
       {&DecodeJob::ChooseColumns, &DecodeJob::OpenTrace, &DecodeJob::UnderstandTimes,
        &DecodeJob::ConnectPrinters, &DecodeJob::OpenCode, &DecodeJob::PrepareInputs,
        &DecodeJob::ChooseThreads, &DecodeJob::WarnOfThreads})
    if (Status status = (this->*step)(); !status) return status;
  return {};
}

Status DecodeJob::ChooseColumns() {
  Result<Fields> fields = FieldsFor(kind_, options_.fields, options_.by_time);
  if (!fields) return Fail(fields.error());
  settings_.layout = {.fields = *fields,
                      .usual = HasUsualLayout(kind_, options_.fields, *fields),
                      .json = options_.reader.json,
                      .not_taken = options_.not_taken};
  return {};
}

Status DecodeJob::OpenTrace() {
  if (Status status = opened_.OpenTrace(); !status || kind_.name != "calls") return status;
  return CheckNoSamples(opened_.recording(), opened_.source(), "the calls");
}

Status DecodeJob::UnderstandTimes() {
  const std::string& words = options_.reader.time;
  Result<TimeSpan> span = ParseTimeSpan(words, opened_.recording(), opened_.clock());
  if (!span) return Fail(span.error());
  settings_.times = {.span = *span, .all = words.empty()};
  // Events lie outside of the trace, too.
  if (kind_.name != "events")
    if (Status status = CheckSpan(opened_.recording(), opened_.clock(), *span, options_.reader);
        !status)
      return status;
  return options_.time_of_day ? ShowTimeOfDay(opened_.clock()) : Status();
}

Status DecodeJob::ConnectPrinters() {
  Connect(settings_, opened_, names_);
  if (kind_.name == "calls") settings_.trace.lives = &lives_.emplace(opened_.recording());
  settings_.calls = options_.calls;
  settings_.calls.function_ran = &function_ran_;
  return {};
}

Status DecodeJob::PrepareInputs() {
  if (ShowsPackets()) return {};
  opened_.PrepareStreams(settings_.layout.fields.Has(Field::kTime) || !ShowsAll() ||
                         options_.by_time);
  if (ShowsAll()) return {};
  const SpanNeeds needs{settings_.times.span, kind_.wants_context};
  in_span_.emplace(opened_.Flow(), needs, opened_.clock());
  in_span_->SkipRest(opened_.inputs(), opened_.recording());
  return {};
}

// For packets, and with --by-cpu, streams are shown as they were written.
Status DecodeJob::ChooseThreads() {
  if (!options_.by_cpu && !ShowsPackets()) return opened_.ChooseThreads();
  if (options_.by_cpu) opened_.threads().LabelByCpu();
  const ThreadSelection& wanted = options_.reader.selection;
  Status status = Select(options_.reader, opened_.threads());
  if (status || !options_.by_cpu || (wanted.tids.empty() && wanted.names.empty())) return status;
  return Fail(Error(ErrorCode::kUsage,
                    "--by-cpu shows the CPUs' streams, whichever threads ran there: --tid and "
                    "--comm do not combine with it")
                  .Remedy("leave --by-cpu out, or choose CPUs with --cpu-list"));
}

Status DecodeJob::WarnOfThreads() {
  const Threads& threads = opened_.threads();
  // Packets are shown as they were written, by buffer; their threads are not needed.
  if (!options_.by_cpu && !ShowsPackets())
    WarnOfSharedStreams(opened_.recording(), threads, opened_.InputName());
  settings_.layout.thread_headers = !settings_.layout.usual && !options_.by_time &&
                                    kind_.name != "instructions" && threads.owners().size() > 1;
  return {};
}

void DecodeJob::CountBytes() {
  if (!options_.by_cpu && !ShowsPackets()) return opened_.AddKnownLosses();
  opened_.AddRecordedLosses();
  opened_.losses().AddStreamBytes(opened_.SelectedBytes());
}

Status DecodeJob::Run(Output& output) {
  const WorkProgress progress = opened_.ShowProgress("decode", opened_.SelectedBytes());
  PrintListingHeader(output, settings_, kind_.name, settings_.layout.fields.Has(Field::kTime));
  CountBytes();
  if (ShowsPackets()) return ListPackets(output);
  if (kind_.make_printer == nullptr) return Sum(output);
  return options_.by_time ? ListByTime(output) : List(output);
}

Status DecodeJob::ListPackets(Output& output) {
  for (const StreamOwner& owner : opened_.threads().owners()) {
    PrintPackets(owner, settings_,
                 {.threads = options_.reader.ThreadCount(), .in_flight = options_.reader.in_flight},
                 output);
    if (output.closed()) break;
  }
  return {};
}

Status DecodeJob::List(Output& output) {
  const std::vector<StreamOwner>& owners = opened_.threads().owners();
  // Handing block after block to a printer elsewhere costs more than one that takes many at once.
  const bool prints_here =
      kind_.order == WorkOrder::kOneByOne && kind_.make_printer(settings_)->TakesBatches();
  const unsigned threads = options_.reader.ThreadCount();
  const ListingPlan plan{.make_printer = kind_.make_printer,
                         .order = kind_.order,
                         .threads = prints_here ? 1 : threads,
                         .in_flight = options_.reader.in_flight};
  // Printing takes most of the work, and has threads of its own: of many, some decode.
  Player player = NewPlayer(prints_here ? threads : std::max(1U, threads / 2));
  const std::unique_ptr<Listing> listing = MakeListing(plan, owners, settings_, output);
  const std::vector<const ThreadFlow*> flows = FlowsOf(owners);
  Status status = player.Play(flows, *listing);
  if (!listing->Done()) listing->Finish();
  return status;
}

Player DecodeJob::NewPlayer(unsigned threads) {
  PlayOptions options{.threads = threads, .check = AccountCheck()};
  return Player(Flow(), std::move(options));
}

// The bytes of a stream add up if all of it is decoded.
StreamSums::Check DecodeJob::AccountCheck() const {
  if (!ShowsAll()) return {};
  return flowback::AccountCheck(opened_.source().Unit());
}

FlowSource DecodeJob::Flow() {
  FlowSource flow = in_span_ ? in_span_->Source() : opened_.Flow();
  // A listing of calls shows everything that a chosen function calls, and chooses by itself.
  if (!options_.calls.function || kind_.name == "calls") return flow;
  flow.make_decoder = [this, make_decoder = std::move(flow.make_decoder)] {
    Result<std::unique_ptr<Decoder>> decoder = make_decoder();
    if (decoder)
      decoder = MakeFunctionDecoder(*std::move(decoder),
                                    FunctionMatch(*options_.calls.function, names_.symbolizer),
                                    function_ran_);
    return decoder;
  };
  return flow;
}

Status DecodeJob::ListByTime(Output& output) {
  const MergePlan plan{.make_printer = kind_.make_printer,
                       .flow = Flow(),
                       .looks_back = kind_.looks_back,
                       .threads = options_.reader.ThreadCount(),
                       .open = options_.reader.in_flight};
  return cli::ListByTime(plan, opened_.threads().owners(), settings_, output);
}

// Results for a part of the streams are not cached.
IndexCache DecodeJob::UsableIndex() const {
  return ShowsAll() ? opened_.CacheFor(CachedResult::kSums) : IndexCache();
}

Status DecodeJob::Sum(Output& output) {
  StreamSums sums(opened_.recording(), opened_.inputs(), opened_.threads().owners(),
                  AccountCheck());
  std::optional<ShareCounter> shares;
  if (options_.shares)
    shares.emplace(*options_.shares, ShareNames{.symbolizer = names_.symbolizer,
                                                .lines = names_.lines,
                                                .functions = names_.functions,
                                                .recorded_path = settings_.names.recorded_path});
  Result<std::unique_ptr<Decoder>> decoder = Flow().make_decoder();
  if (!decoder) return Fail(decoder.error());
  kept_.emplace(opened_.recording(), opened_.inputs(), UsableIndex());
  const Status status = sums.Add(**decoder, *kept_, shares ? &*shares : nullptr);
  if (!status && !shares) return status;
  const std::vector<StreamTotals> totals = sums.Take();
  for (const StreamTotals& each : totals) {
    for (const DataLoss& loss : each.summary.losses) opened_.losses().Add(loss);
    if (kind_.name == "digest") PrintDigest(each, settings_.layout.json, output);
  }
  if (shares)
    PrintShares(*options_.shares, shares->Take(), settings_.layout.json, output);
  else if (kind_.name == "summary")
    PrintSummary(totals, settings_, output);
  return status;
}

// Listings print a line about samples; sums cannot, so this warns.
void DecodeJob::WarnOfSamples() const {
  if (!opened_.source().samples() || kind_.make_printer != nullptr || ShowsPackets()) return;
  Warn(
      fmt::format("{}: holds {}, which are samples: the sums are of what was sampled, not of all "
                  "that executed",
                  opened_.InputName(), opened_.source().Name()));
}

// An empty listing looks the same whether nothing ran or the wrong thing was asked for.
Status DecodeJob::JudgeResult() {
  WarnOfSamples();
  // Packets are not decoded, so nothing could find them in the span.
  if (!ShowsAll() && !(in_span_ && in_span_->found_any()))
    return (ShowsPackets() ? CheckSpan : JudgeEmptySpan)(opened_.recording(), opened_.clock(),
                                                         settings_.times.span, options_.reader);
  if (!options_.calls.function || function_ran_) return {};
  const bool is_part = !ShowsAll() || !opened_.options().selection.IsAll();
  const std::string none =
      fmt::format("{}: --function {}: no such function {}", opened_.InputName(), options_.function,
                  kind_.name == "calls" ? "was called" : "ran");
  return JudgeNoFunction(none, is_part, *options_.calls.function, names_.symbolizer,
                         "its name as `--as calls` prints it without --function, a pattern "
                         "('str*'), or /a regular expression/");
}

void DecodeJob::Keep() const {
  if (kept_ && opened_.MayKeepResults()) kept_->Keep();
}

void DecodeJob::TellHow() const {
  if (opened_.has_code()) TellImages(opened_.code().images());
}

int ReadAndDecode(const DecodeOptions& options) {
  const Result<const Kind*> kind = FindKind(options.kind);
  if (!kind) return Report(kind.error());
  return RunReadingJob<DecodeJob>(options.reader, options, **kind);
}

}  // namespace

int RunDecode(const Arguments& arguments) {
  return ExecuteReading<DecodeOptions>(
      arguments, {.name = "decode",
                  .summary = "Prints what executed.",
                  .add_options = [](CLI::App& app, DecodeOptions& options,
                                    ReaderWords&) { AddDecodeOptions(app, options); },
                  .complete = CompleteRecorded,
                  .understand = [](const CLI::App&,
                                   DecodeOptions& options) { return UnderstandSelection(options); },
                  .run = ReadAndDecode});
}

}  // namespace flowback::cli
