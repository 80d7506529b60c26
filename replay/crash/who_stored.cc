// SPDX-License-Identifier: MIT
#include "replay/crash/who_stored.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/path_text.h"
#include "replay/crash/crash_kind.h"
#include "replay/crash/crash_threads.h"
#include "replay/crash/thread_values.h"

namespace flowback {
namespace {

using values::LastWrite;

constexpr uint64_t kAlways = ~uint64_t{0};

// One thread's last write to the bytes that may have been ahead of the load.
struct ThreadWrite {
  size_t thread = 0;
  uint64_t count = 0;       // of its instructions that are looked at
  bool is_refined = false;  // the calling convention adds no more
  uint64_t number = 0;      // of the instruction
  LastWrite::Kind kind = LastWrite::Kind::kOther;
  uint64_t address = 0;  // of the instruction
  const AddressSpace* space = nullptr;
  TscInterval when{.lo = 0, .hi = kAlways};
};

// The known writes of all threads at one level of trust.
struct Tier {
  bool proven = true;
  TscInterval load{.lo = 0, .hi = kAlways};
  std::vector<ThreadWrite> writes{};
};

std::optional<CrashPlace> CallerOf(const CrashInput& input, size_t thread, uint64_t number,
                                   const CrashPlace& place) {
  if (!IsOfEnding(place)) return std::nullopt;
  const auto stack = input.stacks.At(input.machine.index_number(thread), number);
  if (!stack) return std::nullopt;
  for (CrashPlace& frame : FramesOf(input.session, **stack))
    if (!IsOfEnding(frame)) return std::move(frame);
  return std::nullopt;
}

CrashStore StoreAt(const CrashInput& input, size_t thread, uint64_t number,
                   const AddressSpace* space, uint64_t address, bool proven) {
  CrashStore store{.tid = input.machine.thread(thread).tid,
                   .instruction = {.number = number,
                                   .tsc = TimeOf(input, thread, number),
                                   .place = PlaceOf(input.session, space, address, false),
                                   .text = {}},
                   .is_proven = proven};
  store.caller = CallerOf(input, thread, number, store.instruction.place);
  return store;
}

class StoreSearch {
 public:
  StoreSearch(const CrashInput& input, PastValues& past, size_t dying,
              const values::StoredValue& wanted, uint64_t loaded)
      : input_(input), past_(past), dying_(dying), wanted_(wanted), loaded_(loaded) {}

  // A thread's history takes time to make: each thread is looked at once.
  std::optional<CrashStore> Find(bool may_be_proven) {
    const size_t threads = input_.machine.size();
    if (HasTooManyThreads(input_)) return std::nullopt;
    if (may_be_proven) tiers_.push_back({.proven = true});
    tiers_.push_back({.proven = false});
    for (Tier& tier : tiers_)
      if (threads > 1) tier.load = BoundsAt(tier, EndOf(input_, dying_), loaded_);
    for (Tier& tier : tiers_) AddWrite(tier, dying_, loaded_);
    for (size_t thread = 0; thread < threads; ++thread)
      for (Tier& tier : tiers_)
        if (thread != dying_)
          if (const uint64_t count = CountBefore(tier, thread); count != 0)
            AddWrite(tier, thread, count);
    for (Tier& tier : tiers_) {
      do {
        const auto last = std::ranges::find_if(tier.writes, [&](const ThreadWrite& one) {
          return one.kind == LastWrite::Kind::kStored && IsLast(tier, one);
        });
        if (last != tier.writes.end()) return InWords(*last, tier.proven);
      } while (Refine(tier));
    }
    return std::nullopt;
  }

 private:
  static TscInterval BoundsOf(const Tier& tier, const CursorInstruction& one) {
    return tier.proven ? one.bounds : TscInterval{.lo = one.tsc, .hi = one.tsc};
  }
  // Everything, where its time is not known.
  static TscInterval BoundsAt(const Tier& tier, ThreadCursor cursor, uint64_t number) {
    cursor.ToInstruction(number);
    if (cursor.kind() != ThreadCursor::Kind::kInstruction) return {.lo = 0, .hi = kAlways};
    const TscInterval bounds = BoundsOf(tier, cursor.instruction());
    return {.lo = bounds.lo, .hi = bounds.hi == 0 ? kAlways : bounds.hi};
  }

  // Returns how many of the thread's instructions may have executed before the load.
  uint64_t CountBefore(const Tier& tier, size_t thread) const {
    if (tier.load.hi == kAlways) return input_.machine.thread(thread).instructions;
    ThreadCursor cursor = EndOf(input_, thread);
    cursor.ToTime(tier.load.hi + 1);
    while (cursor.kind() != ThreadCursor::Kind::kEnd &&
           (cursor.kind() != ThreadCursor::Kind::kInstruction ||
            BoundsOf(tier, cursor.instruction()).lo <= tier.load.hi))
      cursor.Next();
    return cursor.number();
  }

  // The calling convention may add likely values for the thread that may have written last. False:
  // it does not, so that no other thread's write is known to be the last one.
  bool Refine(Tier& tier) {
    const auto latest = std::ranges::max_element(
        tier.writes, {}, [](const ThreadWrite& one) { return one.when.hi; });
    if (tier.proven || latest == tier.writes.end() || latest->is_refined ||
        latest->kind == LastWrite::Kind::kStored)
      return false;
    const ThreadWrite before = *latest;
    tier.writes.erase(latest);
    AddWrite(tier, before.thread, before.count, Trust::kConvention);
    const bool is_same = !tier.writes.empty() && tier.writes.back().thread == before.thread &&
                         tier.writes.back().kind == LastWrite::Kind::kOther;
    return !is_same;
  }

  // A thread without a history may have written until then.
  void AddWrite(Tier& tier, size_t thread, uint64_t count, Trust trust = Trust::kProven) {
    ThreadWrite write{.thread = thread, .count = count};
    write.is_refined = trust == Trust::kConvention;
    const auto place = past_.Before(input_.machine.At(thread), count, trust);
    if (!place) {
      write.is_refined = true;
      write.when.hi = BoundsAt(tier, EndOf(input_, thread), count - 1).hi;
      tier.writes.push_back(write);
      return;
    }
    const LastWrite last = place->history.LastWriteTo(place->point, wanted_, !tier.proven);
    const bool is_stored = last.kind == LastWrite::Kind::kStored;
    // Flow before the history may have written, too.
    if (last.kind == LastWrite::Kind::kNone && place->first == 0) return;
    write.number = place->first + last.instruction;
    write.kind = is_stored ? last.kind : LastWrite::Kind::kOther;
    write.space = place->space;
    if (is_stored) write.address = place->history.path().instructions[last.instruction].address;
    // The kernel may write until a call returns.
    write.when = BoundsAt(tier, EndOf(input_, thread), write.number + (is_stored ? 0 : 1));
    tier.writes.push_back(write);
  }

  bool IsLast(const Tier& tier, const ThreadWrite& one) const {
    if (one.thread != dying_ && (one.when.lo == 0 || one.when.hi >= tier.load.lo)) return false;
    return std::ranges::all_of(tier.writes, [&](const ThreadWrite& other) {
      return other.thread == one.thread || other.when.hi < one.when.lo;
    });
  }

  CrashStore InWords(const ThreadWrite& write, bool proven) const {
    return StoreAt(input_, write.thread, write.number, write.space, write.address, proven);
  }

  const CrashInput& input_;
  PastValues& past_;
  const size_t dying_;
  const values::StoredValue wanted_;
  const uint64_t loaded_;
  std::vector<Tier> tiers_;
};

}  // namespace

std::optional<CrashStore> WhoOverwrote(const CrashInput& input, PastValues& past, size_t dying,
                                       const BadValue& guard, unsigned bytes) {
  const auto place = guard.intact && input.machine.size() == 1
                         ? past.Before(input.machine.At(dying), guard.before, guard.trust)
                         : std::nullopt;
  if (!place || *guard.intact < place->first) return std::nullopt;
  const values::StoredValue wanted{.address = guard.value.address, .value = {}, .bytes = bytes};
  const auto is_innocent = [&](uint64_t address) {
    const CrashPlace code = PlaceOf(input.session, place->space, address, false);
    return LastPart(code.object).starts_with("ld-linux");
  };
  for (const bool proven : {true, false}) {
    if (proven && guard.trust != Trust::kProven) continue;
    std::function<bool(uint64_t)> spared;
    if (!proven) spared = is_innocent;
    const LastWrite only = place->history.OnlyWriteTo(*guard.intact - place->first, place->point,
                                                      wanted, !proven, spared);
    if (only.kind != LastWrite::Kind::kStored) continue;
    const uint64_t number = place->first + only.instruction;
    const uint64_t address = place->history.path().instructions[only.instruction].address;
    return StoreAt(input, dying, number, place->space, address, proven);
  }
  return std::nullopt;
}

bool HasTooManyThreads(const CrashInput& input) {
  return input.machine.size() > kMostStoringThreads + 1;
}

std::optional<CrashStore> WhoStored(const CrashInput& input, PastValues& past, size_t dying,
                                    const values::StoredValue& wanted, uint64_t loaded,
                                    bool may_be_proven) {
  return StoreSearch(input, past, dying, wanted, loaded).Find(may_be_proven);
}

}  // namespace flowback
