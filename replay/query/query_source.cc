// SPDX-License-Identifier: MIT
#include "replay/query/query_source.h"

#include <algorithm>
#include <set>
#include <utility>

#include "replay/calls/exec_times.h"
#include "replay/calls/kept_stacks.h"
#include "replay/calls/stack_snapshots.h"
#include "replay/session/has_trace.h"
#include "replay/timeline/kept_timeline.h"

namespace flowback {

// Data that is made when first used.
class QuerySource::Kept {
 public:
  struct Made {
    TimelineSources sources;
    std::vector<const ThreadFlow*> flows;
    std::optional<KeptTimeline> kept;
    Timeline timeline;
    bool from_cache = false;
  };
  std::unique_ptr<Made> timeline;
  std::optional<KeptStacks> stacks;
  std::set<size_t> without_stacks;  // threads whose stacks cannot be kept
};

namespace {

bool IsSameFlow(const ThreadFlow& flow, const StreamOwner& owner) {
  return flow.tid == owner.tid && flow.pid == owner.pid &&
         std::ranges::equal(flow.pieces, owner.pieces, [](const auto& a, const auto& b) {
           return a.stream == b.stream && a.stay == b.stay;
         });
}

}  // namespace

QuerySource::QuerySource(Session& session)
    : session_(session),
      functions_(
          session.symbols(),
          [&session](const std::string& file) { return std::string(session.RecordedPath(file)); }),
      kept_(std::make_unique<Kept>()) {}
QuerySource::~QuerySource() = default;

std::string_view QuerySource::CommOf(int32_t tid) const {
  return session_.threads().CommAt(tid, 0).comm;
}

Status QuerySource::CheckFlow() const {
  if (!session_.has_inputs()) {
    if (Status trace = CheckHasTrace(session_.recording()); !trace) return trace;
    return Fail(ErrorCode::kUnsupported, session_.recording().path + ": holds no branch trace");
  }
  const std::string_view why = session_.source().WhyNoFlow();
  if (why.empty()) return {};
  return Fail(Error(ErrorCode::kUnsupported,
                    session_.recording().path + ": no flow follows from it: " + std::string(why))
                  .Remedy("the table samples"));
}

Status QuerySource::CheckWholeFlow(std::string_view what) const {
  if (Status flow = CheckFlow(); !flow) return flow;
  if (!session_.source().samples()) return {};
  return Fail(
      Error(ErrorCode::kUnsupported,
            session_.recording().path + ": holds " + std::string(session_.source().Name()) +
                ", which are samples: the recording does not contain all " + std::string(what))
          .Remedy("the table samples; for whole flow record with `flowback record -- CMD`"));
}

Result<const Timeline*> QuerySource::TimelineOfThreads() {
  if (kept_->timeline) return &kept_->timeline->timeline;
  if (Status whole = CheckWholeFlow("calls"); !whole) return Fail(whole.error());
  auto made = std::make_unique<Kept::Made>(Kept::Made{.sources = session_.TimelineInput(),
                                                      .flows = FlowsOf(session_.threads().owners()),
                                                      .kept = {},
                                                      .timeline = {}});
  const TimelineOptions options{.threads = session_.options().ThreadCount(),
                                .in_flight = session_.options().in_flight};
  made->kept.emplace(made->sources, made->flows, options, "",
                     session_.CacheFor(CachedResult::kTimeline));
  if (std::optional<Timeline> known = made->kept->Load()) {
    made->timeline = *std::move(known);
    made->from_cache = true;
  } else {
    Result<Timeline> timeline = MakeTimeline(made->sources, made->flows, options);
    if (!timeline) return Fail(timeline.error());
    made->timeline = *std::move(timeline);
  }
  kept_->timeline = std::move(made);
  return &kept_->timeline->timeline;
}

Result<FlowIndex*> QuerySource::Index() {
  if (index_ != nullptr) return index_;
  if (Status flow = CheckFlow(); !flow) return Fail(flow.error());
  Result<FlowIndex*> index = session_.Index();
  if (!index) return index;
  index_ = *index;
  const std::vector<ThreadFlow>& flows = session_.flows();
  for (const StreamOwner& owner : session_.threads().owners()) {
    const auto flow = std::ranges::find_if(
        flows, [&](const ThreadFlow& each) { return IsSameFlow(each, owner); });
    if (flow == flows.end()) continue;
    threads_.push_back({&owner, static_cast<size_t>(flow - flows.begin())});
    effort_.all_instructions += index_->threads()[threads_.back().number].instructions;
  }
  return index_;
}

// The stacks begin with nothing known, as those of other listings of calls do. Those that other
// commands keep know where a thread comes from: they lie under another key.
bool QuerySource::HasStacks(const QueriedThread& thread) {
  if (!kept_->stacks) {
    IndexCache cache = session_.CacheFor(CachedResult::kIndex);
    if (!cache.key.empty()) cache.key += "-query";
    kept_->stacks.emplace(KeptStacks::Source{*index_, session_.functions(), session_.symbols(),
                                             [this] { return session_.IndexAnew(); }},
                          std::move(cache));
  }
  if (kept_->stacks->Has(thread.number)) return true;
  if (kept_->without_stacks.contains(thread.number)) return false;
  const ExecTimes execs(session_.recording(), session_.clock(), thread.owner->pid);
  kept_->stacks->Make(
      thread.number, {},
      {.exec_between = execs.AsFunction(), .machine = &session_.recording().machine});
  if (kept_->stacks->Has(thread.number)) return true;
  kept_->without_stacks.insert(thread.number);
  return false;
}

size_t QuerySource::EnterStack(const QueriedThread& thread, size_t share, CallStack& stack) {
  // So few shares are played faster than stacks are looked for.
  constexpr size_t kNear = 2;
  if (share <= kNear || !HasStacks(thread)) return 0;
  const ExecTimes execs(session_.recording(), session_.clock(), thread.owner->pid);
  return kept_->stacks->GoTo(
      thread.number, share, stack,
      {.exec_between = execs.AsFunction(), .machine = &session_.recording().machine});
}

std::optional<ThreadStack> QuerySource::StackAt(const QueriedThread& thread, uint64_t time) {
  if (!HasStacks(thread)) return std::nullopt;
  const ExecTimes execs(session_.recording(), session_.clock(), thread.owner->pid);
  return kept_->stacks->At(
      thread.number, {.kind = StackPlace::Kind::kTime, .value = session_.clock().TscAt(time)},
      {.exec_between = execs.AsFunction(), .machine = &session_.recording().machine});
}

void QuerySource::Keep() const {
  if (kept_->timeline && !kept_->timeline->from_cache)
    kept_->timeline->kept->Keep(kept_->timeline->timeline);
  if (kept_->stacks) kept_->stacks->Keep();
}

}  // namespace flowback
