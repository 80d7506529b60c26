// SPDX-License-Identifier: MIT
// What the flow's addresses say about where threads were switched.
//
// A thread goes on where it stopped. So a switch to a thread can't lie in a pause behind which the
// flow goes on where the thread before had stopped, and the thread that comes in had not.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "decode/schedule/pauses.h"
#include "decode/schedule/resume_points.h"
#include "flowback/decode/schedule.h"
#include "flowback/model/recording.h"

namespace flowback {

// Between which pauses a stay began: stream offsets of the first one and of the last. The other way
// round: the stream does not tell.
struct SwitchPlace {
  uint64_t first = 1;
  uint64_t last = 0;
  bool missed = false;  // and it was in none of these: that pause is missing

  bool found() const { return first <= last; }
  bool known() const { return found() && !missed; }
  bool operator==(const SwitchPlace&) const = default;
};

// A stream that several threads wrote.
struct SharedStream {
  const Stream* stream = nullptr;
  const Schedule* schedule = nullptr;
  std::vector<Pause> pauses;        // by offset
  std::vector<ResumePoint> points;  // by offset; not every pause has one
  std::vector<SwitchPlace> places;  // of each stay, as far as they are known by now

  // Null when the flow does not tell.
  const ResumePoint* PointAt(uint64_t offset) const;
};

class ResumeEvidence {
 public:
  // `streams` and `records`, the recording's, must outlive this; the streams' places may change.
  ResumeEvidence(const std::deque<SharedStream>& streams,
                 const std::vector<SidebandRecord>& records);

  // Whether the thread of `stay` may have gone on at `address` when the stay began, for all that is
  // known.
  bool MayResume(const ThreadStay& stay, uint64_t address) const;

 private:
  struct StayOfThread {
    const SharedStream* stream = nullptr;
    size_t index = 0;  // in stream->schedule->stays

    const ThreadStay& stay() const { return stream->schedule->stays[index]; }
  };
  using Addresses = std::set<uint64_t>;

  // False: can't be told.
  bool AddStopsBefore(const ThreadStay& stay, Addresses& stops) const;
  bool AddStopsAtEnd(const StayOfThread& at, Addresses& stops) const;
  bool AddStopsAtFork(const ForkRecord& fork, Addresses& stops) const;

  std::map<int32_t, std::vector<StayOfThread>> stays_;  // by tid, then by begin
  std::map<int32_t, std::vector<const ForkRecord*>> forks_;
};

}  // namespace flowback
