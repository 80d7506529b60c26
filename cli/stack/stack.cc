// SPDX-License-Identifier: MIT
// `flowback stack`: each thread's call stack at a moment.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <optional>

#include "cli/command.h"
#include "cli/options/arguments.h"
#include "cli/reading/cut_files.h"
#include "cli/reading/kept_index.h"
#include "cli/reading/losses.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reader_output.h"
#include "cli/reading/stream_report.h"
#include "cli/stack/stack_moment.h"
#include "cli/stack/stack_report.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"
#include "flowback/replay/exec_times.h"
#include "flowback/replay/kept_stacks.h"
#include "flowback/replay/player.h"

namespace flowback::cli {
namespace {

struct StackOptions {
  ReaderOptions reader;
  std::string at = "end";
  std::string thread;
  bool all = false;
};

// Of a stream that several threads share a player decodes each stay from the sync point before it:
// what it estimates of times may differ by a tick from what the index does, and so could what is
// printed. So such threads are played.
bool HasOwnStreams(const StreamOwner& owner) {
  return std::ranges::all_of(owner.pieces, IsWholeStream);
}

// One run of the command: what is opened, in the order in which each needs the ones before it.
class StackJob {
 public:
  StackJob(const StackOptions& options, Recording recording)
      : options_(options),
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
  Status CheckInputs() const { return CheckUncut(recording_, code_ ? &*code_ : nullptr); }
  Status Run(Output& output);
  int Finish(Output& output, const Status& status);

 private:
  Status OpenCode();
  Status OpenKept();
  Status CheckThreads() const;
  // The owner's thread, by its number in the index; empty: it has no stacks there.
  std::optional<size_t> NumberInIndex(const StreamOwner& owner) const;
  // What came before an error is told, too.
  Status StacksOf(const StreamOwner& owner, Player& player, std::vector<ThreadStack>& stacks);
  Status Show(const StreamOwner& owner, Player& player, Output& output);
  Player NewPlayer();

  const StackOptions& options_;
  Recording recording_;
  Threads threads_;
  RecordingClock clock_;
  Symbolizer symbolizer_;
  SymbolFunctions functions_;
  SourceLines lines_;
  std::shared_ptr<const TraceSource> source_;
  std::optional<RecordingCode> code_;
  std::optional<StreamInputs> inputs_;
  std::vector<ThreadFlow> flows_;     // of all threads, selected or not
  std::unique_ptr<Decoder> decoder_;  // the index's
  std::optional<FlowIndex> index_;
  std::optional<KeptStacks> kept_;
  StackPlace place_;
  LossTally losses_;
  std::atomic<uint64_t> bytes_done_ = 0;
};

Status StackJob::Prepare() {
  if (Status status = CheckHasTrace(recording_); !status) return status;
  Result<std::shared_ptr<const TraceSource>> source = OpenSource(recording_);
  if (!source) return Fail(source.error());
  source_ = *std::move(source);
  if (Status status = CheckNoSamples(recording_, *source_, "call stacks"); !status) return status;
  const Result<StackPlace> place = ParseMoment(options_.at, recording_, clock_);
  if (!place) return Fail(place.error());
  place_ = *place;
  if (Status status = OpenCode(); !status) return status;
  inputs_.emplace(recording_, *code_, options_.reader.resync);
  inputs_->set_progress(bytes_done_);
  inputs_->set_times(true);
  flows_ = ThreadFlows(recording_, *inputs_);
  threads_.GroupByThread(recording_, *inputs_);
  if (Status status = Select(options_.reader, threads_); !status) return status;
  WarnOfSharedStreams(recording_, threads_, options_.reader.InputName());
  return CheckThreads();
}

Status StackJob::OpenCode() {
  // An engine that is not there is told before files are looked for.
  if (const auto decoder = source_->MakeDecoder(options_.reader.engine); !decoder)
    return Fail(decoder.error());
  Result<RecordingCode> code = RecordingCode::Load(recording_, options_.reader.search);
  if (!code) return Fail(code.error());
  code_.emplace(std::move(*code));
  return {};
}

// The n-th instruction of one thread says nothing about the others.
Status StackJob::CheckThreads() const {
  if (place_.kind != StackPlace::Kind::kInstruction || options_.all ||
      threads_.owners().size() == 1)
    return {};
  return Fail(
      Error(ErrorCode::kUsage, fmt::format("--at {} is an instruction of one thread; there are {}",
                                           options_.at, threads_.owners().size()))
          .Remedy("say which with --thread, or --all for that instruction of each"));
}

Player StackJob::NewPlayer() {
  PlayOptions options{.threads = options_.reader.ThreadCount(),
                      .in_flight = options_.reader.in_flight};
  return Player(
      *inputs_, [this] { return source_->MakeDecoder(options_.reader.engine); },
      std::move(options));
}

Status StackJob::Run(Output& output) {
  uint64_t bytes = 0;
  for (const StreamOwner& owner : threads_.owners())
    for (const FlowPiece& piece : owner.pieces) bytes += piece.end - piece.begin;
  const WorkProgress progress("stack", bytes, bytes_done_);
  losses_.AddRecording(recording_);
  losses_.AddNobodys(threads_);
  losses_.AddStreamBytes(bytes);
  PrintStackHeader(recording_, options_.reader.json, output);
  if (Status status = OpenKept(); !status) return status;
  Player player = NewPlayer();
  for (const StreamOwner& owner : threads_.owners()) {
    if (Status status = Show(owner, player, output); !status) return status;
    if (output.closed()) break;
  }
  return {};
}

// The index and the stacks beside it, where that pays.
Status StackJob::OpenKept() {
  if (std::ranges::none_of(threads_.owners(), HasOwnStreams)) return {};
  const IndexCache cache = LastingCacheOf(options_.reader, recording_, *code_, *inputs_);
  if (cache.folder.empty()) return {};
  Result<std::unique_ptr<Decoder>> decoder = source_->MakeDecoder(options_.reader.engine);
  if (!decoder) return Fail(decoder.error());
  decoder_ = *std::move(decoder);
  Result<FlowIndex> index = FlowIndex::Open(recording_, *code_, *inputs_, *decoder_, {}, cache);
  if (!index) return Fail(index.error());
  index_.emplace(*std::move(index));
  kept_.emplace(KeptStacks::Source{*index_, functions_, symbolizer_}, cache);
  return {};
}

std::optional<size_t> StackJob::NumberInIndex(const StreamOwner& owner) const {
  if (!kept_ || !HasOwnStreams(owner)) return std::nullopt;
  const auto is_it = [&](const ThreadFlow& flow) {
    return flow.tid == owner.tid && flow.pid == owner.pid &&
           std::ranges::equal(flow.pieces, owner.pieces, [](const auto& a, const auto& b) {
             return a.stream == b.stream && a.stay == b.stay;
           });
  };
  const auto flow = std::ranges::find_if(flows_, is_it);
  return flow == flows_.end() ? std::nullopt
                              : std::optional(static_cast<size_t>(flow - flows_.begin()));
}

Status StackJob::StacksOf(const StreamOwner& owner, Player& player,
                          std::vector<ThreadStack>& stacks) {
  const ExecTimes execs(recording_, clock_, owner.pid);
  const auto exec_between = [&execs](uint64_t begin, uint64_t end) {
    return execs.Between(begin, end);
  };
  const StackTaker::Options how{.exec_between = exec_between};
  const std::optional<size_t> number = NumberInIndex(owner);
  const auto is_kept = [&] { return number && kept_->Has(*number); };
  if (is_kept()) {
    stacks.push_back(kept_->At(*number, place_, how));
    return {};
  }
  std::vector<const ThreadFlow*> all;
  for (const ThreadFlow& flow : flows_) all.push_back(&flow);
  Result<ThreadOrigin> origin = OriginOf(owner, all, recording_, functions_, player);
  if (!origin) return Fail(origin.error());
  if (number) kept_->Make(*number, *origin, how);
  if (is_kept()) {
    stacks.push_back(kept_->At(*number, place_, how));
    return {};
  }
  StackTaker taker(functions_, {place_}, *std::move(origin), how);
  Status played = player.Play({&owner}, taker);
  stacks = taker.Take();
  return played;
}

Status StackJob::Show(const StreamOwner& owner, Player& player, Output& output) {
  std::vector<ThreadStack> stacks;
  const Status played = StacksOf(owner, player, stacks);
  StackNames names(symbolizer_, lines_,
                   [this](const std::string& file) { return code_->RecordedPath(file); });
  const StackStyle style{names, clock_, options_.reader.json};
  for (const ThreadStack& stack : stacks) {
    if (stack.outside == ThreadStack::Outside::kLost) losses_.Add(stack.loss);
    const uint64_t time = stack.tsc == 0 || !clock_.has_nanoseconds() ? 0 : clock_.Value(stack.tsc);
    const ShownStack shown{owner, threads_.CommAt(owner.tid, time).comm, stack};
    if (options_.reader.json)
      PrintStackJson(shown, style, output);
    else
      PrintStackText(shown, style, output);
  }
  return played;
}

int StackJob::Finish(Output& output, const Status& status) {
  if (Status written = output.Finish(); !written) return Report(written.error());
  if (output.closed()) return kDone;
  for (const std::string& problem : lines_.Problems()) Warn(problem);
  losses_.Warn(options_.reader.InputName());
  losses_.images().Warn(*code_, options_.reader);
  WarnOfModes(*code_, options_.reader.InputName());
  if (CheckWhole(code_->files())) {
    code_->KeepBlocks();
    if (kept_ && ToldAll(*code_)) kept_->Keep();
  }
  WarnOfCache(*code_);
  if (!status) return Report(status.error(), options_.reader.InputName());
  if (recording_.refusal) return Report(*recording_.refusal);
  return losses_.Status(options_.reader.strict);
}

int Execute(const StackOptions& options) {
  Result<Recording> recording = OpenInput(options.reader);
  if (!recording) return Report(recording.error(), options.reader.InputName());
  WarnOfDamage(*recording);
  StackJob job(options, std::move(*recording));
  if (Status status = job.Prepare(); !status) return Report(status.error());
  Result<Output> output = job.OpenOutput();
  if (!output) return Report(output.error());
  output->CheckWith([&job] { return job.CheckInputs(); });
  const Status status = job.Run(*output);
  return job.Finish(*output, status);
}

// A number, or a name that a thread had.
void SelectThread(StackOptions& options) {
  if (options.thread.empty()) return;
  ThreadSelection& selection = options.reader.selection;
  const auto number = ParseNumber(options.thread);
  if (number && *number <= INT32_MAX)
    selection.tids.push_back(static_cast<int32_t>(*number));
  else
    selection.names.push_back(options.thread);
}

}  // namespace

int RunStack(const Arguments& arguments) {
  CLI::App app("Prints the call stack of each thread at a moment.", "flowback stack");
  StackOptions options;
  ReaderWords words;
  AddReaderOptions(app, options.reader, words);
  app.add_option("--at", options.at,
                 "the moment: end (the default), a time (seconds, units, or per cent of the "
                 "recording: 50%), or N, before the thread's instruction of that number, from 0");
  app.add_option("--thread", options.thread, "the thread of that number or name only");
  app.add_flag("--all", options.all,
               "all threads: the default, but for --at N, which is about one thread");
  app.get_option("--time")->group(
      "");  // not listed: it is known only to say that it does not apply
  app.footer("`flowback help output` says what is printed.");
  if (const std::optional<int> status = Parse(app, arguments)) return *status;
  if (Status status = Understand(words, options.reader); !status) return Report(status.error());
  if (!options.reader.time.empty())
    return Report(Error(ErrorCode::kUsage, "stack looks at one moment: --time does not apply")
                      .Remedy("--at TIME"));
  SelectThread(options);
  return Execute(options);
}

}  // namespace flowback::cli
