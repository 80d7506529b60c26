// SPDX-License-Identifier: MIT
#include "replay/calls/kept_stacks.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "flowback/model/flow_segment.h"
#include "replay/calls/shadow_stack/call_stack_archive.h"
#include "replay/calls/share_walk.h"
#include "replay/calls/stack_chain.h"
#include "replay/calls/stack_snapshots.h"
#include "replay/flow/index_disk.h"
#include "replay/flow/index_spaces.h"
#include "replay/flow/share_calls.h"
#include "replay/flow/share_search.h"
#include "replay/flow/space_names.h"
#include "replay/symbols/symbol_sources.h"

namespace flowback {
namespace {

using Clock = std::chrono::steady_clock;

std::string NameOf(const IndexCache& cache) { return "stacks-" + cache.key; }

uint64_t TraceBytes(const FlowIndex& index) {
  std::set<const Stream*> streams;
  uint64_t bytes = 0;
  for (const IndexedThread& thread : index.threads())
    for (const FlowShare& share : thread.shares)
      if (streams.insert(share.stream).second) bytes += share.stream->bytes.size();
  return bytes;
}

// The share with the place; their number: it lies behind all of them.
size_t ShareOf(const IndexedThread& thread, const StackPlace& place) {
  if (place.kind == StackPlace::Kind::kTime) return ShareOfTime(thread, place.value);
  const auto holds = [&](const FlowShare& share) {
    return place.kind == StackPlace::Kind::kInstruction &&
           place.value - share.first < share.instructions;
  };
  return static_cast<size_t>(std::ranges::find_if(thread.shares, holds) - thread.shares.begin());
}

// What may be kept at the begin of a share. A state must fit in what the flow so far gives room
// for; and making it in the time that the flow since the last one took.
class Allowance {
 public:
  // `part`: as KeptStacks has it.
  Allowance(const FlowIndex& index, uint64_t part) : bytes_(TraceBytes(index)), part_(part) {
    for (const IndexedThread& thread : index.threads()) all_ += thread.instructions;
  }
  // Notes that the thread has executed `instructions` instructions.
  void PassTo(uint64_t instructions) {
    passed_ += instructions - thread_;
    since_ += instructions - thread_;
    thread_ = instructions;
  }
  bool MayTry() const { return part_ == 0 || since_ >= kPerByte * last_size_; }
  void Tried(size_t size) {
    last_size_ = size;
    since_ = 0;
  }
  uint64_t Left(uint64_t used) const {
    if (part_ == 0) return UINT64_MAX;
    const double earned = static_cast<double>(bytes_) / static_cast<double>(part_) *
                          static_cast<double>(passed_) / static_cast<double>(std::max(all_, kOne));
    return static_cast<uint64_t>(earned) - std::min(used, static_cast<uint64_t>(earned));
  }

 private:
  static constexpr uint64_t kOne = 1;
  static constexpr uint64_t kPerByte = 8;  // instructions

  uint64_t bytes_;
  uint64_t part_;
  uint64_t all_ = 0;
  uint64_t passed_ = 0;
  uint64_t thread_ = 0;  // of the thread's instructions
  uint64_t since_ = 0;
  size_t last_size_ = 0;
};

}  // namespace

class KeptStacks::Impl {
 public:
  Impl(const Source& source, IndexCache cache, uint64_t part)
      : source_(source), cache_(std::move(cache)), part_(part) {
    if (!IsUsable(cache_)) return;
    const auto file = DiskOf(cache_).Load(NameOf(cache_));
    if (file != nullptr && Read(file->content())) return;
    chains_.clear();
    calls_.clear();
  }

  bool Has(size_t thread) const { return chains_.contains(thread); }

  void Make(size_t number, ThreadOrigin origin, const StackSnapshots::Options& options) {
    const auto begin = Clock::now();
    const IndexedThread& thread = source_.index.threads()[number];
    StackSnapshots taker(source_.functions, {{.kind = StackPlace::Kind::kEnd}}, std::move(origin),
                         options);
    StackChain chain;
    Allowance allowance(source_.index, part_);
    const std::vector<ShareCalls>* const calls = FindCalls(number);
    const ShareWalk::Listener listener{
        .begins = [&](size_t share) { TryToKeep(share, taker, allowance, chain); },
        .played =
            [&](size_t share) {
              chain.Note(static_cast<uint32_t>(share), taker.TakeTold());
              allowance.PassTo(thread.shares[share].first + thread.shares[share].instructions);
            }};
    ShareWalk walk(source_.index, thread, calls, taker);
    for (size_t share = 0; share < thread.shares.size();)
      share = walk.Go(share, std::min(share + kMostPassed, thread.shares.size()), true, &listener);
    if (chain.empty() && !thread.shares.empty()) return;  // it begins with unknown flow
    chains_.insert_or_assign(number, std::move(chain));
    passed_over_ += walk.passed_over();
    if (calls != nullptr && MayKeep(*calls)) calls_.insert_or_assign(number, *calls);
    took_ += Clock::now() - begin;
  }

  ThreadStack At(size_t number, const StackPlace& place,
                 const StackSnapshots::Options& options) const {
    const IndexedThread& thread = source_.index.threads()[number];
    const StackChain& chain = chains_.at(number);
    const size_t end = thread.shares.size();
    std::optional<StackSnapshots> made;
    const auto from = [&](bool leaps) {
      made.emplace(source_.functions, std::vector{place}, ThreadOrigin(), options);
      return end == 0 ? Came{} : GoNear(number, place, leaps, *made);
    };
    Came came = from(true);
    if (!came.right) came = from(false);
    StackSnapshots& taker = *made;
    size_t at = came.share;
    while (at < end && !taker.TookAll()) Play(thread.shares[at++], taker);
    while (at < end && !taker.Done()) {
      const auto told = chain.NextTold(static_cast<uint32_t>(at), taker);
      if (!told) break;
      const auto kept = chain.LastUpTo(*told);
      if (kept && chain.ShareOf(*kept) > at &&
          taker.FromBytes(chain.State(*kept), IndexSpaces::Of(source_.index)))
        at = chain.ShareOf(*kept);
      while (at <= *told && !taker.Done()) Play(thread.shares[at++], taker);
    }
    if (!taker.Done()) taker.OnThreadEnd({}, 0);
    std::vector<ThreadStack> stacks = taker.Take();
    return stacks.empty() ? ThreadStack() : std::move(stacks.front());
  }

  size_t Enter(size_t number, size_t share, CallStack& stack) const {
    const StackChain& chain = chains_.at(number);
    for (auto kept = chain.LastUpTo(static_cast<uint32_t>(share)); kept; kept = Before(*kept))
      if (CallStackArchive::FromBytes(stack, StackSnapshots::StackPart(chain.State(*kept)),
                                      IndexSpaces::Of(source_.index)))
        return chain.ShareOf(*kept);
    return 0;
  }

  size_t GoTo(size_t number, size_t share, CallStack& stack,
              const StackSnapshots::Options& options) const {
    const StackPlace place{.kind = StackPlace::Kind::kInstruction,
                           .value = source_.index.threads()[number].shares[share].first};
    const SpaceNames& spaces = IndexSpaces::Of(source_.index);
    for (const bool leaps : {true, false}) {
      StackSnapshots taker(source_.functions, {{.kind = StackPlace::Kind::kEnd}}, {}, options);
      const Came came = GoNear(number, place, leaps, taker);
      if (!came.right) continue;
      const std::vector<uint8_t> state = taker.ToBytes(spaces);
      if (!state.empty() &&
          CallStackArchive::FromBytes(stack, StackSnapshots::StackPart(state), spaces))
        return came.share;
    }
    return Enter(number, share, stack);
  }

  void Keep() const {
    // The skipped parts are known from the pass that made the index: with a kept index they must be
    // played.
    const bool worth =
        passed_over_ != 0 || took_ > std::chrono::milliseconds(cache_.worth_milliseconds);
    if (!worth || !IsUsable(cache_)) return;
    const DiskCache disk = DiskOf(cache_);
    if (disk.Store(NameOf(cache_), ToBytes())) disk.Trim();
  }

  std::vector<uint8_t> ToBytes() const {
    NumberWriter out;
    NoteSources(out, source_.symbolizer);
    out.Number(chains_.size());
    for (const auto& [number, chain] : chains_) {
      const IndexedThread& thread = source_.index.threads()[number];
      out.Number(number);
      out.Number(static_cast<uint32_t>(thread.tid));
      out.Number(thread.shares.size());
      out.Number(thread.instructions);
      chain.Write(out);
      WriteCalls(out, CallsOf(number));
    }
    return out.Take();
  }

  size_t passed_over() const { return passed_over_; }
  size_t place_count() const {
    size_t count = 0;
    for (const auto& [number, chain] : chains_) count += chain.size();
    return count;
  }

 private:
  static std::optional<size_t> Before(size_t kept) {
    return kept == 0 ? std::nullopt : std::optional(kept - 1);
  }

  // Whether that takes no more than a part of the trace, too.
  bool MayKeep(const std::vector<ShareCalls>& calls) const {
    constexpr uint64_t kShare = 12;   // bytes in the file, about
    constexpr uint64_t kAddress = 4;  // for an address
    uint64_t bytes = 0;
    for (const ShareCalls& share : calls) bytes += kShare + kAddress * share.change.size();
    return part_ == 0 || bytes <= TraceBytes(source_.index) / part_;
  }

  // Where a taker came to.
  struct Came {
    size_t share = 0;
    bool right = true;
  };
  // To the share with the place, or to the one before it where its time is estimated.
  Came GoNear(size_t number, const StackPlace& place, bool leaps, StackSnapshots& taker) const {
    const IndexedThread& thread = source_.index.threads()[number];
    size_t share = std::min(ShareOf(thread, place), thread.shares.size() - 1);
    const bool by_time = place.kind == StackPlace::Kind::kTime;
    if (by_time && share != 0) --share;
    if (!by_time && EnterRecent(number, share, taker)) return {.share = share};
    const size_t kept = Enter(thread, chains_.at(number), place, taker);
    if (kept >= share) return {.share = kept};
    ShareWalk walk(source_.index, thread, CallsOf(number), taker);
    const size_t at = walk.Go(kept, share, leaps);
    if (!by_time && at == share && !walk.went_wrong()) NoteRecent(number, share, taker);
    return {.share = at, .right = !walk.went_wrong()};
  }
  // As the index has them, or the index made anew. Null: they are not known.
  const std::vector<ShareCalls>* FindCalls(size_t number) {
    if (const auto* const calls = IndexCalls::Of(source_.index, number)) return calls;
    const std::vector<FlowShare>& shares = source_.index.threads()[number].shares;
    if (shares.size() < kManyShares || !source_.index.from_cache() || !source_.index_anew)
      return nullptr;
    if (!index_anew_) {
      Result<FlowIndex> made = source_.index_anew();
      if (!made) return nullptr;
      index_anew_.emplace(*std::move(made));
    }
    if (number >= index_anew_->threads().size() ||
        index_anew_->threads()[number].shares.size() != shares.size())
      return nullptr;
    return IndexCalls::Of(*index_anew_, number);
  }
  const std::vector<ShareCalls>* CallsOf(size_t number) const {
    const auto calls = calls_.find(number);
    return calls == calls_.end() ? nullptr : &calls->second;
  }
  bool EnterRecent(size_t number, size_t share, StackSnapshots& taker) const {
    const auto is_it = [&](const Recent& recent) {
      return recent.thread == number && recent.share == share;
    };
    const auto recent = std::ranges::find_if(recent_, is_it);
    return recent != recent_.end() && !taker.IsBehindLoss() &&
           taker.FromBytes(recent->state, IndexSpaces::Of(source_.index));
  }
  void NoteRecent(size_t number, size_t share, StackSnapshots& taker) const {
    std::vector<uint8_t> state = taker.ToBytes(IndexSpaces::Of(source_.index));
    if (state.empty() || taker.IsBehindLoss()) return;
    if (recent_.size() == kMostRecent) recent_.erase(recent_.begin());
    recent_.push_back({number, share, std::move(state)});
  }

  void TryToKeep(size_t share, StackSnapshots& taker, Allowance& allowance,
                 StackChain& chain) const {
    taker.TakeTold();
    if (share != 0 && !allowance.MayTry()) return;
    const std::vector<uint8_t> state = taker.ToBytes(IndexSpaces::Of(source_.index));
    const uint64_t most = share == 0 ? UINT64_MAX : allowance.Left(chain.bytes());
    if (!state.empty()) chain.Add(static_cast<uint32_t>(share), state, most);
    allowance.Tried(state.size());
  }

  // False: it is of something else, or nothing.
  bool Read(Bytes bytes) {
    NumberReader in(bytes);
    if (!HaveStayed(in, source_.symbolizer)) return false;
    const std::vector<IndexedThread>& threads = source_.index.threads();
    for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
      const uint64_t number = in.Number();
      if (number >= threads.size()) return false;
      const IndexedThread& thread = threads[number];
      if (in.Number() != static_cast<uint32_t>(thread.tid) || in.Number() != thread.shares.size() ||
          in.Number() != thread.instructions)
        return false;
      chains_[number].Read(in, thread.shares.size());
      if (chains_[number].empty() && !thread.shares.empty()) return false;
      std::vector<ShareCalls> calls = ReadCalls(in);
      if (calls.size() == thread.shares.size()) calls_[number] = std::move(calls);
    }
    return in.Done();
  }

  void Play(const FlowShare& share, ExecutionConsumer& consumer) const {
    source_.index.Play(share, consumer);
  }

  // To the nearest kept place that is not behind the wanted one; returns its share. A share's times
  // are the index's, and its flow's times may differ from them where they are estimated: so the
  // kept place decides whether the wanted time has passed.
  size_t Enter(const IndexedThread& thread, const StackChain& chain, const StackPlace& place,
               StackSnapshots& taker) const {
    const size_t share = std::min(ShareOf(thread, place), thread.shares.size() - 1);
    const bool by_time = place.kind == StackPlace::Kind::kTime;
    for (auto kept = chain.LastUpTo(static_cast<uint32_t>(share)); kept; kept = Before(*kept)) {
      if (!taker.FromBytes(chain.State(*kept), IndexSpaces::Of(source_.index))) continue;
      if (by_time && taker.tsc() != 0 && taker.tsc() >= place.value) continue;
      if (taker.IsBehindLoss()) FindLoss(thread, chain.ShareOf(*kept), taker);
      return chain.ShareOf(*kept);
    }
    return 0;
  }

  // The last one before the share.
  void FindLoss(const IndexedThread& thread, size_t share, StackSnapshots& taker) const {
    while (share != 0 && thread.shares[share - 1].losses == 0) --share;
    if (share == 0) return;
    source_.index.Load(thread.shares[share - 1], segment_);
    for (size_t item = segment_.size(); item-- != 0;)
      if (segment_[item].kind == FlowSegment::Kind::kLoss)
        return taker.SetLoss(segment_.Loss(item));
  }

  const Source source_;
  const IndexCache cache_;
  const uint64_t part_;
  // The largest number of shares passed over between two that are played.
  static constexpr size_t kMostPassed = 4096;
  static constexpr size_t kMostRecent = 8;
  // A state that was come to lately, at the begin of a share.
  struct Recent {
    size_t thread = 0;
    size_t share = 0;
    std::vector<uint8_t> state;
  };

  // Threads with fewer are played in full at once.
  static constexpr size_t kManyShares = 32;

  std::optional<FlowIndex> index_anew_;
  std::map<size_t, StackChain> chains_;              // by thread
  std::map<size_t, std::vector<ShareCalls>> calls_;  // by thread, where they are known
  mutable std::vector<Recent> recent_;               // the latest last
  Clock::duration took_{};
  size_t passed_over_ = 0;  // shares, by Make
  mutable FlowSegment segment_;
};

KeptStacks::KeptStacks(const Source& source, IndexCache cache, uint64_t part)
    : impl_(std::make_unique<Impl>(source, std::move(cache), part)) {}
KeptStacks::KeptStacks(KeptStacks&&) noexcept = default;
KeptStacks& KeptStacks::operator=(KeptStacks&&) noexcept = default;
KeptStacks::~KeptStacks() = default;

bool KeptStacks::Has(size_t thread) const { return impl_->Has(thread); }
void KeptStacks::Make(size_t thread, ThreadOrigin origin, const StackSnapshots::Options& options) {
  impl_->Make(thread, std::move(origin), options);
}
ThreadStack KeptStacks::At(size_t thread, const StackPlace& place,
                           const StackSnapshots::Options& options) const {
  return impl_->At(thread, place, options);
}
size_t KeptStacks::Enter(size_t thread, size_t share, CallStack& stack) const {
  return impl_->Enter(thread, share, stack);
}
size_t KeptStacks::GoTo(size_t thread, size_t share, CallStack& stack,
                        const StackSnapshots::Options& options) const {
  return impl_->GoTo(thread, share, stack, options);
}
void KeptStacks::Keep() const { impl_->Keep(); }
size_t KeptStacks::file_bytes() const { return impl_->ToBytes().size(); }
size_t KeptStacks::passed_over() const { return impl_->passed_over(); }
size_t KeptStacks::place_count() const { return impl_->place_count(); }

}  // namespace flowback
