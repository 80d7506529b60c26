// SPDX-License-Identifier: MIT
// What the flow's addresses say about where threads were switched.
//
// A thread goes on where it stopped. So a pause in which the flow stops and goes on at one address
// is none in which another thread came in, unless that thread had stopped at the same address
// before.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "decode/schedule/resume_points.h"
#include "decode/schedule/switch_places.h"
#include "flowback/decode/schedule.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"

namespace flowback {

// A stream that several threads wrote.
struct SharedStream {
  const Stream* stream = nullptr;
  const Schedule* schedule = nullptr;
  std::vector<Pause> pauses;        // by offset
  std::vector<ResumePoint> points;  // by offset; not every pause has one
  SwitchPlaces places;              // of the stays, as far as they are known by now

  // Null when the flow has none.
  const ResumePoint* PointAt(uint64_t offset) const;
};

class ResumeEvidence {
 public:
  // `streams` and `records`, the recording's, must outlive this; the streams' places may change.
  // `untold`: the stays of CPUs without evidence.
  ResumeEvidence(const std::deque<SharedStream>& streams,
                 const std::vector<SidebandRecord>& records,
                 const std::vector<std::span<const ThreadStay>>& untold = {});

  // Whether the thread of `stay` may have gone on at `address` when the stay began, for all that is
  // known.
  bool MayResume(const ThreadStay& stay, uint64_t address) const;

 private:
  struct StayOfThread {
    const SharedStream* stream = nullptr;  // null: no evidence
    const ThreadStay* stay = nullptr;
    size_t index = 0;  // in stream->schedule->stays
  };
  using Addresses = std::set<uint64_t>;

  // Each adds where the thread may have stopped. False: unknown.
  bool AddStopsBefore(const ThreadStay& stay, Addresses& stops) const;
  bool AddStopsAtEnd(const StayOfThread& at, Addresses& stops) const;
  bool AddStopsAtFork(const ForkRecord& fork, Addresses& stops) const;

  std::map<int32_t, std::vector<StayOfThread>> stays_;  // by tid, then by begin
  std::map<int32_t, std::vector<const ForkRecord*>> forks_;
};

}  // namespace flowback
