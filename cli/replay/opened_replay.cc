// SPDX-License-Identifier: MIT
#include "cli/replay/opened_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/reading/stream_report.h"
#include "cli/replay/replay_moment.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"
#include "replay/calls/shadow_stack/stack_judge.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {

Status OpenedReplay::Prepare(Samples samples) {
  if (Status status = opened_.OpenTrace(); !status) return status;
  if (samples == Samples::kRefused)
    if (Status status =
            CheckNoSamples(opened_.recording(), opened_.source(), "what led to the crash");
        !status)
      return status;
  if (Status status = opened_.OpenCode(); !status) return status;
  opened_.PrepareStreams(true);
  if (Status status = opened_.ChooseThreads(); !status) return status;
  WarnOfSharedStreams(opened_.recording(), opened_.threads(), opened_.InputName());
  return {};
}

// "12 (sh, 500 instructions), 13 (ls, 4711 instructions)"
std::string OpenedReplay::NamesOf(const std::map<int32_t, uint64_t>& executed) const {
  constexpr size_t kMost = 8;
  std::string text;
  size_t named = 0;
  for (const auto& [pid, instructions] : executed) {
    if (named++ == kMost) return text + fmt::format(" and {} more", executed.size() - kMost);
    const std::string comm = Printable(opened_.threads().CommAt(pid, 0).comm);
    text += fmt::format("{}{} ({}{}{} instructions)", text.empty() ? "" : ", ", pid, comm,
                        comm.empty() ? "" : ", ", instructions);
  }
  return text;
}

// The chosen threads of one process, as the index numbers them.
std::vector<size_t> OpenedReplay::ThreadsOfProcess() const {
  const auto is_chosen = [this](const ThreadFlow& flow) {
    return std::ranges::any_of(opened_.threads().owners(), [&](const StreamOwner& owner) {
      return owner.tid == flow.tid && owner.pid == flow.pid;
    });
  };
  std::map<int32_t, uint64_t> executed;  // by process
  std::vector<size_t> chosen;
  for (size_t i = 0; i < index_->threads().size(); ++i) {
    if (!is_chosen(opened_.flows()[i])) continue;
    chosen.push_back(i);
    executed[index_->threads()[i].pid] += index_->threads()[i].instructions;
  }
  if (executed.empty()) return {};
  const auto most =
      std::ranges::max_element(executed, {}, [](const auto& process) { return process.second; });
  const int32_t pid = options_.pid.value_or(most->first);
  if (!options_.pid && executed.size() > 1)
    Warn(fmt::format("{} processes were recorded: {}. This replays process {}, which executed most",
                     executed.size(), NamesOf(executed), pid),
         {"--pid PID for another one; `flowback info` lists them"});
  std::erase_if(chosen, [&](size_t thread) { return index_->threads()[thread].pid != pid; });
  return chosen;
}

Status OpenedReplay::OpenMachine() {
  const WorkProgress progress = opened_.ShowProgress("replay", opened_.SelectedBytes());
  opened_.AddKnownLosses();
  Result<std::unique_ptr<Decoder>> decoder = opened_.NewDecoder();
  if (!decoder) return Fail(decoder.error());
  decoder_ = *std::move(decoder);
  const IndexCache cache = opened_.CacheFor(CachedResult::kLasting);
  StackJudge judge(opened_.functions());
  Result<TimedIndex> index = OpenTimedIndex(opened_.recording(), opened_.code(), opened_.inputs(),
                                            *decoder_, {.calls = &judge}, cache);
  if (!index) return Fail(index.error());
  times_ = std::move(index->times);
  index_.emplace(std::move(index->index));
  machine_.emplace(*index_, ThreadsOfProcess());
  if (machine_->size() == 0)
    return Fail(Error(ErrorCode::kUsage, "no instruction of the process was recorded")
                    .Remedy("`flowback info` lists processes and what the recording lacks"));
  stacks_.emplace(opened_, *index_, cache);
  if (Status status = OpenCore(); !status) return status;
  const size_t first = FirstThread(*machine_, opened_.recording());
  machine_->ToEnd(first);
  if (Status status = GoToMoment("--at", options_.at, first, opened_, *machine_); !status)
    return status;
  // A debugger asks for this stack at once; the pass that makes it ends before one waits for a
  // reply.
  const size_t thread = machine_->current();
  const auto stack = stacks_->At(machine_->index_number(thread), machine_->At(thread).number);
  return stack ? Status() : Fail(stack.error());
}

// The code has been read from the dumps already, so they are of the recorded processes.
Status OpenedReplay::OpenCore() {
  for (const std::string& path : options_.reader.search.cores) {
    Result<EndCore> core = EndCore::Open(path);
    if (!core) return Fail(core.error());
    if (core->pid() != machine_->thread(0).pid) continue;
    core->NumberThreadAs(opened_.recording());
    if (core->IsOfDeath(opened_.recording())) {
      core_.emplace(*std::move(core));
      living_.reset();
    } else if (!core_) {
      if (Status status = OpenLivingCore(path, *std::move(core)); !status) return status;
    }
  }
  return {};
}

// A debugger made it while the process ran.
Status OpenedReplay::OpenLivingCore(const std::string& path, EndCore core) {
  Result<LivingDump> found =
      FindLivingDump({.session = opened_, .machine = *machine_, .stacks = *stacks_, .core = core});
  if (!found) return Fail(found.error());
  const bool fits = std::ranges::any_of(found->threads, [](const DumpedThread& thread) {
    return thread.fit != DumpFit::kNowhere && thread.fit != DumpFit::kNotRecorded;
  });
  if (!fits) {
    Warn(path + " gives code only, no values: no recorded thread ever stood where it has it",
         {"name a dump that was made while the process was recorded, or when it died"});
    return {};
  }
  PlaceThreads(*found, core);
  living_ = *std::move(found);
  core_.emplace(std::move(core));
  return {};
}

gdb::ServerInput OpenedReplay::Input() {
  return {.session = opened_,
          .machine = *machine_,
          .stacks = *stacks_,
          .images = images_,
          .core = core_ ? &*core_ : nullptr,
          .go_to =
              [this](const std::string& word, size_t thread) {
                return GoToMoment("monitor goto", word, thread, opened_, *machine_);
              },
          .keep_on = {}};
}

// The pass that makes an index meets all losses, and they are kept beside it. Only if neither is at
// hand does the trace have to be decoded for them.
Status OpenedReplay::AddLosses() {
  if (!times_)
    times_ =
        LoadTimes(opened_.recording(), opened_.inputs(), opened_.CacheFor(CachedResult::kLasting));
  if (!times_) {
    opened_.inputs().set_times(false);
    return opened_.FindLosses();
  }
  const std::vector<StreamOwner>& owners = opened_.threads().owners();
  for (const LossSum& sum : times_->losses)
    if (std::ranges::find(owners, sum.tid, &StreamOwner::tid) != owners.end())
      opened_.losses().Add({.cause = sum.cause,
                            .end = sum.bytes,
                            .detail = {},
                            .code = sum.code,
                            .count = sum.count});
  return {};
}

int OpenedReplay::End() {
  const Status found = AddLosses();
  return opened_.End(found, {.keep_more = [this] {
                       if (opened_.MayKeepResults()) stacks_->Keep();
                     }});
}

}  // namespace flowback::cli
