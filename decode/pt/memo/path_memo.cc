// SPDX-License-Identifier: MIT
#include "decode/pt/memo/path_memo.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "decode/effort.h"
#include "decode/pt/time/time_estimator.h"
#include "flowback/model/execution.h"

namespace flowback::pt {

constinit const std::array<uint64_t, Answer::kMostInstructions + 1> Answer::kPowers = [] {
  std::array<uint64_t, kMostInstructions + 1> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * FlowDigest::kFactor;
  return powers;
}();

void ExitCounts::Add(const PathCounts& each, uint64_t times) {
  Of(InstructionClass::kConditional, BlockExit::kTaken) += times * each.taken;
  Of(InstructionClass::kConditional, BlockExit::kNotTaken) += times * each.not_taken;
  Of(InstructionClass::kJump, BlockExit::kTaken) += times * each.jumps;
  Of(InstructionClass::kCall, BlockExit::kTaken) += times * each.calls;
  Of(InstructionClass::kReturn, BlockExit::kTaken) += times * each.returns;
  packets += times * each.packets;
  if (each.branch != InstructionClass::kOther) Of(each.branch, BlockExit::kTaken) += times;
}

bool PathMemo::ApplyDeep(const ReturnStack::Effect& effect, ReturnStack& returns) const {
  return returns.Apply(effect, effects_.Deep(effect));
}

// The path gives its place to another one.
template <class Packets>
void PathMemo::Evict(Path<Packets>& path, PathUses& evicted) {
  if (content_ == MemoContent::kBlocks) return lists_->Free(path.blocks);
  Count(path, evicted);
  if (CountsBlocks())
    lists_->Free(std::exchange(Table<Packets>().list(Table<Packets>().IndexOf(path)), 0));
}

void PathMemo::FollowCalls(CallJudge* judge, PathUses& evicted) {
  if (judge_ == judge) return;
  ForgetAll(evicted);
  judge_ = judge;
  if (judge == nullptr) return;
  tip_tnts_.KeepNotes();
}

uint32_t PathMemo::MakeNote(const PathWalk& walk) {
  const std::span<const BlockStep> steps(walk.steps(), walk.blocks());
  if (judge_ == nullptr) return ends_table_.Keep(PathEnds::Of(steps, walk.node()));
  CallTracker tracker(*judge_);
  tracker.Steps(graph_.Table(), steps, graph_.info(walk.node()).address);
  return call_table_.Keep(tracker.Take());
}

// Not inlined: few memos keep notes.
template <class Packets>
[[gnu::noinline]] void PathMemo::KeepNote(Path<Packets>& path, const PathWalk& walk) {
  const uint32_t note = MakeNote(walk);
  if constexpr (Path<Packets>::kPacketsBeside)
    Table<Packets>().note(Table<Packets>().IndexOf(path)) = note;
  else
    path.set_note(note);
}

BlockLists::Lead PathMemo::LeadOf(std::span<const BlockStep> steps) const {
  BlockLists::Lead lead{};
  for (const BlockStep step : steps) {
    const Node& node = graph_.node(step.number());
    ++lead.steps;
    lead.instructions += node.count;
    if (TimeEstimator::TakesPacket(node.last, ExitOf(node.last, step.taken()))) return lead;
  }
  return {};
}

// Not inlined: sums keep no lists, and learn paths as often.
template <class Packets>
[[gnu::noinline]] void PathMemo::KeepList(Path<Packets>& path, const PathWalk& walk,
                                          Answer answer) {
  BlockLists::Ref list = 0;
  if (answer.is_path()) {
    const std::span steps(walk.steps(), walk.blocks());
    std::array<StepCount, BlockLists::kMost> counts;
    for (size_t i = 0; i < steps.size(); ++i)
      counts[i] = StepCount::Of(graph_.node(steps[i].number()).count);
    list = lists_->Keep(steps, counts.data(), LeadOf(steps));
  }
  if (content_ == MemoContent::kBlocks)
    path.blocks = list;
  else
    Table<Packets>().list(Table<Packets>().IndexOf(path)) = list;
  path.set_block_count(BlockLists::CountOf(list));
}

template <class Packets>
Path<Packets>* PathMemo::Keep(const PathKey<Packets>& key, Answer answer, const PathWalk& walk,
                              PathUses& evicted) {
  if (kept_ < kManyPaths && ++kept_ == kManyPaths) pool_.MakeResident();
  PathTable<Packets>& table = Table<Packets>();
  Path<Packets>& path = table.At(key);
  Evict(path, evicted);
  path = {.key = key.With(answer),
          .beside = Path<Packets>::kPacketsBeside ? key.packets().word() : 0u,
          .hash = walk.hash(),
          .next = Seed::Of(walk.node()),
          .uses = 0};
  if (lists_) KeepList(path, walk, answer);
  if (KeepsNotes() && answer.is_path()) KeepNote(path, walk);
  if (answer.is_path()) path.set_effect(walk.KeepEffect(effects_));
  if (content_ != MemoContent::kBlocks) table.counts(table.IndexOf(path)) = walk.counts();
  return &path;
}

template <class Packets>
void PathMemo::ForgetTable(PathUses& evicted) {
  for (size_t i = 0; i < PathTable<Packets>::kSize; ++i) {
    Path<Packets>& path = Table<Packets>()[i];
    Evict(path, evicted);
    path = {};
  }
}

// There is no room for another effect.
void PathMemo::ForgetAll(PathUses& evicted) {
  ForgetTable<TipTnt>(evicted);
  ForgetTable<TntPair>(evicted);
  CountEnds(evicted);
  used_.clear();
  effects_.Clear();
  call_table_.Clear();
  ends_table_.Clear();
}

// The result, or why it can't be kept.
PathWalk::Result PathMemo::Judge(const PathWalk& walk, PathWalk::Result result) {
  if (result == PathWalk::Result::kPath && lists_) {
    if (walk.blocks() > BlockLists::kMost)
      result = PathWalk::Result::kNever;
    else if (!lists_->HasRoom(walk.blocks()))
      result = PathWalk::Result::kNotNow;
  }
  slow_ = result == PathWalk::Result::kPath     ? SlowPacket::kNewPath
          : result == PathWalk::Result::kNotNow ? SlowPacket::kUnknownCall
                                                : SlowPacket::kNoPath;
  return result;
}

// Keeps what was walked: at its place, or after as many calls as make it distinct, but no more than
// Answer::kMostBehind.
template <class Packets>
[[gnu::always_inline]] inline Path<Packets>* PathMemo::Place(PathKey<Packets> key,
                                                             const PathWalk& walk,
                                                             const ReturnStack& returns,
                                                             PathUses& evicted) {
  const unsigned deepest = std::min(walk.needs(), Answer::kMostBehind);
  for (unsigned newer = 0; newer < deepest; ++newer) {
    const Answer here = Table<Packets>().At(key).AnswerTo(key);
    // A path that is here already is for other calls.
    if (here.is_path())
      Keep(key, Answer::LookBehindCall(), walk, evicted);
    else if (here != Answer::LookBehindCall())
      break;
    key.LookBehind(returns.CallAt(newer));
  }
  return Keep(key, walk.answer(), walk, evicted);
}

template <class Packets>
Path<Packets>* PathMemo::Learn(Seed seed, Packets packets, const ReturnStack& returns,
                               PathUses& evicted) {
  if (effects_.full() || call_table_.full() || ends_table_.full()) ForgetAll(evicted);
  const PathKey<Packets> key(seed, packets);
  slow_ = SlowPacket::kNoPath;
  if (FirstAnswer(seed, packets) == Answer::Never()) return nullptr;
  PathWalk walk(graph_, compressed_returns_, seed.node(), returns,
                lists_ ? scratch_.data() : nullptr);
  const PathWalk::Result result = Judge(walk, walk.Take(packets));
  if (result == PathWalk::Result::kPath) return Place(key, walk, returns, evicted);
  // Behind other calls it may be a path.
  if (result == PathWalk::Result::kNever && walk.needs() == 0)
    Keep(key, Answer::Never(), walk, evicted);
  return nullptr;
}

template <class Packets>
Path<Packets>* PathMemo::Find(Seed seed, Packets packets, const ReturnStack& returns,
                              PathUses& evicted) {
  const auto [path, answer] = LookUp(seed, packets, returns);
  slow_.reset();
  const bool found = answer.is_path() && Allows(*path, returns);
  return found ? path : Learn(seed, packets, returns, evicted);
}

template Path<TipTnt>* PathMemo::Learn(Seed, TipTnt, const ReturnStack&, PathUses&);
template Path<TntPair>* PathMemo::Learn(Seed, TntPair, const ReturnStack&, PathUses&);
template Path<TipTnt>* PathMemo::Find(Seed, TipTnt, const ReturnStack&, PathUses&);
template Path<TntPair>* PathMemo::Find(Seed, TntPair, const ReturnStack&, PathUses&);

template <class Packets>
void PathMemo::Count(Path<Packets>& path, PathUses& sums) {
  if (sums.marks != nullptr) {
    sums.marks->Use(graph_);
    MarkUses(path, *sums.marks);
  } else {
    AddUses(path, sums);
  }
}

template void PathMemo::Count(Path<TipTnt>& path, PathUses& sums);
template void PathMemo::Count(Path<TntPair>& path, PathUses& sums);

template <class Packets>
void PathMemo::AddUses(Path<Packets>& path, PathUses& sums) {
  if (path.uses == 0) return;
  const uint32_t uses = std::exchange(path.uses, 0);
  PathTable<Packets>& table = Table<Packets>();
  const uint32_t index = table.IndexOf(path);
  if (CountsBlocks()) CountBlocks(uses, path.next, table.list(index), sums);
  if (sums.ranges != nullptr) {
    sums.ranges->Use(graph_);
    sums.ranges->AddWithin(lists_->At(table.list(index)), path.next.node(), uses);
  }
  sums.exits.Add(table.counts(index), uses);
}

template <class Packets>
void PathMemo::MarkUses(Path<Packets>& path, flow::BlockMarks& marks) {
  if (path.uses == 0) return;
  PathTable<Packets>& table = Table<Packets>();
  marks.Add(lists_->At(table.list(table.IndexOf(path))), std::exchange(path.uses, 0));
}

void PathMemo::FetchAhead(uint32_t used) const {
  const uint32_t index = used & ~kUsedPair;
  if ((used & kUsedPair) != 0)
    tnt_pairs_.FetchAhead(index);
  else
    tip_tnts_.FetchAhead(index);
}

void PathMemo::FetchListAhead(uint32_t used) {
  const uint32_t index = used & ~kUsedPair;
  lists_->FetchAhead((used & kUsedPair) != 0 ? tnt_pairs_.list(index) : tip_tnts_.list(index));
}

// Calls `visit` for each path that was used. Most of them are far apart in memory, and so are their
// lists of blocks, where there are any: the memory is asked for them before they are needed.
template <class Visitor>
void PathMemo::ForEachUsed(Visitor visit) {
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < used_.size(); ++i) {
    if (i + 2 * kAhead < used_.size()) FetchAhead(used_[i + 2 * kAhead]);
    if (CountsBlocks() && i + kAhead < used_.size()) FetchListAhead(used_[i + kAhead]);
    const uint32_t index = used_[i] & ~kUsedPair;
    if ((used_[i] & kUsedPair) != 0)
      visit(tnt_pairs_[index]);
    else
      visit(tip_tnts_[index]);
  }
  used_.clear();
}

void PathMemo::CountUses(PathUses& sums) {
  CountEnds(sums);
  if (sums.marks == nullptr) return ForEachUsed([&](auto& path) { AddUses(path, sums); });
  sums.marks->Use(graph_);
  ForEachUsed([&](auto& path) { MarkUses(path, *sums.marks); });
}

// The ranges that two paths have in common.
void PathMemo::CountEnds(PathUses& sums) {
  if (sums.ranges == nullptr) return;
  sums.ranges->Use(graph_);
  ends_table_.Count(*sums.ranges);
}

// A path's last block leads to where the path does; what comes behind an indirect branch is where
// that led.
void PathMemo::CountBlocks(uint32_t uses, Seed next, BlockLists::Ref list, PathUses& sums) const {
  if (sums.blocks == nullptr) return;
  sums.blocks->Use(graph_);
  const std::span<const BlockStep> steps = lists_->At(list);
  for (size_t i = 0; i < steps.size(); ++i) {
    sums.blocks->Add(steps[i], uses);
    if (!IsIndirect(graph_.node(steps[i].number()).last)) continue;
    const uint32_t to = i + 1 < steps.size() ? steps[i + 1].number() : next.node();
    sums.blocks->AddTarget(steps[i].number(), graph_.info(to).address, uses);
  }
}

}  // namespace flowback::pt
