// SPDX-License-Identifier: MIT
// What the time of the threads on one stream was.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/model/machine.h"
#include "flowback/model/recording.h"
#include "replay/threads/time_slot.h"

namespace flowback {

// TSC ticks in the account's unit.
class TimeUnit {
 public:
  explicit TimeUnit(const TimeConversion& conversion) : conversion_(conversion) {}

  bool nanoseconds() const { return conversion_.known(); }
  uint64_t At(uint64_t tsc) const {
    return conversion_.known() ? conversion_.ToNanoseconds(tsc) : tsc;
  }
  // Not before any moment of the tick.
  uint64_t Behind(uint64_t tsc) const { return At(tsc) + (conversion_.known() ? 1 : 0); }
  // Zeros: not known.
  TimePoint Point(uint64_t tsc, const TscInterval& bounds) const {
    return {tsc == 0 ? 0 : At(tsc), bounds.lo == 0 ? 0 : At(bounds.lo),
            bounds.hi == 0 ? kOpenTime : Behind(bounds.hi)};
  }

 private:
  TimeConversion conversion_;
};

// Where the functions of a recording between functions (--from, --until) were, in any process.
struct WatchAddresses {
  explicit WatchAddresses(const Recording& recording);

  bool everything = true;  // was recorded
  std::set<uint64_t> from;
  std::set<uint64_t> until;
};

// Threads that may have run on a stream, and its class of time outside of its flow.
struct StreamOwners {
  std::vector<TimeSlot> slots;  // in time order, without overlap
  // The stay of each slot, by place in memory; none: the slots are all of one thread, whose the
  // whole stream is.
  std::vector<const ThreadStay*> stays;
  TimeClass paused = TimeClass::kKernel;  // when tracing stops without a target
  bool overwritten = false;               // the buffer may have held trace before its first byte
};

// Follows a stream's events and losses, which come in its order, and fills the slots.
class StreamTimes final : public ExecutionConsumer {
 public:
  StreamTimes(StreamOwners& owners, const TimeUnit& unit, const WatchAddresses& span,
              uint64_t stream_size)
      : owners_(owners), unit_(unit), span_(span), stream_size_(stream_size), phase_(Paused()) {
    if (owners.overwritten) phase_ = {.kind = TimeClass::kFiltered, .cause = {}};
  }

  void OnBlock(const BlockRun&) override {}
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss& loss) override;
  // The stream ends at `last`, its last known time.
  void Finish(uint64_t last_tsc);

 private:
  TimePhase Paused() const { return {.kind = owners_.paused, .cause = {}}; }
  void EndLoss(const TraceEvent& event);
  TimePhase After(const TraceEvent& event) const;
  void Turn(const TimePoint& at, TimePhase next, const ThreadStay* stay);
  void GoTo(size_t slot, TimePhase phase);
  void CoverByTime(const TimePoint& at, TimePhase phase);
  bool Several() const { return !owners_.stays.empty(); }
  size_t IndexOf(const ThreadStay* stay) const;

  static constexpr size_t kNone = ~size_t{0};

  StreamOwners& owners_;
  const TimeUnit& unit_;
  const WatchAddresses& span_;
  uint64_t stream_size_;
  TimePhase phase_;
  bool begun_ = false;
  std::optional<TimePoint> loss_end_;  // of a loss that the flow has not gone on behind yet
  uint64_t loss_end_offset_ = 0;
  const ThreadStay* stay_ = nullptr;
  size_t own_ = kNone;  // stay_'s slot; none: nobody's
  size_t next_ = 0;     // the first slot that is not covered yet
};

}  // namespace flowback
