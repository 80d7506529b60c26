// SPDX-License-Identifier: MIT
#include "replay/spikes/request_loops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/linux/linux_waiting_calls.h"
#include "flowback/replay/call_stack.h"
#include "flowback/replay/player.h"
#include "replay/calls/exec_times.h"
#include "replay/spikes/instances/path_tree.h"
#include "replay/timeline/function_table.h"

namespace flowback {
namespace {

constexpr uint64_t kLeastCalls = 16;
constexpr uint64_t kLeastGrowth = 8;
constexpr uint64_t kLeastShare = 50;  // a fiftieth
constexpr size_t kDeepest = 64;       // a handler lies no deeper

class LoopTeller final : public CallListener {
 public:
  struct Sums {
    uint64_t calls = 0;
    uint64_t instructions = 0;  // of the outermost calls of the path
    uint64_t waits = 0;         // in it and below
    std::map<uint32_t, uint64_t> by_wait;
    LinuxAbi abi{};
    uint32_t open = 0;
    bool recurses = false;
  };

  LoopTeller(FunctionTable& functions, PathTree& paths, std::vector<Sums>& sums)
      : functions_(functions), paths_(paths), sums_(sums) {}

  bool WantsCallNumbers() const override { return true; }
  void OnEnter(const Call& call, size_t depth) override {
    if (depth >= kDeepest) return;
    nodes_.resize(std::min(nodes_.size(), depth));
    while (nodes_.size() < depth)
      nodes_.push_back(nodes_.empty() ? PathTree::kRoot : nodes_.back());
    const uint32_t parent = nodes_.empty() ? PathTree::kRoot : nodes_.back();
    InstancePath path;
    path.parent = parent;
    path.kind = PathKind::kCall;
    path.function = functions_.NumberOf(call);
    const uint32_t node = paths_.Find(path);
    if (node >= sums_.size()) sums_.resize(node + size_t{1});
    ++sums_[node].calls;
    sums_[node].recurses = sums_[node].recurses || sums_[node].open != 0;
    ++sums_[node].open;
    nodes_.push_back(node);
  }
  void OnExit(const Call&, size_t depth, CallExit, uint64_t instructions,
              const ExitTime&) override {
    if (depth >= nodes_.size()) return;
    Sums& sums = sums_[nodes_[depth]];
    if (sums.open != 0 && --sums.open == 0) sums.instructions += instructions;
    nodes_.resize(depth);
  }
  void OnGap(const UntracedGap& gap, size_t) override {
    if (gap.cause != UntracedGap::Cause::kSystemCall || !gap.call_number) return;
    if (!CanIdle(*gap.call_number, gap.call_abi)) return;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (i != 0 && nodes_[i] == nodes_[i - 1]) continue;
      ++sums_[nodes_[i]].waits;
      ++sums_[nodes_[i]].by_wait[*gap.call_number];
      sums_[nodes_[i]].abi = gap.call_abi;
    }
  }
  void OnSwitch(uint32_t) override { nodes_.clear(); }

 private:
  FunctionTable& functions_;
  PathTree& paths_;
  std::vector<Sums>& sums_;
  std::vector<uint32_t> nodes_;  // by depth
};

// The dynamic linker works before the program does.
bool IsStartup(const RequestLoop& loop) {
  const std::string name = loop.function.file.substr(loop.function.file.rfind('/') + 1);
  return name.starts_with("ld-") || name.starts_with("ld.so");
}

class LoopFinder final : public PlayConsumer {
 public:
  explicit LoopFinder(const TimelineSources& sources)
      : sources_(sources),
        clock_(sources.recording),
        functions_(sources.symbolizer, sources.recorded_path) {}

  void OnThreadBegin(const ThreadFlow& thread, size_t) override {
    stack_.reset();
    teller_.emplace(functions_, paths_, sums_);
    execs_.emplace(sources_.recording, clock_, thread.pid);
    stack_.emplace(sources_.functions, *teller_);
    stack_->LookForExec(execs_->AsFunction());
    stack_->LookForPauses(sources_.recording.machine);
  }
  void OnThreadEnd(const ThreadFlow&, size_t) override {
    all_ += stack_->instructions();
    stack_->Finish();
    for (LoopTeller::Sums& sums : sums_) sums.open = 0;
  }
  void OnBlock(const BlockRun& run) override { stack_->OnBlock(run); }
  void OnBlocks(const BlockBatch& batch) override { stack_->OnBlocks(batch); }
  void OnEvent(const TraceEvent& event) override { stack_->OnEvent(event); }
  void OnLoss(const DataLoss& loss) override { stack_->OnLoss(loss); }

  std::vector<RequestLoop> Take();

 private:
  std::optional<RequestLoop> LoopAt(uint32_t node) const;

  const TimelineSources& sources_;
  const RecordingClock clock_;
  mutable FunctionTable functions_;
  PathTree paths_;
  std::vector<LoopTeller::Sums> sums_;
  std::optional<ExecTimes> execs_;
  std::optional<LoopTeller> teller_;
  std::optional<CallStack> stack_;
  uint64_t all_ = 0;
};

std::optional<RequestLoop> LoopFinder::LoopAt(uint32_t node) const {
  const InstancePath& path = paths_.nodes()[node];
  if (path.parent == PathTree::kRoot || path.kind != PathKind::kCall) return std::nullopt;
  const LoopTeller::Sums& of = sums_[node];
  const LoopTeller::Sums& around = sums_[path.parent];
  const uint64_t loops = std::max<uint64_t>(around.calls, 1);
  if (of.recurses) return std::nullopt;  // its outermost calls are fewer
  if (of.calls < kLeastCalls || of.calls < kLeastGrowth * loops) return std::nullopt;
  if (of.instructions < all_ / kLeastShare) return std::nullopt;
  RequestLoop loop{.function = functions_.all()[path.function],
                   .caller = functions_.all()[paths_.nodes()[path.parent].function],
                   .calls = of.calls,
                   .loops = loops,
                   .instructions = of.instructions,
                   .all = all_,
                   .waits = around.waits,
                   .wait = {},
                   .wait_abi = {}};
  const auto most =
      std::ranges::max_element(around.by_wait, {}, [](const auto& each) { return each.second; });
  if (most != around.by_wait.end()) loop.wait = most->first;
  loop.wait_abi = around.abi;
  return loop;
}

std::vector<RequestLoop> LoopFinder::Take() {
  std::vector<RequestLoop> loops;
  sums_.resize(paths_.nodes().size());
  for (uint32_t node = 1; node < sums_.size(); ++node)
    if (auto loop = LoopAt(node)) loops.push_back(*std::move(loop));
  std::ranges::sort(loops, [](const RequestLoop& a, const RequestLoop& b) {
    return std::tuple(!IsStartup(a), a.waits_between(), a.instructions, a.function.name) >
           std::tuple(!IsStartup(b), b.waits_between(), b.instructions, b.function.name);
  });
  return loops;
}

}  // namespace

Result<std::vector<RequestLoop>> FindRequestLoops(const TimelineSources& sources,
                                                  const std::vector<const ThreadFlow*>& flows,
                                                  unsigned threads, size_t in_flight) {
  Player player(sources.flow, {.threads = threads, .in_flight = in_flight});
  LoopFinder finder(sources);
  if (Status status = player.Play(flows, finder); !status) return Fail(status.error());
  return finder.Take();
}

}  // namespace flowback
