// SPDX-License-Identifier: MIT
#include "replay/crash/who_stored.h"

#include <algorithm>
#include <vector>

#include "replay/crash/crash_threads.h"
#include "replay/crash/thread_values.h"

namespace flowback {
namespace {

using values::LastWrite;

constexpr uint64_t kAlways = ~uint64_t{0};

// Of one thread, the last write to the bytes that may have been ahead of the load.
struct ThreadWrite {
  size_t thread = 0;
  uint64_t number = 0;  // of the instruction
  LastWrite::Kind kind = LastWrite::Kind::kOther;
  uint64_t address = 0;  // of the instruction
  const AddressSpace* space = nullptr;
  TscInterval when{.lo = 0, .hi = kAlways};
};

class StoreSearch {
 public:
  StoreSearch(const CrashInput& input, PastValues& past, size_t dying,
              const values::StoredValue& wanted, uint64_t loaded, bool proven)
      : input_(input),
        past_(past),
        dying_(dying),
        wanted_(wanted),
        loaded_(loaded),
        proven_(proven) {}

  std::optional<CrashStore> Find() {
    const size_t threads = input_.machine.size();
    if (HasTooManyThreads(input_)) return std::nullopt;
    if (threads > 1) load_ = BoundsAt(EndOf(input_, dying_), loaded_);
    AddWrite(dying_, loaded_);
    for (size_t thread = 0; thread < threads; ++thread)
      if (thread != dying_)
        if (const uint64_t count = CountBefore(thread); count != 0) AddWrite(thread, count);
    const auto last = std::ranges::find_if(writes_, [this](const ThreadWrite& one) {
      return one.kind == LastWrite::Kind::kStored && IsLast(one);
    });
    return last == writes_.end() ? std::nullopt : std::optional(InWords(*last));
  }

 private:
  TscInterval BoundsOf(const CursorInstruction& one) const {
    return proven_ ? one.bounds : TscInterval{.lo = one.tsc, .hi = one.tsc};
  }
  // Everything, where its time is not known.
  TscInterval BoundsAt(ThreadCursor cursor, uint64_t number) const {
    cursor.ToInstruction(number);
    if (cursor.kind() != ThreadCursor::Kind::kInstruction) return {.lo = 0, .hi = kAlways};
    const TscInterval bounds = BoundsOf(cursor.instruction());
    return {.lo = bounds.lo, .hi = bounds.hi == 0 ? kAlways : bounds.hi};
  }

  // So many of the thread's instructions may have executed before the load.
  uint64_t CountBefore(size_t thread) const {
    if (load_.hi == kAlways) return input_.machine.thread(thread).instructions;
    ThreadCursor cursor = EndOf(input_, thread);
    cursor.ToTime(load_.hi + 1);
    while (cursor.kind() != ThreadCursor::Kind::kEnd &&
           (cursor.kind() != ThreadCursor::Kind::kInstruction ||
            BoundsOf(cursor.instruction()).lo <= load_.hi))
      cursor.Next();
    return cursor.number();
  }

  // A thread without a history may have written until then.
  void AddWrite(size_t thread, uint64_t count) {
    ThreadWrite write{.thread = thread};
    const auto place = past_.Before(input_.machine.At(thread), count);
    if (!place) {
      write.when.hi = BoundsAt(EndOf(input_, thread), count - 1).hi;
      writes_.push_back(write);
      return;
    }
    const LastWrite last = place->history.LastWriteTo(place->point, wanted_, !proven_);
    const bool is_stored = last.kind == LastWrite::Kind::kStored;
    // What is older than the history may have written, too.
    if (last.kind == LastWrite::Kind::kNone && place->first == 0) return;
    write.number = place->first + last.instruction;
    write.kind = is_stored ? last.kind : LastWrite::Kind::kOther;
    write.space = place->space;
    if (is_stored) write.address = place->history.path().instructions[last.instruction].address;
    // The kernel may write until a call returns.
    write.when = BoundsAt(EndOf(input_, thread), write.number + (is_stored ? 0 : 1));
    writes_.push_back(write);
  }

  bool IsLast(const ThreadWrite& one) const {
    if (one.thread != dying_ && (one.when.lo == 0 || one.when.hi >= load_.lo)) return false;
    return std::ranges::all_of(writes_, [&](const ThreadWrite& other) {
      return other.thread == one.thread || other.when.hi < one.when.lo;
    });
  }

  CrashStore InWords(const ThreadWrite& write) const {
    return {.tid = input_.machine.thread(write.thread).tid,
            .instruction = {.number = write.number,
                            .tsc = TimeOf(input_, write.thread, write.number),
                            .place = PlaceOf(input_.session, write.space, write.address, false),
                            .text = {}},
            .is_proven = proven_};
  }

  const CrashInput& input_;
  PastValues& past_;
  const size_t dying_;
  const values::StoredValue wanted_;
  const uint64_t loaded_;
  const bool proven_;
  TscInterval load_{.lo = 0, .hi = kAlways};
  std::vector<ThreadWrite> writes_;
};

}  // namespace

bool HasTooManyThreads(const CrashInput& input) {
  return input.machine.size() > kMostStoringThreads + 1;
}

std::optional<CrashStore> WhoStored(const CrashInput& input, PastValues& past, size_t dying,
                                    const values::StoredValue& wanted, uint64_t loaded) {
  const auto proven = StoreSearch(input, past, dying, wanted, loaded, true).Find();
  return proven ? proven : StoreSearch(input, past, dying, wanted, loaded, false).Find();
}

}  // namespace flowback
