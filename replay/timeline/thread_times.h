// SPDX-License-Identifier: MIT
// The accounts of times in a timeline.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "flowback/replay/timeline.h"

namespace flowback {

// Learns the threads' times, with spans.
using TimesOf = std::function<Result<TimeAccounts>()>;

// Learns what the threads' times were, in a pass of its own. Errors: as AccountFlow's and the
// decoder's maker's.
Result<TimeAccounts> AccountTimes(const TimelineSources& sources);
// Returns the account of each flow; null: its times are unknown.
std::vector<const TimeAccount*> AccountsOf(const std::vector<const ThreadFlow*>& flows,
                                           const TimeAccounts& accounts);
// Cut to what was asked for.
TimeSpan LifeOf(const TimeAccount& account, const TimeSpan& wanted);
// Returns the span from the first one's begin to the last one's end. Empty: none of them has a
// time.
TimeSpan LivesOf(const std::vector<const TimeAccount*>& accounts, const TimeSpan& wanted);
// Which of them have a strip: those that live longest.
std::vector<bool> HaveStrips(const std::vector<const TimeAccount*>& accounts,
                             const TimelineOptions& options);
// Fills in the thread's times from the account.
void FillTimes(const TimeAccount& account, const TimelineOptions& options, ThreadTimeline& thread);

// Losses by thread, cause and code.
class LossSums {
 public:
  void Add(const DataLoss& loss);
  std::vector<LossSum> Take() { return std::exchange(sums_, {}); }

 private:
  std::vector<LossSum> sums_;  // in the order in which the first of each was met
  using Key = std::tuple<int32_t, LossCause, std::shared_ptr<const CodeSection>>;
  std::map<Key, size_t> numbers_;
};

}  // namespace flowback
