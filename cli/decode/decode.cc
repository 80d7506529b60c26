// SPDX-License-Identifier: MIT
// `flowback decode`: the flow as text or JSON lines.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <thread>

#include "cli/command.h"
#include "cli/decode/decode_kinds.h"
#include "cli/decode/decode_options.h"
#include "cli/decode/flow_shares.h"
#include "cli/decode/function_filter.h"
#include "cli/decode/listings.h"
#include "cli/help/completion.h"
#include "cli/listing/flow_printer.h"
#include "cli/listing/listing.h"
#include "cli/listing/merged_listing.h"
#include "cli/options/arguments.h"
#include "cli/reading/cut_files.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reader_output.h"
#include "cli/reading/stream_report.h"
#include "cli/reading/time_words.h"
#include "cli/text/json.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"
#include "flowback/replay/span_decoder.h"
#include "replay/calls/functions.h"

namespace flowback::cli {
namespace {

// What each piece of an owner gave.
struct PieceTotals {
  const StreamOwner* owner = nullptr;
  std::vector<FlowTotals> pieces;

  // All pieces in order; their losses in the same order.
  StreamTotals Sum() const {
    StreamTotals all{owner, {}};
    for (const FlowTotals& piece : pieces) all.summary.Append(piece);
    return all;
  }
};

// One run of the command: everything opened, then one stream after the other.
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
  // Errors: what keeps decoding from going on; what came before it has been printed.
  Status Run(Output& output);
  int Finish(Output& output, const Status& status);
  Result<Output> OpenOutput() const {
    return cli::OpenOutput(options_.reader, recording_, code_ ? &*code_ : nullptr);
  }
  // Of all that is to be decoded.
  uint64_t TraceBytes() const;
  // Whether all that has been read was there.
  Status CheckInputs() const { return CheckUncut(recording_, code_ ? &*code_ : nullptr); }

 private:
  Status PrepareThreads();
  Status SelectThreads();
  void WarnOfNothingFound();
  using Places = std::map<const ThreadStay*, FlowTotals*>;  // null: of the whole stream
  std::vector<PieceTotals> NewTotals() const;
  Status SumStreams(std::vector<PieceTotals>& totals, BlockCountConsumer* counter);
  Status SumStream(const Stream& stream, const Places& places, BlockCountConsumer* counter);
  Status PrepareCode();
  Status List(Output& output);
  Status ListByTime(unsigned threads, Output& output);
  Status ListPiece(const FlowPiece& piece, Decoder& decoder, ExecutionConsumer& consumer) const;
  SpanNeeds NeedsOfSpan() const { return {settings_.span, kind_.wants_context}; }
  Result<std::unique_ptr<Decoder>> NewDecoder();
  Status Sum(Output& output);
  Status Check(const ByteAccount& account, const Stream& stream) const {
    return settings_.all_times ? CheckAccount(account, stream) : Status();
  }
  std::string_view RecordedPath(const std::string& file) const;
  unsigned ThreadCount() const {
    const unsigned all = std::max(1U, std::thread::hardware_concurrency());
    return options_.reader.threads != 0 ? options_.reader.threads : all;
  }
  std::string InputName() const { return options_.reader.InputName(); }

  const DecodeOptions& options_;
  const Kind& kind_;
  Recording recording_;
  Threads threads_;
  RecordingClock clock_;
  Symbolizer symbolizer_;
  SymbolFunctions functions_;
  SourceLines lines_;
  std::shared_ptr<const TraceSource> source_;
  std::optional<RecordingCode> code_;
  std::optional<StreamInputs> inputs_;
  std::optional<SpanRanges> in_span_;  // --time's
  std::unique_ptr<Decoder> decoder_;
  PrintSettings settings_;
  LossTally losses_;
  std::atomic<bool> found_in_span_ = false;
  std::atomic<bool> function_ran_ = false;
  std::atomic<uint64_t> bytes_done_ = 0;
};

Status DecodeJob::Prepare() {
  Result<Fields> fields = FieldsFor(kind_, options_.fields, options_.by_time);
  if (!fields) return Fail(fields.error());
  if (Status status = CheckHasTrace(recording_); !status) return status;
  Result<std::shared_ptr<const TraceSource>> source = OpenSource(recording_);
  if (!source) return Fail(source.error());
  source_ = *std::move(source);
  const ReaderOptions& reader = options_.reader;
  Result<TimeSpan> span = ParseTimeSpan(reader.time, recording_, clock_);
  if (!span) return Fail(span.error());
  if (options_.time_of_day)
    if (Status status = ShowTimeOfDay(clock_); !status) return status;
  settings_.fields = *fields;
  settings_.default_layout = HasUsualLayout(kind_, options_.fields, *fields);
  settings_.json = reader.json;
  settings_.not_taken = options_.not_taken;
  settings_.span = *span;
  settings_.all_times = reader.time.empty();
  settings_.clock = &clock_;
  settings_.source = source_.get();
  settings_.threads = &threads_;
  settings_.recording = &recording_;
  settings_.recorded_path = [this](const std::string& file) { return RecordedPath(file); };
  settings_.symbolizer = &symbolizer_;
  settings_.lines = &lines_;
  settings_.functions = &functions_;
  settings_.calls = options_.calls;
  settings_.calls.function_ran = &function_ran_;
  settings_.losses = &losses_;
  if (kind_.name != "packets")
    if (Status status = PrepareCode(); !status) return status;
  return PrepareThreads();
}

Status DecodeJob::PrepareThreads() {
  if (options_.by_cpu)
    threads_.LabelByCpu();
  else if (inputs_)
    threads_.GroupByThread(recording_, *inputs_);
  if (Status status = SelectThreads(); !status) return status;
  // Packets are shown as they were written, by buffer; nobody asks for their threads.
  if (!options_.by_cpu && kind_.name != "packets")
    WarnOfSharedStreams(recording_, threads_, InputName());
  settings_.thread_headers = !settings_.default_layout && !options_.by_time &&
                             kind_.name != "instructions" && threads_.owners().size() > 1;
  return {};
}

Status DecodeJob::SelectThreads() {
  const ReaderOptions& reader = options_.reader;
  const ThreadSelection& wanted = reader.selection;
  Status status = Select(reader, threads_);
  if (status || !options_.by_cpu || (wanted.tids.empty() && wanted.names.empty())) return status;
  return Fail(Error(ErrorCode::kUsage,
                    "--by-cpu shows the CPUs' streams, whichever threads ran there: --tid and "
                    "--comm do not combine with it")
                  .Remedy("leave --by-cpu out, or choose CPUs with --cpu-list"));
}

Status DecodeJob::PrepareCode() {
  Result<std::unique_ptr<Decoder>> decoder = NewDecoder();
  if (!decoder) return Fail(decoder.error());
  decoder_ = std::move(*decoder);
  Result<RecordingCode> code = RecordingCode::Load(recording_, options_.reader.search);
  if (!code) return Fail(code.error());
  code_.emplace(std::move(*code));
  inputs_.emplace(recording_, *code_, options_.reader.resync);
  inputs_->set_threads(options_.reader.threads, options_.reader.window);
  inputs_->set_progress(bytes_done_);
  inputs_->set_times(settings_.fields.Has(Field::kTime) || !settings_.all_times ||
                     options_.by_time);
  if (!settings_.all_times) in_span_.emplace(*inputs_, recording_, NeedsOfSpan(), clock_);
  return {};
}

Result<std::unique_ptr<Decoder>> DecodeJob::NewDecoder() {
  Result<std::unique_ptr<Decoder>> decoder = source_->MakeDecoder(options_.reader.engine);
  if (!decoder) return decoder;
  if (!settings_.all_times)
    decoder = MakeSpanDecoder(std::move(*decoder), NeedsOfSpan(), clock_, found_in_span_);
  // Of a call all is shown that it calls: its listing chooses for itself.
  if (options_.calls.function && kind_.name != "calls")
    decoder = MakeFunctionDecoder(
        std::move(*decoder), FunctionMatch(*options_.calls.function, symbolizer_), function_ran_);
  return decoder;
}

std::string_view DecodeJob::RecordedPath(const std::string& file) const {
  for (const ImageStatus& image : code_->images())
    if (image.file == file && !image.path.empty()) return image.path;
  return file;
}

uint64_t DecodeJob::TraceBytes() const {
  uint64_t bytes = 0;
  for (const StreamOwner& owner : threads_.owners())
    for (const FlowPiece& piece : owner.pieces) bytes += piece.end - piece.begin;
  return bytes;
}

Status DecodeJob::Run(Output& output) {
  const WorkProgress progress("decode", TraceBytes(), bytes_done_);
  PrintListingHeader(output, recording_, kind_.name, settings_.json,
                     settings_.fields.Has(Field::kTime));
  losses_.AddRecording(recording_);
  if (!options_.by_cpu && kind_.name != "packets") losses_.AddNobodys(threads_);
  for (const StreamOwner& owner : threads_.owners())
    for (const FlowPiece& piece : owner.pieces) losses_.AddStreamBytes(piece.end - piece.begin);
  if (kind_.make_printer != nullptr) return List(output);
  if (kind_.name != "packets") return Sum(output);
  for (const StreamOwner& owner : threads_.owners()) {
    PrintPackets(owner, settings_, {.threads = ThreadCount(), .window = options_.reader.window},
                 output);
    if (output.closed()) break;
  }
  return {};
}

Status DecodeJob::List(Output& output) {
  const unsigned threads = ThreadCount();
  if (options_.by_time) return ListByTime(threads, output);
  const ListingPlan plan{.make_printer = kind_.make_printer,
                         .order = kind_.order,
                         .threads = threads,
                         .window = options_.reader.window};
  const std::unique_ptr<Listing> listing = MakeListing(plan, settings_, output);
  for (const StreamOwner& owner : threads_.owners()) {
    listing->Begin(owner);
    for (const FlowPiece& piece : owner.pieces) {
      listing->BeginPiece(*piece.stream);
      if (Status status = ListPiece(piece, *decoder_, *listing); !status) {
        listing->Finish();
        return status;
      }
      if (listing->Done()) return {};
    }
    listing->End();
  }
  listing->Finish();
  return {};
}

Status DecodeJob::ListByTime(unsigned threads, Output& output) {
  const MergePlan plan{
      .make_printer = kind_.make_printer,
      .make_decoder = [this] { return NewDecoder(); },
      .decode = [this](const FlowPiece& piece, Decoder& decoder,
                       ExecutionConsumer& consumer) { return ListPiece(piece, decoder, consumer); },
      .looks_back = kind_.looks_back,
      .threads = threads,
      .open = options_.reader.window};
  return cli::ListByTime(plan, threads_.owners(), settings_, output);
}

// Any thread.
Status DecodeJob::ListPiece(const FlowPiece& piece, Decoder& decoder,
                            ExecutionConsumer& consumer) const {
  if (in_span_ && !in_span_->Reaches(piece)) return {};
  if (piece.begin != 0 || piece.end != piece.stream->bytes.size())
    return DecodePiece(piece, *inputs_, decoder, consumer);
  const Result<ByteAccount> account = decoder.Decode(inputs_->For(*piece.stream), consumer);
  if (!account) return Fail(account.error());
  return consumer.Done() ? Status() : Check(*account, *piece.stream);
}

Status DecodeJob::Sum(Output& output) {
  std::vector<PieceTotals> totals = NewTotals();
  std::optional<ShareCounter> shares;
  if (options_.shares) shares.emplace(*options_.shares, settings_);
  const Status status = SumStreams(totals, shares ? &*shares : nullptr);
  if (!status && !shares) return status;
  std::vector<StreamTotals> sums;
  for (const PieceTotals& each : totals) {
    sums.push_back(each.Sum());
    for (const DataLoss& loss : sums.back().summary.losses) losses_.Add(loss);
    if (kind_.name == "digest") PrintDigest(sums.back(), settings_.json, output);
  }
  if (shares)
    PrintShares(*options_.shares, shares->Take(), settings_.json, output);
  else if (kind_.name == "summary")
    PrintSummary(sums, settings_, output);
  return status;
}

std::vector<PieceTotals> DecodeJob::NewTotals() const {
  std::vector<PieceTotals> totals;
  for (const StreamOwner& owner : threads_.owners())
    totals.push_back({&owner, std::vector<FlowTotals>(owner.pieces.size())});
  return totals;
}

// Each stream once; `counter`, which may be null, gets the counts of what is asked for.
Status DecodeJob::SumStreams(std::vector<PieceTotals>& totals, BlockCountConsumer* counter) {
  std::map<const Stream*, Places> places;
  for (PieceTotals& each : totals)
    for (size_t i = 0; i < each.pieces.size(); ++i) {
      const FlowPiece& piece = each.owner->pieces[i];
      places[piece.stream].emplace(piece.stay, &each.pieces[i]);
    }
  for (const Stream& stream : recording_.streams)
    if (const auto of_stream = places.find(&stream); of_stream != places.end())
      if (Status status = SumStream(stream, of_stream->second, counter); !status) return status;
  return {};
}

// Decodes the stream once and gives each piece its part of the totals.
Status DecodeJob::SumStream(const Stream& stream, const Places& places,
                            BlockCountConsumer* counter) {
  const DecodeInput input = inputs_->For(stream);
  std::optional<CountsOfStays> filter;
  const auto wanted = [&](const ThreadStay* stay) {
    return places.contains(nullptr) || places.contains(stay);
  };
  if (counter != nullptr) filter.emplace(wanted, *counter);
  Result<FlowSummary> summary =
      filter ? decoder_->Count(input, *filter) : decoder_->Summarize(input);
  if (!summary) return Fail(summary.error());
  const ByteAccount account{summary->bytes_decoded, summary->bytes_padding, summary->bytes_lost};
  if (Status status = Check(account, stream); !status) return status;
  for (FlowPart& part : summary->parts) {
    const auto place = places.find(places.contains(nullptr) ? nullptr : part.stay);
    if (place != places.end()) place->second->Append(part.totals);
  }
  return {};
}

// An empty listing looks the same whether nothing ran or the wrong thing was asked for.
void DecodeJob::WarnOfNothingFound() {
  if (!settings_.all_times && !found_in_span_) {
    // Packets are not decoded, so nothing could find them in the span.
    WarnOfEmptySpan(recording_, clock_, settings_.span, options_.reader, kind_.name == "packets");
  } else if (options_.calls.function && !function_ran_) {
    Warn(fmt::format("{}: --function {}: no such function {}{}{}", InputName(), options_.function,
                     kind_.name == "calls" ? "was called" : "ran",
                     settings_.all_times ? "" : " in that time",
                     WhyNoFunction(*options_.calls.function, symbolizer_)),
         {"its name as `--as calls` prints it without --function, a pattern ('str*'), or a regular "
          "expression ('/^str/')"});
  }
}

int DecodeJob::Finish(Output& output, const Status& status) {
  if (Status written = output.Finish(); !written) return Report(written.error());
  if (output.closed()) return kDone;
  for (const std::string& problem : lines_.Problems()) Warn(problem);
  losses_.Warn(InputName());
  if (code_) {
    losses_.images().Warn(*code_, options_.reader);
    WarnOfModes(*code_, InputName());
  }
  if (code_) {
    if (CheckWhole(code_->files())) code_->KeepBlocks();  // all is written: nobody waits for it
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
