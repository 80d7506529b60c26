// SPDX-License-Identifier: MIT
// FlowEngine, the hot loop of sinks that count, or that take lists of blocks: whole packets by the
// memo of walks.
//
// It does what RunHot does, but here one look-up (path_memo.h) takes the place of the walk of a TNT
// packet, of two full ones, or of a TIP and the TNT behind it. It takes long TNT packets, too. If
// the sink receives packets, a packet with the time is taken by itself (RunPastTime), and so are
// those behind it for as long as the sink must see each block.
#pragma once

#include "decode/effort.h"
#include "decode/pt/engine/flow_hot.h"
#include "decode/pt/memo/path_memo.h"
#include "decode/pt/memo/quick_packets.h"

namespace flowback::pt {

// Where CYC packets are there, one stands before most others: they get a loop of their own, so that
// the usual one need not look for them.
template <FlowSink Sink>
typename FlowEngine<Sink>::HotStop FlowEngine<Sink>::RunMemoised() {
  if constexpr (!Sink::kHearsPackets || kTimesPaths)
    if (CycInLoop()) return RunMemoised<true>();
  return RunMemoised<false>();
}

// Goes along paths, from where the engine stands, on copies that stay in registers; the engine
// knows of it when it ends.
template <FlowSink Sink>
struct FlowEngine<Sink>::PathRun {
  FlowEngine& engine;
  PathMemo& memo;
  Seed seed{};
  FlowDigest flow{};
  BlockStep* steps = nullptr;   // behind the last one; of sinks that take lists of blocks
  StepCount* counts = nullptr;  // the same for their counts
  BlockStep* limit = nullptr;
  uint64_t blocks = 0;  // on paths; of sinks that sum them up
  const bool follows = Follows(engine.sink_);

  [[gnu::always_inline]] void Begin() {
    if constexpr (Sink::kListsBlocks) {
      engine.sink_.BeginPaths(*engine.graph_, engine.cur_, engine.Now());
      steps = engine.sink_.end();
      counts = engine.sink_.counts_end();
      limit = engine.sink_.Limit();
    }
    if constexpr (Sink::kCountsRanges)
      engine.sink_.BeginPaths(*engine.graph_, engine.cur_, engine.Now());
    seed = Seed::Of(engine.cur_);
    flow = engine.sink_.flow();
  }
  [[gnu::always_inline]] void End() {
    engine.cur_ = seed.node();
    engine.sink_.flow() = flow;
    if constexpr (Sink::kSumsBlocks) engine.sink_.AddBlocks(std::exchange(blocks, 0));
    if constexpr (Sink::kListsBlocks) engine.sink_.EndPaths(*engine.graph_, engine.cur_, steps);
    if constexpr (Sink::kCountsRanges) engine.sink_.EndPaths(engine.cur_);
  }
  bool IsFull() const { return steps > limit; }
  static bool Follows([[maybe_unused]] const Sink& sink) {
    if constexpr (Sink::kFollowsCalls) return sink.judge() != nullptr;
    return false;
  }
  // REQUIRES: what the path does to the stack has been done.
  template <class Packets>
  [[gnu::always_inline]] void Add(Path<Packets>& path, Answer answer) {
    flow.hash = flow.hash * answer.power() + path.hash;
    flow.count += answer.instructions();
    seed = path.next;
    if constexpr (Sink::kSumsBlocks) blocks += memo.BlocksOf(path);
    if constexpr (Sink::kFollowsCalls)
      if (follows) memo.FollowCallsOf(path, engine.sink_.calls());
    if constexpr (Sink::kCountsRanges) engine.sink_.OnPath(memo, path);
    if constexpr (Sink::kListsBlocks) {
      constexpr unsigned kAtOnce = Packets::kUsualBlocks;
      const unsigned count = memo.lists().template Copy<kAtOnce>(path.blocks, steps);
      steps += count;
      if constexpr (Sink::kWantsTimes)
        counts += memo.lists().template CopyCounts<kAtOnce>(path.blocks, counts);
    } else if constexpr (Sink::kCountsUses) {
      if (path.uses++ == 0) [[unlikely]]
        engine.sink_.Use(memo, path);
    }
  }
};

// Handles only the usual packets, on copies of the state that stay in registers. For other packets
// the copies are put back (`put`), and made anew afterwards (`fetch`).
template <FlowSink Sink>
template <bool kOverCyc>
typename FlowEngine<Sink>::HotStop FlowEngine<Sink>::RunMemoised() {
  if (memo_ == nullptr || &memo_->graph() != graph_) {
    sink_.CountUses();  // another one may have to go
    memo_ = &memos_.Of(*graph_, compressed_returns_, Sink::kMemoContent);
    if constexpr (Sink::kFollowsCalls) memo_->FollowCalls(sink_.judge(), sink_.uses());
  }
  PathMemo& memo = *memo_;
  if constexpr (Sink::kHearsPackets)
    if (const std::optional<HotStop> stop = RunToPaths(memo)) return *stop;
  // Uses are counted in 32 bits, and each takes a byte of the stream at least.
  constexpr ptrdiff_t kMostUses = ptrdiff_t{1} << 31;
  if (uses_begin_ == nullptr || pos_ - uses_begin_ >= kMostUses) {
    sink_.CountUses();
    uses_begin_ = pos_;
  }
  const bool all = hot_end_ - uses_begin_ <= kMostUses;
  const uint8_t* const last = (all ? hot_end_ : uses_begin_ + kMostUses) - QuickPackets::kRoom;
  const uint8_t* end = last;
  const uint8_t* pos;
  uint64_t last_ip;
  PathRun run{*this, memo};
  const auto fetch = [&]() __attribute__((always_inline)) {
    run.Begin();
    pos = pos_;
    last_ip = last_ip_.value();
    end = TipTnt::HasWord(last_ip) ? last : nullptr;
  };
  const auto put = [&]() __attribute__((always_inline)) {
    run.End();
    pos_ = pos;
    last_ip_.Set(last_ip);
  };
  fetch();
  while (pos <= end) {
    if constexpr (Sink::kListsBlocks) {
      if (run.IsFull()) [[unlikely]] {
        put();
        sink_.MakeRoom();
        if (const std::optional<HotStop> stop = RunToPaths(memo)) return *stop;
        fetch();
        continue;
      }
    }
    if constexpr (kOverCyc && kTimesPaths) {
      if ((*pos & 3) == 3) {  // before most packets
        if (RunCycs(run, pos, end, last_ip)) [[likely]]
          continue;
        put();
        if (const std::optional<HotStop> stop = RunPastTime(memo)) return *stop;
        fetch();
        continue;
      }
    } else if constexpr (kOverCyc) {
      if ((*pos & 3) == 3) {  // before most packets
        const QuickCyc cyc = QuickCyc::Read(pos);
        clock_.OnCycles(cyc.cycles);
        pos += cyc.size;
      }
    }
    if (const TntPair two = FullPair::Load(pos); FullPair::Match(two)) {
      const auto [path, answer] = memo.LookUp(run.seed, two, returns_);
      if (answer.is_path()) [[likely]] {
        if (!answer.has_effect() || memo.Apply(*path, returns_)) {
          run.Add(*path, answer);
          pos += FullPair::kSize;
          continue;
        }
      }
    } else if (const QuickPackets quick =
                   QuickPackets::Read(pos, last_ip, kOverCyc && !kTimesPaths);
               quick.size != 0) [[likely]] {
      const auto [path, answer] = memo.LookUp(run.seed, quick.packets, returns_);
      if (answer.is_path()) [[likely]] {
        if (!answer.has_effect() || memo.Apply(*path, returns_)) [[likely]] {
          run.Add(*path, answer);
          if constexpr (kOverCyc && !kTimesPaths) clock_.OnCycles(quick.cycles);
          last_ip = quick.last_ip;
          pos += quick.size;
          continue;
        }
      }
    } else if (const uint8_t byte = *pos; Sink::kHearsPackets && byte != 0) {
      // Perhaps a time.
    } else if (byte == Mtc::kOpcode.value) {
      clock_.On(Mtc{pos[1]});
      pos += 2;
      continue;
    } else if (const QuickCyc cyc = QuickCyc::Read(pos);
               cyc.size == 1 || (cyc.size != 0 && !errata_.cyc_cut_by_ovf)) {
      clock_.OnCycles(cyc.cycles);
      cycles_told_ = true;
      pos += cyc.size;
      continue;
    } else if (byte == 0) {
      account_.AddPadding(1);
      ++pos;
      continue;
    }
    put();
    std::optional<HotStop> stop;
    if constexpr (Sink::kHearsPackets)
      stop = QuickPackets::TellsTime(*pos_) ? RunPastTime(memo) : RunUnusual(memo);
    else
      stop = RunUnusual(memo);
    if (stop) return *stop;
    if constexpr (kTimesPaths && !kOverCyc)
      if (CycInLoop()) return RunMemoised<true>();
    fetch();
  }
  put();
  if (!all && end != nullptr) {
    uses_begin_ = nullptr;
    return RunMemoised<kOverCyc>();
  }
  return RunHot();  // the last few bytes, or addresses of more bits
}

// CYC packets, up to `end`, each with the packets behind it, which it times, by one path. False,
// and nothing is done: the first one is not as usual.
template <FlowSink Sink>
[[gnu::always_inline]] inline bool FlowEngine<Sink>::RunCycs(PathRun& run, const uint8_t*& pos,
                                                             const uint8_t* end,
                                                             uint64_t& last_ip) {
  if (!sink_.TakesCyc() || !clock_.HasTime()) [[unlikely]]
    return false;
  sink_.BeginCycs(clock_.Terms());
  const uint8_t* const begin = pos;
  bool more = true;
  while (more && (*pos & 3) == 3 && pos <= end && !run.IsFull())
    if (!RunCyc(run, pos, last_ip, more)) [[unlikely]]
      break;
  return pos != begin;
}

// One of them. False, and nothing is done: it is not as usual. `more`: others may follow.
template <FlowSink Sink>
[[gnu::always_inline]] inline bool FlowEngine<Sink>::RunCyc(PathRun& run, const uint8_t*& pos,
                                                            uint64_t& last_ip, bool& more) {
  const QuickCyc cyc = QuickCyc::Read(pos);
  if (cyc.size == 0) [[unlikely]]
    return false;
  PathMemo& memo = run.memo;
  const auto take = [&](auto& path, Answer answer) __attribute__((always_inline)) {
    if (!answer.is_path()) [[unlikely]]
      return false;
    if (answer.has_effect() && !memo.Apply(path, returns_)) [[unlikely]]
      return false;
    clock_.OnCycles(cyc.cycles);
    const BlockStep* const begin = run.steps;
    const uint64_t before = run.flow.count;
    run.Add(path, answer);
    more = sink_.Cyc(clock_.cycles_told(), begin, before, memo.lists().LeadOf(path.blocks));
    return true;
  };
  const uint8_t* const at = pos + cyc.size;
  if (const TntPair two = FullPair::Load(at); FullPair::Match(two)) {
    const auto [path, answer] = memo.LookUp(run.seed, two, returns_);
    if (!take(*path, answer)) return false;
    pos = at + FullPair::kSize;
    return true;
  }
  const QuickPackets quick = QuickPackets::Read(at, last_ip, false);
  if (quick.size == 0) return false;
  const auto [path, answer] = memo.LookUp(run.seed, quick.packets, returns_);
  if (!take(*path, answer)) return false;
  last_ip = quick.last_ip;
  pos = at + quick.size;
  return true;
}

// Takes packets one by one for as long as the sink must hear of each. Empty: paths may be taken
// now.
template <FlowSink Sink>
std::optional<typename FlowEngine<Sink>::HotStop> FlowEngine<Sink>::RunToPaths(PathMemo& memo) {
  if (sink_.Done()) return HotStop::kOther;
  return sink_.TakesPaths() ? std::nullopt : RunPastTime(memo);
}

// Takes a packet with the time, and later ones whose times it changes.
template <FlowSink Sink>
[[gnu::noinline]] std::optional<typename FlowEngine<Sink>::HotStop> FlowEngine<Sink>::RunPastTime(
    PathMemo& memo) {
  while (hot_end_ - pos_ >= QuickPackets::kRoom) {
    if (*pos_ == Mtc::kOpcode.value) {
      if (clock_.On(Mtc{pos_[1]})) Told(TimeMark::Kind::kMtc);
      pos_ += 2;
    } else if (TellCyc()) {
      // The packet behind it comes next.
    } else if (kTimesPaths && sink_.TakesSingles()) {
      const std::optional<HotStop> stop = RunUnusual(memo);
      if (stop == HotStop::kOther) break;
      if (stop) return stop;
    } else if (!RunAlone(memo)) {
      break;
    }
    if (sink_.TakesPaths()) return std::nullopt;
    if (sink_.Done()) return HotStop::kOther;
  }
  const HotStop stop = RunHot<true>();
  return stop == HotStop::kPaths ? std::nullopt : std::optional(stop);
}

// A CYC packet, if one is next and may be taken.
template <FlowSink Sink>
bool FlowEngine<Sink>::TellCyc() {
  const QuickCyc cyc = QuickCyc::Read(pos_);
  if (cyc.size == 0 || (cyc.size != 1 && errata_.cyc_cut_by_ovf)) return false;
  clock_.OnCycles(cyc.cycles);
  cycles_told_ = true;
  Told(TimeMark::Kind::kCyc);
  pos_ += cyc.size;
  return true;
}

// Takes a TNT or TIP packet by itself, by its path. False: it must be walked, and nothing was done.
template <FlowSink Sink>
bool FlowEngine<Sink>::RunAlone(PathMemo& memo) {
  const bool timed = sink_.TakesSingles();
  if ((timed && !kTimesLeads) || !TipTnt::HasWord(last_ip_.value())) return false;
  QuickPackets quick = QuickPackets::Read(pos_, last_ip_.value(), false);
  if (quick.size == 0) return false;
  if (quick.packets.count() == 2) quick.DropTnt();
  const uint32_t from = cur_;
  Path<TipTnt>* path = memo.Find(Seed::Of(from), quick.packets, returns_, sink_.uses());
  if constexpr (kTimesLeads)
    if (timed) sink_.TellFlow();
  if (path == nullptr || !Take(memo, *path)) return false;
  if constexpr (kTimesLeads)
    if (timed) sink_.TellLead(graph_->InstructionsToPacket(from));
  if constexpr (Sink::kCountsUses)
    if (memo.slow()) CountWalked(*memo.slow(), quick.packets.count());
  last_ip_.Set(quick.last_ip);
  pos_ += quick.size;
  if (quick.packets.tip())
    TipEnd();
  else
    TntEnd(OutcomeCount(quick.packets.tnt() >> 1), pos_);
  return true;
}

// Takes packets whose path is not in the tables yet: it is learned first. If the memo has no path
// for them, returns what to walk instead.
template <FlowSink Sink>
[[gnu::noinline]] std::optional<typename FlowEngine<Sink>::HotStop> FlowEngine<Sink>::RunUnusual(
    PathMemo& memo) {
  const Seed seed = Seed::Of(cur_);
  if (const TntPair two = FullPair::Load(pos_); FullPair::Match(two)) {
    Path<TntPair>* path = memo.Learn(seed, two, returns_, sink_.uses());
    if (path != nullptr && Take(memo, *path)) {
      CountWalked(SlowPacket::kNewPath, FullPair::kSize);
      pos_ += FullPair::kSize;
      return std::nullopt;
    }
  }
  QuickPackets quick = QuickPackets::Read(pos_, last_ip_.value(), OverCyc());
  for (;;) {
    if (quick.size == 0) return RunLongTnts(memo);
    Path<TipTnt>* path = memo.Find(seed, quick.packets, returns_, sink_.uses());
    if (path != nullptr && Take(memo, *path)) {
      CountWalked(memo.slow().value_or(SlowPacket::kNoPath), quick.packets.count());
      clock_.OnCycles(quick.cycles);
      last_ip_.Set(quick.last_ip);
      pos_ += quick.size;
      return std::nullopt;
    }
    if (quick.packets.count() == 1) break;
    quick.DropTnt();
  }
  hot_packet_ = pos_;
  pos_ += quick.size;
  if (quick.packets.tip()) {
    sink_.Slow(memo.slow().value_or(SlowPacket::kNoPath));
    last_ip_.Set(quick.last_ip);
    hot_ip_ = quick.last_ip;
    return HotStop::kTip;
  }
  const Outcomes outcomes = quick.packets.tnt() >> 1;
  return RunOutcomes(memo, outcomes, OutcomeCount(outcomes));
}

// Takes long TNT packets, one behind the other; each is cut into as many outcomes as a path has.
template <FlowSink Sink>
std::optional<typename FlowEngine<Sink>::HotStop> FlowEngine<Sink>::RunLongTnts(PathMemo& memo) {
  const uint8_t* const begin = pos_;
  const uint8_t* pos = pos_;
  PathRun run{*this, memo};
  LongTnt packet;
  run.Begin();
  while (hot_end_ - pos >= QuickPackets::kRoom && IsLongTnt(pos)) {
    const ReadResult size = LongTnt::Parse({pos, QuickPackets::kRoom}, packet);
    if (!size) break;
    unsigned left = packet.count;
    while (left > ShortTnt::kMaxCount) {
      if constexpr (kTimesPaths)
        if (sink_.TakesSingles()) [[unlikely]]
          break;
      if constexpr (Sink::kListsBlocks)
        if (run.IsFull()) [[unlikely]]
          break;
      const unsigned some = std::min(left, OutcomePart::kMost);
      const auto [path, answer] =
          memo.LookUp(run.seed, OutcomePart{packet.bits, left, some}.AsPair(), returns_);
      if (!answer.is_path()) [[unlikely]]
        break;
      if (answer.has_effect() && !memo.Apply(*path, returns_)) [[unlikely]]
        break;
      run.Add(*path, answer);
      left -= some;
    }
    pos += *size;
    const unsigned taken = packet.count - left;
    sink_.Fast(-2 * static_cast<int>((taken + OutcomePart::kMost - 1) / OutcomePart::kMost));
    if (left == 0) {
      sink_.Fast(1);
      continue;
    }
    hot_packet_ = pos - *size;
    pos_ = pos;
    run.End();
    if (const std::optional<HotStop> stop = RunOutcomes(memo, packet.bits, left)) return stop;
    if constexpr (Sink::kHearsPackets)
      if (sink_.Done()) return HotStop::kOther;
    run.Begin();
  }
  pos_ = pos;
  run.End();
  if (pos == begin) return HotStop::kOther;
  return std::nullopt;
}

// Takes the rest of a packet, the last `left` of `bits`: as many outcomes at a time as have a path.
template <FlowSink Sink>
std::optional<typename FlowEngine<Sink>::HotStop> FlowEngine<Sink>::RunOutcomes(PathMemo& memo,
                                                                                uint64_t bits,
                                                                                unsigned left) {
  std::optional<SlowPacket> slow;
  for (unsigned most = OutcomePart::kMost; left != 0;) {
    const OutcomePart part{bits, left, std::min(left, most)};
    const bool taken = TakeOutcomes(memo, part);
    if (!slow) slow = memo.slow();
    if (taken) {
      left -= part.count;
      most = OutcomePart::kMost;
    } else if (part.count > 1) {
      most = std::min((part.count + 1) / 2, ShortTnt::kMaxCount);
    } else {
      hot_bits_ = bits;
      hot_count_ = left;
      sink_.Slow(slow.value_or(SlowPacket::kNoPath));
      return HotStop::kTnt;
    }
  }
  if (slow)
    sink_.Slow(*slow);
  else
    sink_.Fast(1);
  return std::nullopt;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::TakeOutcomes(PathMemo& memo, const OutcomePart& part) {
  const Seed seed = Seed::Of(cur_);
  if (part.count > ShortTnt::kMaxCount) {
    Path<TntPair>* path = memo.Find(seed, part.AsPair(), returns_, sink_.uses());
    if (path == nullptr || !Take(memo, *path)) return false;
    sink_.Fast(-2);
    return true;
  }
  Path<TipTnt>* path = memo.Find(seed, TipTnt::Tnt(part.AsShort()), returns_, sink_.uses());
  if (path == nullptr || !Take(memo, *path)) return false;
  sink_.Fast(-1);
  return true;
}

// Packets just taken by a path that had to be walked first.
template <FlowSink Sink>
void FlowEngine<Sink>::CountWalked(SlowPacket reason, int packets) {
  sink_.Fast(-packets);
  sink_.Slow(reason, static_cast<uint64_t>(packets));
}

// Goes along `path`, if it can.
template <FlowSink Sink>
template <class Packets>
bool FlowEngine<Sink>::Take(PathMemo& memo, Path<Packets>& path) {
  if constexpr (Sink::kListsBlocks)
    if (!sink_.HasRoom()) return false;
  if (!memo.Apply(path, returns_)) return false;
  PathRun run{*this, memo};
  run.Begin();
  [[maybe_unused]] const BlockStep* const begin = run.steps;
  [[maybe_unused]] const uint64_t before = run.flow.count;
  run.Add(path, path.answer());
  if constexpr (kTimesPaths) sink_.TellTimed(begin, before, memo.lists().LeadOf(path.blocks));
  run.End();
  return true;
}

}  // namespace flowback::pt
