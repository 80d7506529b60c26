// SPDX-License-Identifier: MIT
#include "replay/timeline/kept_calls.h"

#include <algorithm>
#include <utility>

namespace flowback {

bool TimelineCall::IsWhole() const {
  const bool entered = entry != CallEntry::kRunning && entry != CallEntry::kReturnedTo;
  return entered &&
         (exit == CallExit::kReturn || exit == CallExit::kTailCall || exit == CallExit::kUnwound);
}

void KeptCalls::Add(const TimelineCall& call) {
  if (IsLongest(call.IsWhole(), call.duration())) {
    longest_ = call;
    longest_whole_ = call.IsWhole();
  }
  Keep(call);
}

void KeptCalls::Keep(const TimelineCall& call) {
  if (call.duration() < shortest_) {
    ++left_out_;
    return;
  }
  kept_.push_back({.call = call, .moves = moves_});
  if (kept_.size() > most_) LetGo();
}

void KeptCalls::MoveIn() { ++moves_; }

void KeptCalls::EndSegment() {
  for (size_t i = settled_; i < kept_.size(); ++i) {
    Kept& kept = kept_[i];
    if (kept.settled) continue;
    kept.call.depth += moves_ - kept.moves;
    kept.settled = true;
  }
  settled_ = kept_.size();
  moves_ = 0;
}

void KeptCalls::LetGo() {
  std::vector<uint64_t> durations;
  durations.reserve(kept_.size());
  for (const Kept& kept : kept_) durations.push_back(kept.call.duration());
  const auto middle = durations.begin() + static_cast<ptrdiff_t>(durations.size() / 2);
  std::ranges::nth_element(durations, middle);
  shortest_ = *middle + 1;
  settled_ = 0;
  left_out_ +=
      std::erase_if(kept_, [this](const Kept& kept) { return kept.call.duration() < shortest_; });
}

void KeptCalls::Take(ThreadTimeline& thread) {
  EndSegment();
  for (Kept& kept : kept_) thread.calls.push_back(kept.call);
  kept_.clear();
  std::ranges::stable_sort(thread.calls, [](const TimelineCall& a, const TimelineCall& b) {
    return std::pair(a.begin, a.depth) < std::pair(b.begin, b.depth);
  });
  thread.calls_left_out = left_out_;
  thread.shortest = shortest_;
  thread.longest = longest_;
}

}  // namespace flowback
