// SPDX-License-Identifier: MIT
// `flowback decode`: the flow as text or JSON lines.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <optional>

#include "cli/command.h"
#include "cli/decode/decode_kinds.h"
#include "cli/decode/decode_options.h"
#include "cli/decode/flow_shares.h"
#include "cli/decode/function_filter.h"
#include "cli/decode/listings.h"
#include "cli/decode/stream_sums.h"
#include "cli/help/completion.h"
#include "cli/listing/flow_printer.h"
#include "cli/listing/listing.h"
#include "cli/listing/merged_listing.h"
#include "cli/options/arguments.h"
#include "cli/reading/cut_files.h"
#include "cli/reading/kept_index.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reader_output.h"
#include "cli/reading/stream_report.h"
#include "cli/reading/time_words.h"
#include "cli/text/json.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"
#include "flowback/replay/functions.h"
#include "flowback/replay/player.h"
#include "flowback/replay/span_decoder.h"
#include "replay/flow/kept_sums.h"
#include "replay/threads/thread_lives.h"

namespace flowback::cli {
namespace {

// One run of the command: what is opened, in the order in which each needs the ones before it.
class DecodeJob {
 public:
  DecodeJob(const DecodeOptions& options, const Kind& kind, Recording recording)
      : options_(options),
        kind_(kind),
        recording_(std::move(recording)),
        threads_(recording_),
        clock_(recording_),
        symbolizer_(options.reader.search, &recording_),
        functions_(symbolizer_),
        lines_(options.reader.search, &recording_) {}

  Status Prepare();
  Result<Output> OpenOutput() const {
    return cli::OpenOutput(options_.reader, recording_, code_ ? &*code_ : nullptr);
  }
  // Errors: what keeps decoding from going on; what came before it has been printed.
  Status Run(Output& output);
  int Finish(Output& output, const Status& status);
  // Whether all that has been read was there.
  Status CheckInputs() const { return CheckUncut(recording_, code_ ? &*code_ : nullptr); }

 private:
  // Steps of Prepare.
  Status ChooseColumns();
  Status OpenTrace();
  Status UnderstandTimes();
  Status ConnectPrinters();
  Status OpenCode();
  Status PrepareInputs();
  Status GroupThreads();
  Status SelectThreads();
  Status WarnOfThreads();

  // Kinds of Run.
  Status ListPackets(Output& output);
  Status List(Output& output);
  Status ListByTime(Output& output);
  Status Sum(Output& output);

  void CountBytes();
  void WarnOfNothingFound();
  void WarnOfSamples() const;
  void Keep() const;
  std::function<bool(const FlowPiece& piece)> PiecesInSpan() const;
  Player NewPlayer(unsigned threads);
  IndexCache UsableIndex() const;
  SpanNeeds NeedsOfSpan() const { return {settings_.times.span, kind_.wants_context}; }
  Result<std::unique_ptr<Decoder>> NewDecoder();
  uint64_t TraceBytes() const;
  bool ShowsPackets() const { return kind_.name == "packets"; }
  bool ShowsAll() const { return settings_.times.all; }
  std::string InputName() const { return options_.reader.InputName(); }

  const DecodeOptions& options_;
  const Kind& kind_;
  Recording recording_;
  Threads threads_;
  RecordingClock clock_;
  std::optional<ThreadLives> lives_;
  Symbolizer symbolizer_;
  SymbolFunctions functions_;
  SourceLines lines_;
  std::shared_ptr<const TraceSource> source_;
  std::optional<RecordingCode> code_;
  std::optional<StreamInputs> inputs_;
  std::optional<SpanRanges> in_span_;  // --time's
  std::optional<KeptSums> kept_;       // what sums are made of
  PrintSettings settings_;
  LossTally losses_;
  std::atomic<bool> found_in_span_ = false;
  std::atomic<bool> function_ran_ = false;
  std::atomic<uint64_t> bytes_done_ = 0;
};

Status DecodeJob::Prepare() {
  using Step = Status (DecodeJob::*)();
  for (const Step step :
       {&DecodeJob::ChooseColumns, &DecodeJob::OpenTrace, &DecodeJob::UnderstandTimes,
        &DecodeJob::ConnectPrinters, &DecodeJob::OpenCode, &DecodeJob::PrepareInputs,
        &DecodeJob::GroupThreads, &DecodeJob::SelectThreads, &DecodeJob::WarnOfThreads})
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
  if (Status status = CheckHasTrace(recording_); !status) return status;
  Result<std::shared_ptr<const TraceSource>> source = OpenSource(recording_);
  if (!source) return Fail(source.error());
  source_ = *std::move(source);
  if (kind_.name == "calls") return CheckNoSamples(recording_, *source_, "the calls");
  return {};
}

Status DecodeJob::UnderstandTimes() {
  const std::string& words = options_.reader.time;
  Result<TimeSpan> span = ParseTimeSpan(words, recording_, clock_);
  if (!span) return Fail(span.error());
  settings_.times = {.span = *span, .all = words.empty()};
  return options_.time_of_day ? ShowTimeOfDay(clock_) : Status();
}

Status DecodeJob::ConnectPrinters() {
  settings_.trace = {
      .recording = &recording_, .source = source_.get(), .threads = &threads_, .clock = &clock_};
  if (kind_.name == "calls") settings_.trace.lives = &lives_.emplace(recording_);
  settings_.names = {
      .symbolizer = &symbolizer_,
      .lines = &lines_,
      .functions = &functions_,
      .recorded_path = [this](const std::string& file) { return code_->RecordedPath(file); }};
  settings_.calls = options_.calls;
  settings_.calls.function_ran = &function_ran_;
  settings_.losses = &losses_;
  return {};
}

Status DecodeJob::OpenCode() {
  if (ShowsPackets()) return {};
  // An engine that is not there is told before files are looked for.
  if (const auto decoder = NewDecoder(); !decoder) return Fail(decoder.error());
  Result<RecordingCode> code = RecordingCode::Load(recording_, options_.reader.search);
  if (!code) return Fail(code.error());
  code_.emplace(std::move(*code));
  return {};
}

Status DecodeJob::PrepareInputs() {
  if (!code_) return {};
  inputs_.emplace(recording_, *code_, options_.reader.resync);
  inputs_->set_threads(options_.reader.threads, options_.reader.in_flight);
  inputs_->set_progress(bytes_done_);
  inputs_->set_times(settings_.layout.fields.Has(Field::kTime) || !ShowsAll() || options_.by_time);
  if (!ShowsAll()) in_span_.emplace(*inputs_, recording_, NeedsOfSpan(), clock_);
  return {};
}

Status DecodeJob::GroupThreads() {
  if (options_.by_cpu)
    threads_.LabelByCpu();
  else if (inputs_)
    threads_.GroupByThread(recording_, *inputs_);
  return {};
}

Status DecodeJob::SelectThreads() {
  const ThreadSelection& wanted = options_.reader.selection;
  Status status = Select(options_.reader, threads_);
  if (status || !options_.by_cpu || (wanted.tids.empty() && wanted.names.empty())) return status;
  return Fail(Error(ErrorCode::kUsage,
                    "--by-cpu shows the CPUs' streams, whichever threads ran there: --tid and "
                    "--comm do not combine with it")
                  .Remedy("leave --by-cpu out, or choose CPUs with --cpu-list"));
}

Status DecodeJob::WarnOfThreads() {
  // Packets are shown as they were written, by buffer; nobody asks for their threads.
  if (!options_.by_cpu && !ShowsPackets()) WarnOfSharedStreams(recording_, threads_, InputName());
  settings_.layout.thread_headers = !settings_.layout.usual && !options_.by_time &&
                                    kind_.name != "instructions" && threads_.owners().size() > 1;
  return {};
}

Result<std::unique_ptr<Decoder>> DecodeJob::NewDecoder() {
  Result<std::unique_ptr<Decoder>> decoder = source_->MakeDecoder(options_.reader.engine);
  if (!decoder) return decoder;
  if (!ShowsAll())
    decoder = MakeSpanDecoder(std::move(*decoder), NeedsOfSpan(), clock_, found_in_span_);
  // Of a call all is shown that it calls: its listing chooses for itself.
  if (options_.calls.function && kind_.name != "calls")
    decoder = MakeFunctionDecoder(
        std::move(*decoder), FunctionMatch(*options_.calls.function, symbolizer_), function_ran_);
  return decoder;
}

// Of all that is to be decoded.
uint64_t DecodeJob::TraceBytes() const {
  uint64_t bytes = 0;
  for (const StreamOwner& owner : threads_.owners())
    for (const FlowPiece& piece : owner.pieces) bytes += piece.end - piece.begin;
  return bytes;
}

void DecodeJob::CountBytes() {
  losses_.AddRecording(recording_);
  if (!options_.by_cpu && !ShowsPackets()) losses_.AddNobodys(threads_);
  for (const StreamOwner& owner : threads_.owners())
    for (const FlowPiece& piece : owner.pieces) losses_.AddStreamBytes(piece.end - piece.begin);
}

Status DecodeJob::Run(Output& output) {
  const WorkProgress progress("decode", TraceBytes(), bytes_done_);
  PrintListingHeader(output, settings_, kind_.name, settings_.layout.fields.Has(Field::kTime));
  CountBytes();
  if (ShowsPackets()) return ListPackets(output);
  if (kind_.make_printer == nullptr) return Sum(output);
  return options_.by_time ? ListByTime(output) : List(output);
}

Status DecodeJob::ListPackets(Output& output) {
  for (const StreamOwner& owner : threads_.owners()) {
    PrintPackets(owner, settings_,
                 {.threads = options_.reader.ThreadCount(), .in_flight = options_.reader.in_flight},
                 output);
    if (output.closed()) break;
  }
  return {};
}

Status DecodeJob::List(Output& output) {
  const std::vector<StreamOwner>& owners = threads_.owners();
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
  PlayOptions options{.threads = threads, .reaches = PiecesInSpan()};
  if (ShowsAll())
    options.check = [unit = source_->Unit()](const ByteAccount& account, const Stream& stream) {
      return CheckAccount(account, stream, unit);
    };
  return Player(*inputs_, [this] { return NewDecoder(); }, std::move(options));
}

// Empty: all.
std::function<bool(const FlowPiece& piece)> DecodeJob::PiecesInSpan() const {
  if (!in_span_) return {};
  return [this](const FlowPiece& piece) { return in_span_->Reaches(piece); };
}

Status DecodeJob::ListByTime(Output& output) {
  const MergePlan plan{.make_printer = kind_.make_printer,
                       .make_decoder = [this] { return NewDecoder(); },
                       .inputs = *inputs_,
                       .reaches = PiecesInSpan(),
                       .looks_back = kind_.looks_back,
                       .threads = options_.reader.ThreadCount(),
                       .open = options_.reader.in_flight};
  return cli::ListByTime(plan, threads_.owners(), settings_, output);
}

// Of a part of the streams nothing is kept.
IndexCache DecodeJob::UsableIndex() const {
  return ShowsAll() ? IndexCacheOf(options_.reader, recording_, *code_, *inputs_) : IndexCache();
}

Status DecodeJob::Sum(Output& output) {
  StreamSums sums(recording_, *inputs_, threads_.owners(), ShowsAll());
  std::optional<ShareCounter> shares;
  if (options_.shares) shares.emplace(*options_.shares, settings_);
  Result<std::unique_ptr<Decoder>> decoder = NewDecoder();
  if (!decoder) return Fail(decoder.error());
  kept_.emplace(recording_, *inputs_, UsableIndex());
  const Status status = sums.Add(**decoder, *kept_, shares ? &*shares : nullptr);
  if (!status && !shares) return status;
  const std::vector<StreamTotals> totals = sums.Take();
  for (const StreamTotals& each : totals) {
    for (const DataLoss& loss : each.summary.losses) losses_.Add(loss);
    if (kind_.name == "digest") PrintDigest(each, settings_.layout.json, output);
  }
  if (shares)
    PrintShares(*options_.shares, shares->Take(), settings_.layout.json, output);
  else if (kind_.name == "summary")
    PrintSummary(totals, settings_, output);
  return status;
}

// Their listings say so themselves; a sum has no place for it.
void DecodeJob::WarnOfSamples() const {
  if (!source_->samples() || kind_.make_printer != nullptr || ShowsPackets()) return;
  Warn(
      fmt::format("{}: holds {}, which are samples: the sums are of what was sampled, not of all "
                  "that executed",
                  InputName(), source_->Name()));
}

// An empty listing looks the same whether nothing ran or the wrong thing was asked for.
void DecodeJob::WarnOfNothingFound() {
  if (!ShowsAll() && !found_in_span_) {
    // Packets are not decoded, so nothing could find them in the span.
    WarnOfEmptySpan(recording_, clock_, settings_.times.span, options_.reader, ShowsPackets());
  } else if (options_.calls.function && !function_ran_) {
    Warn(
        fmt::format("{}: --function {}: no such function {}{}{}", InputName(), options_.function,
                    kind_.name == "calls" ? "was called" : "ran", ShowsAll() ? "" : " in that time",
                    WhyNoFunction(*options_.calls.function, symbolizer_)),
        {"its name as `--as calls` prints it without --function, a pattern ('str*'), or a regular "
         "expression ('/^str/')"});
  }
}

void DecodeJob::Keep() const {
  code_->KeepBlocks();
  if (kept_ && ToldAll(*code_)) kept_->Keep();
}

int DecodeJob::Finish(Output& output, const Status& status) {
  if (Status written = output.Finish(); !written) return Report(written.error());
  if (output.closed()) return kDone;
  for (const std::string& problem : lines_.Problems()) Warn(problem);
  losses_.Warn(InputName());
  WarnOfSamples();
  if (code_) {
    losses_.images().Warn(*code_, options_.reader);
    WarnOfModes(*code_, InputName());
  }
  if (code_) {
    if (CheckWhole(code_->files())) Keep();  // all is written: nobody waits for it
    WarnOfCache(*code_);
  }
  if (code_ && IsVerbose()) TellImages(code_->images());
  if (!status) return Report(status.error(), InputName());
  if (recording_.refusal) return Report(*recording_.refusal);
  WarnOfNothingFound();
  return losses_.Status(options_.reader.strict);
}

int Execute(const DecodeOptions& options) {
  const Result<const Kind*> kind = FindKind(options.kind);
  if (!kind) return Report(kind.error());
  Result<Recording> recording = OpenInput(options.reader);
  if (!recording) return Report(recording.error(), options.reader.InputName());
  WarnOfDamage(*recording);
  if (Status status = CheckByTime(**kind, options.by_time); !status) return Report(status.error());
  DecodeJob job(options, **kind, std::move(*recording));
  if (Status status = job.Prepare(); !status)
    return Report(status.error());  // it names the file that it is about
  Result<Output> output = job.OpenOutput();
  if (!output) return Report(output.error());
  output->CheckWith([&job] { return job.CheckInputs(); });
  const Status status = job.Run(*output);
  return job.Finish(*output, status);
}

}  // namespace

int RunDecode(const Arguments& arguments) {
  CLI::App app("Prints what executed.", "flowback decode");
  DecodeOptions options;
  ReaderWords words;
  AddReaderOptions(app, options.reader, words);
  AddDecodeOptions(app, options);
  if (const auto query = AsksToComplete(arguments)) {
    const bool parsed = ParseQuietly(app, query->words);
    words.no_cache = true;
    if (!parsed || !Understand(words, options.reader)) return kDone;
    return CompleteRecorded(query->prefix, options.reader);
  }
  if (const std::optional<int> status = Parse(app, arguments)) return *status;
  if (Status status = Understand(words, options.reader); !status) return Report(status.error());
  if (Status status = UnderstandSelection(options); !status) return Report(status.error());
  return Execute(options);
}

}  // namespace flowback::cli
