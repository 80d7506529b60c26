// SPDX-License-Identifier: MIT
// What a replayed machine must do, worked out from the whole listing of each thread's flow: every
// question is answered by looking at every place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "decode/system_call.h"
#include "replay/debug/machine/machine.h"

namespace flowback::listed {

// A place at which a thread can stand.
struct Listed {
  uint64_t address = 0;
  uint64_t tsc = 0;
  bool calls = false;  // the thread makes a system call before it comes to the next place
  // The gaps between the place before and this one, in its order: kLoss, behind which the flow goes
  // on elsewhere, and kUnknown.
  std::vector<MachineStop::Reason> gaps{};
  uint64_t trap = 0;  // of an INT 80h that control came to behind it
};

// Takes down the flow, stay by stay.
class Listing final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    Flow& flow = flows_[run.stay];
    uint64_t address = run.address;
    for (size_t i = 0; i < run.lengths.size(); address += run.lengths[i++])
      flow.Add({.address = address,
                .tsc = run.TscOf(i),
                .calls = i + 1 == run.lengths.size() && AbiOfLastCall(run)});
    flow.space = run.space;
    flow.mode = run.mode;
    flow.next = run.exit == BlockExit::kStopped ? 0 : run.next;
  }
  void OnEvent(const TraceEvent& event) override {
    Flow& flow = flows_[event.stay];
    switch (event.kind) {
      case EventKind::kStoppedAsync:
        flow.next = event.ip;
        if (!flow.places.empty() && flow.gaps.empty() && IsTrap(flow.space, flow.mode, event.ip))
          flow.places.back().trap = event.ip;
        break;
      case EventKind::kStarted:
      case EventKind::kOverflow:
        flow.next = event.ip;
        break;
      case EventKind::kInterrupted:
      case EventKind::kTransactionAbort:
        flow.next = event.target;
        break;
      case EventKind::kStopped:
        flow.next = 0;
        break;
      default:
        break;
    }
  }
  void OnLoss(const DataLoss& loss) override {
    if (KeepsPlace(loss.cause)) return;
    flows_[loss.stay].gaps.push_back(MachineStop::Reason::kLoss);
    flows_[loss.stay].next = 0;
  }
  void OnUnknown(const UnknownFlow& unknown) override {
    flows_[unknown.stay].gaps.push_back(MachineStop::Reason::kUnknown);
    flows_[unknown.stay].next = 0;
  }

  // With the last place, if the flow shows where it ended.
  std::vector<Listed> Of(const std::vector<const ThreadStay*>& stays) const {
    Flow whole;
    for (const ThreadStay* stay : stays) {
      const auto flow = flows_.find(stay);
      if (flow != flows_.end()) whole.Append(flow->second);
    }
    if (whole.next.value_or(0) != 0 && !whole.places.empty())
      whole.Add({.address = *whole.next, .tsc = whole.places.back().tsc});
    NoteTraps(whole.places);
    return whole.places;
  }

 private:
  struct Flow {
    std::vector<Listed> places;
    std::vector<MachineStop::Reason> gaps;  // since the last place
    std::optional<uint64_t> next;           // empty: unknown
    const AddressSpace* space = nullptr;
    CodeMode mode{};

    void Add(Listed place) {
      if (place.tsc == 0 && !places.empty()) place.tsc = places.back().tsc;
      place.gaps.insert(place.gaps.begin(), gaps.begin(), gaps.end());
      gaps.clear();
      places.push_back(std::move(place));
    }
    void Append(const Flow& other) {
      for (const Listed& place : other.places) Add(place);
      gaps.insert(gaps.end(), other.gaps.begin(), other.gaps.end());
      if (other.next) next = other.next;
    }
  };

  // An INT 80h has executed if control came back behind it; where the flow ends, it is about to.
  static void NoteTraps(std::vector<Listed>& places) {
    constexpr uint64_t kBytes = 2;
    for (size_t i = 0; i + 1 < places.size(); ++i) {
      const uint64_t trap = places[i].trap;
      if (trap == 0 || !places[i + 1].gaps.empty()) continue;
      if (places[i + 1].address == trap + kBytes) places[i].calls = true;
      if (places[i + 1].address == trap && i + 2 == places.size()) places[i + 1].calls = true;
    }
  }

  std::map<const ThreadStay*, Flow> flows_;
};

struct Marks {
  std::vector<uint64_t> addresses;
  bool losses = false;
  bool calls = false;
  bool unknown = false;

  bool Has(MachineStop::Reason gap) const {
    return gap == MachineStop::Reason::kLoss ? losses : unknown;
  }
};

// The oracle. Moments are compared as the machine has them: time, thread, place.
class ListedMachine {
 public:
  explicit ListedMachine(std::vector<std::vector<Listed>> threads) : threads_(std::move(threads)) {}

  using Key = std::tuple<uint64_t, size_t, size_t>;  // time and one; thread; number of the place
  using Reason = MachineStop::Reason;
  struct Stop {
    Reason reason{};
    size_t thread = 0;
    bool of_thread = false;  // an end of that thread's flow only
  };

  const std::vector<Listed>& places(size_t thread) const { return threads_[thread]; }
  size_t current() const { return std::get<1>(now_); }
  // Where the thread stands, and whether it has gone past all its places.
  std::pair<size_t, bool> Standing(size_t thread) const { return StandingAt(thread, now_); }

  void ToBegin(size_t thread) { Go({0, thread, 0}); }
  void ToEnd(size_t thread) { Go({UINT64_MAX, thread, threads_[thread].size() - 1}); }
  void ToInstruction(size_t thread, size_t number) { Go(KeyOf(thread, number)); }

  Stop Continue(bool forward, const Marks& marks, std::optional<size_t> only) {
    const size_t mover = only.value_or(current());
    std::optional<std::pair<Key, Stop>> best;
    for (size_t thread = 0; thread < threads_.size(); ++thread)
      if (!only || thread == *only) Consider(thread, forward, marks, best);
    if (best) {
      Go(best->first);
      return best->second;
    }
    if (only) {
      if (!IsOver(mover, forward))
        Go(Towards(mover, forward ? threads_[mover].size() - 1 : 0, forward));
      return {forward ? Reason::kEnd : Reason::kBegin, mover, true};
    }
    forward ? ToEnd(mover) : ToBegin(mover);
    return {forward ? Reason::kEnd : Reason::kBegin, mover};
  }

  // The first place of any thread that is not before the time; of several, of the current thread,
  // or of the next one behind it.
  void ToTime(uint64_t tsc) {
    std::optional<Key> first;
    for (size_t i = 0; i < threads_.size(); ++i) {
      const size_t thread = (current() + i) % threads_.size();
      const auto& all = threads_[thread];
      const auto at = std::ranges::find_if(all, [&](const Listed& one) { return one.tsc >= tsc; });
      if (at == all.end()) continue;
      const Key key = KeyOf(thread, static_cast<size_t>(at - all.begin()));
      if (!first || std::get<0>(key) < std::get<0>(*first)) first = key;
    }
    first ? Go(*first) : ToEnd(current());
  }

  Stop Step(size_t thread, bool forward, const Marks& marks, bool held) {
    const size_t at = Standing(thread).first;
    const bool is_last = forward ? at + 1 == threads_[thread].size() : at == 0;
    if (is_last) return StayAtEnd(thread, forward, marks, held);
    const size_t to = forward ? at + 1 : at - 1;
    const bool is_call = marks.calls && threads_[thread][to].calls;
    return Arrive(thread, to, forward, {is_call ? Reason::kAddress : Reason::kStep, thread}, marks,
                  held);
  }

  // Instruction by instruction, until one lies outside of the addresses, or is one to stop at.
  Stop StepOut(size_t thread, uint64_t begin, uint64_t end, const Marks& marks, bool held) {
    const std::vector<Listed>& all = threads_[thread];
    size_t to = Standing(thread).first + 1;
    if (to == all.size()) return StayAtEnd(thread, true, marks, held);
    for (; to < all.size(); ++to) {
      const Listed& place = all[to];
      if (IsMark(place, marks))
        return Arrive(thread, to, true, {Reason::kAddress, thread}, marks, held);
      for (const Reason gap : {Reason::kLoss, Reason::kUnknown})
        if (marks.Has(gap) && std::ranges::find(place.gaps, gap) != place.gaps.end())
          return Arrive(thread, to, true, {gap, thread}, marks, held);
      if (place.address < begin || place.address >= end)
        return Arrive(thread, to, true, {Reason::kStep, thread}, marks, held);
    }
    return Arrive(thread, all.size() - 1, true, {Reason::kEnd, thread, true}, marks, held);
  }

 private:
  Key KeyOf(size_t thread, size_t place) const {
    return {threads_[thread][place].tsc + 1, thread, place};
  }
  // What the thread comes to is not before where all stand, nor, on the way back, behind it.
  Key Towards(size_t thread, size_t place, bool forward) const {
    Key key = KeyOf(thread, place);
    std::get<0>(key) = forward ? std::max(std::get<0>(key), std::get<0>(now_))
                               : std::min(std::get<0>(key), std::get<0>(now_));
    return key;
  }
  // Another thread's moment is behind all of the thread, or before all of it.
  bool IsOver(size_t thread, bool forward) const {
    const auto [at, ended] = Standing(thread);
    return thread != current() && (forward ? ended : at == 0);
  }
  Stop StayAtEnd(size_t thread, bool forward, const Marks& marks, bool held) {
    const Stop stop{forward ? Reason::kEnd : Reason::kBegin, thread, true};
    if (IsOver(thread, forward)) return stop;
    return Arrive(thread, Standing(thread).first, forward, stop, marks, held);
  }
  Stop Arrive(size_t thread, size_t place, bool forward, const Stop& stop, const Marks& marks,
              bool held) {
    const Key to = Towards(thread, place, forward);
    std::optional<std::pair<Key, Stop>> best;
    const Marks of_others{.addresses = marks.addresses, .calls = marks.calls};
    for (size_t other = 0; other < threads_.size(); ++other)
      if (other != thread && !held) Consider(other, forward, of_others, best);
    if (best && (forward ? best->first < to : best->first > to)) {
      Go(best->first);
      return best->second;
    }
    if (!others_from_ || current() != thread) others_from_ = now_;
    now_ = to;
    return stop;
  }
  static bool IsMark(const Listed& place, const Marks& marks) {
    return (marks.calls && place.calls) ||
           std::ranges::find(marks.addresses, place.address) != marks.addresses.end();
  }
  void Go(const Key& key) {
    now_ = key;
    others_from_.reset();
  }
  std::pair<size_t, bool> StandingAt(size_t thread, const Key& key) const {
    if (thread == std::get<1>(key)) return {std::get<2>(key), false};
    if (std::get<0>(key) == 0) return {0, false};
    for (size_t i = 0; i < threads_[thread].size(); ++i)
      if (KeyOf(thread, i) > key) return {i, false};
    return {threads_[thread].size() - 1, true};
  }
  Key From(size_t thread, bool forward) const {
    if (!others_from_ || thread == current()) return now_;
    return forward ? std::min(*others_from_, now_) : std::max(*others_from_, now_);
  }
  void Consider(size_t thread, bool forward, const Marks& marks,
                std::optional<std::pair<Key, Stop>>& best) const {
    const Key from = From(thread, forward);
    const auto found = NearestOf(thread, from, forward, marks);
    if (!found) return;
    Key key = KeyOf(thread, found->first);
    if (thread == std::get<1>(from))
      std::get<0>(key) = forward ? std::max(std::get<0>(key), std::get<0>(from))
                                 : std::min(std::get<0>(key), std::get<0>(from));
    if (!best || (forward ? key < best->first : key > best->first))
      best = {key, {found->second, thread}};
  }
  std::optional<std::pair<size_t, Reason>> NearestOf(size_t thread, const Key& from, bool forward,
                                                     const Marks& marks) const {
    const auto [at, ended] = StandingAt(thread, from);
    const std::vector<Listed>& all = threads_[thread];
    const auto is_mark = [&](size_t i) { return IsMark(all[i], marks); };
    if (forward && ended) return std::nullopt;
    const bool counts = thread != std::get<1>(from) && ended != forward;
    if (counts && is_mark(at)) return {{at, Reason::kAddress}};
    if (forward) {
      for (size_t i = at + 1; i < all.size(); ++i) {
        for (const Reason gap : all[i].gaps)
          if (marks.Has(gap)) return {{i, gap}};
        if (is_mark(i)) return {{i, Reason::kAddress}};
      }
      return std::nullopt;
    }
    for (size_t i = at; i-- != 0;) {
      for (auto gap = all[i + 1].gaps.rbegin(); gap != all[i + 1].gaps.rend(); ++gap)
        if (marks.Has(*gap)) return {{i, *gap}};
      if (is_mark(i)) return {{i, Reason::kAddress}};
    }
    return std::nullopt;
  }

  std::vector<std::vector<Listed>> threads_;
  Key now_{0, 0, 0};
  std::optional<Key> others_from_;
};

}  // namespace flowback::listed
