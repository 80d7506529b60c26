// SPDX-License-Identifier: MIT
// A thread's time on one CPU, filled with what it was from its begin to its end.
#pragma once

#include <cstdint>

#include "flowback/replay/time_account.h"

namespace flowback {

inline constexpr uint64_t kOpenTime = ~uint64_t{0};

// A moment in the account's unit, and its proven bounds.
struct TimePoint {
  uint64_t time = 0;
  uint64_t lo = 0;
  uint64_t hi = kOpenTime;

  static TimePoint Exact(uint64_t time) { return {time, time, time}; }
};

struct TimePhase {
  TimeClass kind = TimeClass::kKernel;
  LossCause cause{};  // of kLost and kUndecodable

  static TimePhase Of(LossCause cause) {
    return {ClassOf(cause) == LossClass::kLost ? TimeClass::kLost : TimeClass::kUndecodable, cause};
  }
  bool operator==(const TimePhase&) const = default;
};

class TimeSlot {
 public:
  // `account` may be null: not wanted. It must not move. `told` is false if the records do not
  // contain the begin: time before the thread's first flow may not be its own.
  TimeSlot(uint64_t begin, uint64_t end, TimeAccount* account, bool told = true)
      : begin_(begin), end_(end), account_(account), told_(told) {}

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  TimeAccount* account() const { return account_; }
  bool told() const { return told_; }
  // Before any Cover.
  void Limit(uint64_t begin, uint64_t end);

  // Fills uncovered time up to `until` with `phase`.
  void Cover(const TimePoint& until, TimePhase phase);
  void CoverRest(TimePhase phase) { Cover(TimePoint::Exact(end_), phase); }
  // Hands the times over to the account. Everything must have been covered.
  void Close();

 private:
  void Flush();

  uint64_t begin_;
  uint64_t end_;
  TimeAccount* account_;
  bool told_;
  bool begun_ = false;
  TimePhase phase_;  // of [run_, covered_)
  TimePoint run_;
  TimePoint covered_;
};

}  // namespace flowback
