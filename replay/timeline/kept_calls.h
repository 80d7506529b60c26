// SPDX-License-Identifier: MIT
// The longest calls of a thread, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/replay/timeline.h"

namespace flowback {

// Where there are more than it may keep, it drops the shorter half. So all callers of a kept call
// are kept, too.
class KeptCalls {
 public:
  explicit KeptCalls(size_t most) : most_(most) {}

  // `segment`, in which callers may be found out yet: each one moves those before it a level in.
  void Add(const TimelineCall& call);
  // Adds a system call. It is never the longest call: its caller took longer.
  void AddSystemCall(const TimelineCall& call) { Keep(call); }
  // Returns whether a call is left out because it is too short, and counts it then. Needs no more
  // of it than its duration and whether it is whole.
  bool LeaveOut(bool whole, uint64_t duration) {
    const bool out = duration < shortest_ && !IsLongest(whole, duration);
    left_out_ += out ? 1 : 0;
    return out;
  }
  // A caller was found outside of all calls so far since EndSegment.
  void MoveIn();
  void EndSegment();
  void Take(ThreadTimeline& thread);

 private:
  struct Kept {
    TimelineCall call;
    uint32_t moves = 0;  // of its segment when it was added
    bool settled = false;
  };

  void Keep(const TimelineCall& call);
  void LetGo();
  // Whole calls count as longer than all others.
  bool IsLongest(bool whole, uint64_t duration) const {
    if (!longest_ || whole != longest_whole_) return !longest_ || whole;
    return duration > longest_->duration();
  }

  size_t most_;
  std::vector<Kept> kept_;
  size_t settled_ = 0;  // the first ones of kept_ that are settled
  uint32_t moves_ = 0;
  uint64_t shortest_ = 0;
  uint64_t left_out_ = 0;
  std::optional<TimelineCall> longest_;
  bool longest_whole_ = false;
};

}  // namespace flowback
