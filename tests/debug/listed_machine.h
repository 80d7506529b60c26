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
#include "replay/debug/machine.h"

namespace flowback::listed {

// A place at which a thread can stand.
struct Listed {
  uint64_t address = 0;
  uint64_t tsc = 0;
  bool calls = false;        // the instruction makes a system call
  bool loss_before = false;  // behind which the flow goes on elsewhere
};

// Takes down the flow, stay by stay.
class Listing final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    Flow& flow = flows_[run.stay];
    uint64_t address = run.address;
    for (size_t i = 0; i < run.lengths.size(); address += run.lengths[i++])
      flow.Add(address, run.TscOf(i), i + 1 == run.lengths.size() && EndsInSystemCall(run));
    flow.next = run.exit == BlockExit::kStopped ? 0 : run.next;
  }
  void OnEvent(const TraceEvent& event) override {
    Flow& flow = flows_[event.stay];
    switch (event.kind) {
      case EventKind::kStoppedAsync:
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
    flows_[loss.stay].lost = true;
    flows_[loss.stay].next = 0;
  }

  // With the last place, if the flow tells where it ended.
  std::vector<Listed> Of(const std::vector<const ThreadStay*>& stays) const {
    Flow whole;
    for (const ThreadStay* stay : stays) {
      const auto flow = flows_.find(stay);
      if (flow != flows_.end()) whole.Append(flow->second);
    }
    if (whole.next.value_or(0) != 0 && !whole.places.empty())
      whole.Add(*whole.next, whole.places.back().tsc, false);
    return whole.places;
  }

 private:
  struct Flow {
    std::vector<Listed> places;
    bool lost = false;             // since the last place
    std::optional<uint64_t> next;  // empty: nothing tells

    void Add(uint64_t address, uint64_t tsc, bool calls) {
      const uint64_t known = tsc != 0 || places.empty() ? tsc : places.back().tsc;
      places.push_back({address, known, calls, std::exchange(lost, false)});
    }
    void Append(const Flow& other) {
      for (const Listed& place : other.places) {
        lost = lost || place.loss_before;
        Add(place.address, place.tsc, place.calls);
      }
      lost = lost || other.lost;
      if (other.next) next = other.next;
    }
  };

  std::map<const ThreadStay*, Flow> flows_;
};

struct Marks {
  std::vector<uint64_t> addresses;
  bool losses = false;
  bool calls = false;
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
    forward ? ToEnd(mover) : ToBegin(mover);
    return {forward ? Reason::kEnd : Reason::kBegin, mover};
  }

  Stop Step(size_t thread, bool forward, const Marks& marks) {
    const size_t at = Standing(thread).first;
    if (forward ? at + 1 == threads_[thread].size() : at == 0) {
      forward ? ToEnd(thread) : ToBegin(thread);
      return {forward ? Reason::kEnd : Reason::kBegin, thread};
    }
    Key to = KeyOf(thread, forward ? at + 1 : at - 1);
    std::get<0>(to) = forward ? std::max(std::get<0>(to), std::get<0>(now_))
                              : std::min(std::get<0>(to), std::get<0>(now_));
    std::optional<std::pair<Key, Stop>> best;
    const Marks addresses{marks.addresses, false, marks.calls};
    for (size_t other = 0; other < threads_.size(); ++other)
      if (other != thread) Consider(other, forward, addresses, best);
    if (best && (forward ? best->first < to : best->first > to)) {
      Go(best->first);
      return best->second;
    }
    if (!others_from_ || current() != thread) others_from_ = now_;
    now_ = to;
    return {Reason::kStep, thread};
  }

 private:
  Key KeyOf(size_t thread, size_t place) const {
    return {threads_[thread][place].tsc + 1, thread, place};
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
    const auto is_mark = [&](size_t i) {
      return (marks.calls && all[i].calls) ||
             std::ranges::find(marks.addresses, all[i].address) != marks.addresses.end();
    };
    if (forward && ended) return std::nullopt;
    const bool counts = thread != std::get<1>(from) && ended != forward;
    if (counts && is_mark(at)) return {{at, Reason::kAddress}};
    if (forward) {
      for (size_t i = at + 1; i < all.size(); ++i) {
        if (marks.losses && all[i].loss_before) return {{i, Reason::kLoss}};
        if (is_mark(i)) return {{i, Reason::kAddress}};
      }
      return std::nullopt;
    }
    for (size_t i = at; i-- != 0;) {
      if (marks.losses && all[i + 1].loss_before) return {{i, Reason::kLoss}};
      if (is_mark(i)) return {{i, Reason::kAddress}};
    }
    return std::nullopt;
  }

  std::vector<std::vector<Listed>> threads_;
  Key now_{0, 0, 0};
  std::optional<Key> others_from_;
};

}  // namespace flowback::listed
