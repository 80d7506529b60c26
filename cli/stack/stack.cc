// SPDX-License-Identifier: MIT
// `flowback stack`: each thread's call stack at a moment.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "cli/command.h"
#include "cli/options/arguments.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/reading/spike_moment.h"
#include "cli/reading/stream_report.h"
#include "cli/samples/sampled_job.h"
#include "cli/stack/stack_moment.h"
#include "cli/stack/stack_options.h"
#include "cli/stack/stack_report.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"
#include "flowback/replay/player.h"
#include "replay/calls/exec_times.h"
#include "replay/calls/kept_stacks.h"
#include "replay/calls/shadow_stack/stack_judge.h"
#include "replay/calls/stack_snapshots.h"
#include "replay/session/stack_naming.h"
#include "replay/timeline/kept_times.h"

namespace flowback::cli {
namespace {

// If several threads share a stream, a player decodes each stay from the sync point before it: its
// estimates of times may differ by a tick from the index's, and the printed text, too. So such
// threads are played.
bool HasOwnStreams(const StreamOwner& owner) {
  return std::ranges::all_of(owner.pieces, IsWholeStream);
}

// One run of the command.
class StackJob final : public ReadingJob {
 public:
  StackJob(const StackOptions& options, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options) {}

 private:
  Status Prepare() override;
  Status Run(Output& output) override;
  void Keep() const override;

  Status UnderstandMoment();
  Status UnderstandSpike();
  // Whether the thread is one of those that are shown, and at which place.
  bool IsShown(const StreamOwner& owner) const;
  StackPlace PlaceIn(const StreamOwner& owner) const;
  Status OpenKept();
  Status CheckThreads() const;
  // The owner's thread, by its number in the index; empty: it has no stacks there.
  std::optional<size_t> NumberInIndex(const StreamOwner& owner) const;
  // Stacks before an error are printed, too.
  Status StacksOf(const StreamOwner& owner, Player& player, std::vector<ThreadStack>& stacks);
  Status Show(const StreamOwner& owner, Player& player, Output& output);
  bool IsBehindEnd(const std::vector<ThreadStack>& stacks) const;
  Error NoSuchInstruction() const;
  Player NewPlayer();

  const StackOptions& options_;
  std::unique_ptr<Decoder> decoder_;  // the index's
  std::optional<FlowIndex> index_;
  std::optional<KeptStacks> kept_;
  StackPlace place_;
  std::optional<NamedSpike> spike_;  // that --at names
};

Status StackJob::Prepare() {
  if (Status status = opened_.OpenTrace(); !status) return status;
  if (Status status = CheckNoSamples(opened_.recording(), opened_.source(), "call stacks"); !status)
    return status;
  if (Status status = UnderstandMoment(); !status) return status;
  if (Status status = opened_.OpenCode(); !status) return status;
  opened_.PrepareStreams(true);
  if (Status status = opened_.ChooseThreads(); !status) return status;
  WarnOfSharedStreams(opened_.recording(), opened_.threads(), opened_.InputName());
  return NamesSpike(options_.at) ? UnderstandSpike() : CheckThreads();
}

Status StackJob::UnderstandMoment() {
  if (NamesSpike(options_.at)) return {};
  const Result<StackPlace> place =
      ParseStackPlace(options_.at, opened_.recording(), opened_.clock());
  if (!place) return Fail(place.error());
  place_ = *place;
  return {};
}

// Which instances have a number, is known by the code and the chosen threads.
Status StackJob::UnderstandSpike() {
  Result<NamedSpike> spike = FindSpike("--at", options_.at, opened_);
  if (!spike) return Fail(spike.error());
  spike_ = *std::move(spike);
  place_ = {.kind = StackPlace::Kind::kInstruction, .value = spike_->instance.first_instruction};
  return {};
}

bool StackJob::IsShown(const StreamOwner& owner) const {
  return !spike_ || options_.all || spike_->instance.IsOf(owner);
}

// With --all the other threads are shown as they were when the instance began.
StackPlace StackJob::PlaceIn(const StreamOwner& owner) const {
  if (!spike_ || spike_->instance.IsOf(owner)) return place_;
  return {.kind = StackPlace::Kind::kTime,
          .value = opened_.clock().TscAt(spike_->instance.begin.time)};
}

// The n-th instruction of one thread says nothing about the others.
Status StackJob::CheckThreads() const {
  const size_t threads = opened_.threads().owners().size();
  if (place_.kind != StackPlace::Kind::kInstruction || options_.all || threads == 1) return {};
  return Fail(
      Error(ErrorCode::kUsage, fmt::format("--at {} is an instruction of one thread; there are {}",
                                           options_.at, threads))
          .Remedy("say which with --thread, or --all for that instruction of each"));
}

Player StackJob::NewPlayer() {
  PlayOptions options{.threads = options_.reader.ThreadCount(),
                      .in_flight = options_.reader.in_flight};
  return Player(opened_.inputs(), [this] { return opened_.NewDecoder(); }, std::move(options));
}

Status StackJob::Run(Output& output) {
  const WorkProgress progress = opened_.ShowProgress("stack", opened_.SelectedBytes());
  opened_.AddKnownLosses();
  PrintStackHeader(opened_.recording(), options_.reader.json, output);
  if (Status status = OpenKept(); !status) return status;
  Player player = NewPlayer();
  for (const StreamOwner& owner : opened_.threads().owners()) {
    if (!IsShown(owner)) continue;
    if (Status status = Show(owner, player, output); !status) return status;
    if (output.closed()) break;
  }
  return {};
}

// The index and the stacks beside it, where that pays.
Status StackJob::OpenKept() {
  if (std::ranges::none_of(opened_.threads().owners(), HasOwnStreams)) return {};
  const IndexCache cache = opened_.CacheFor(CachedResult::kLasting);
  if (cache.folder.empty()) return {};
  Result<std::unique_ptr<Decoder>> decoder = opened_.NewDecoder();
  if (!decoder) return Fail(decoder.error());
  decoder_ = *std::move(decoder);
  StackJudge judge(names_.functions);
  Result<TimedIndex> index = OpenTimedIndex(opened_.recording(), opened_.code(), opened_.inputs(),
                                            *decoder_, {.calls = &judge}, cache);
  if (!index) return Fail(index.error());
  index_.emplace(std::move(index->index));
  kept_.emplace(KeptStacks::Source{*index_, names_.functions, names_.symbolizer,
                                   [this] { return opened_.IndexAnew(); }},
                cache);
  return {};
}

void StackJob::Keep() const {
  if (kept_ && opened_.MayKeepResults()) kept_->Keep();
}

std::optional<size_t> StackJob::NumberInIndex(const StreamOwner& owner) const {
  if (!kept_ || !HasOwnStreams(owner)) return std::nullopt;
  const auto is_it = [&](const ThreadFlow& flow) {
    return flow.tid == owner.tid && flow.pid == owner.pid &&
           std::ranges::equal(flow.pieces, owner.pieces, [](const auto& a, const auto& b) {
             return a.stream == b.stream && a.stay == b.stay;
           });
  };
  const std::vector<ThreadFlow>& flows = opened_.flows();
  const auto flow = std::ranges::find_if(flows, is_it);
  return flow == flows.end() ? std::nullopt
                             : std::optional(static_cast<size_t>(flow - flows.begin()));
}

Status StackJob::StacksOf(const StreamOwner& owner, Player& player,
                          std::vector<ThreadStack>& stacks) {
  const ExecTimes execs(opened_.recording(), opened_.clock(), owner.pid);
  const auto exec_between = [&execs](uint64_t begin, uint64_t end) {
    return execs.Between(begin, end);
  };
  const StackSnapshots::Options how{.exec_between = exec_between,
                                    .machine = &opened_.recording().machine};
  const std::optional<size_t> number = NumberInIndex(owner);
  const auto is_kept = [&] { return number && kept_->Has(*number); };
  if (is_kept()) {
    stacks.push_back(kept_->At(*number, PlaceIn(owner), how));
    return {};
  }
  std::vector<const ThreadFlow*> all;
  for (const ThreadFlow& flow : opened_.flows()) all.push_back(&flow);
  Result<ThreadOrigin> origin = OriginOf(owner, all, opened_.recording(), names_.functions, player);
  if (!origin) return Fail(origin.error());
  if (number) kept_->Make(*number, *origin, how);
  if (is_kept()) {
    stacks.push_back(kept_->At(*number, PlaceIn(owner), how));
    return {};
  }
  StackSnapshots taker(names_.functions, {PlaceIn(owner)}, *std::move(origin), how);
  Status played = player.Play({&owner}, taker);
  stacks = taker.Take();
  return played;
}

// For one thread: with --all, threads that have ended before are shown as they ended.
bool StackJob::IsBehindEnd(const std::vector<ThreadStack>& stacks) const {
  return place_.kind == StackPlace::Kind::kInstruction && stacks.size() == 1 &&
         stacks.front().instructions < place_.value;
}

Error StackJob::NoSuchInstruction() const {
  return Error(ErrorCode::kUsage, fmt::format("{}: --at {}: the thread has not that many "
                                              "instructions",
                                              opened_.InputName(), options_.at))
      .Remedy("--at end; `decode --as summary` counts each thread's");
}

Status StackJob::Show(const StreamOwner& owner, Player& player, Output& output) {
  std::vector<ThreadStack> stacks;
  const Status played = StacksOf(owner, player, stacks);
  if (played && !options_.all && IsBehindEnd(stacks)) return Fail(NoSuchInstruction());
  StackNames names = StackNamesOf(opened_);
  const RecordingClock& clock = opened_.clock();
  const StackStyle style{names, clock, options_.reader.json};
  for (const ThreadStack& stack : stacks) {
    const uint64_t time = stack.tsc == 0 || !clock.has_nanoseconds() ? 0 : clock.Value(stack.tsc);
    const ShownStack shown{owner, opened_.threads().CommAt(owner.tid, time).comm, stack};
    if (options_.reader.json)
      PrintStackJson(shown, style, output);
    else
      PrintStackText(shown, style, output);
  }
  return played;
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

Status CheckForSamples(const StackOptions& options) {
  if (!options.stitch && !options.paths) return {};
  return Fail(Error(ErrorCode::kUsage,
                    "--stitch and --paths are about samples of calls, which this recording lacks")
                  .Remedy("record some with `perf record -g` or `--call-graph lbr`"));
}

void AddStackOptions(CLI::App& app, StackOptions& options, ReaderWords&) {
  app.add_option("--at", options.at,
                 "Moment to show: end (default), begin, crash, a time (12.5, 50%, +1ms after the "
                 "begin, -1ms before the end), #N before the thread's N-th instruction from 0, or "
                 "spike:N at the N-th slowest instance of the last `spikes`");
  app.add_option("--thread", options.thread, "Select a thread by number or name");
  app.add_flag("--all", options.all,
               "Show all threads (default, except for --at '#N'); with samples, show every sample");
  app.add_flag("--stitch", options.stitch,
               "Complete the hardware's stacks of samples that its depth cut off, from the "
               "thread's previous sample, if both have the same calls in the same slots");
  app.add_flag("--paths", options.paths, "Add samples up by call path");
  app.footer("`flowback help output stack` describes the text and the JSON.");
}

Status UnderstandStack(const CLI::App&, StackOptions& options) {
  if (!options.reader.time.empty())
    return Fail(Error(ErrorCode::kUsage, "stack looks at one moment: --time does not apply")
                    .Remedy("--at TIME"));
  SelectThread(options);
  return {};
}

int ReadStacks(const StackOptions& options) {
  return WithInput(options.reader, [&](Recording recording) {
    if (CallSamplesOf(recording.config) != nullptr)
      return SampledStackJob(options, std::move(recording)).Execute();
    if (const Status status = CheckForSamples(options); !status)
      return Report(status.error(), options.reader.InputName());
    return StackJob(options, std::move(recording)).Execute();
  });
}

}  // namespace

int RunStack(const Arguments& arguments) {
  return ExecuteReading<StackOptions>(
      arguments, {.name = "stack",
                  .summary = "Prints the call stack of each thread at a moment.",
                  .add_options = AddStackOptions,
                  .hidden = {"--time"},
                  .understand = UnderstandStack,
                  .run = ReadStacks});
}

}  // namespace flowback::cli
