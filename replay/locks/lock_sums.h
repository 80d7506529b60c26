// SPDX-License-Identifier: MIT
// The sums of all waits of a recording.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/locks/holders/lock_holders.h"
#include "replay/locks/lock_player.h"
#include "replay/locks/wait_shares.h"
#include "replay/timeline/duration_counts.h"

namespace flowback {

class WaitTotals final : public LockSink {
 public:
  // `alone`: whether each thread is the only one of its process, so that it waits for no other
  // thread, but in the kernel. `report`: its threads and times are there; what waits add up to is
  // written to it.
  WaitTotals(const LockOptions& options, const LockSites& sites, std::vector<bool> alone,
             LockReport& report)
      : options_(options),
        sites_(sites),
        alone_(std::move(alone)),
        report_(report),
        holders_(report.paths) {}

  // Also splits the times of the threads, as LockOptions::shares asks. `accounts`, with spans, must
  // outlive this.
  void SplitTimes(const std::vector<const TimeAccount*>& accounts);

  void OnThread(uint32_t number) override;
  void OnThreadEnd(uint32_t number, uint64_t instructions) override;
  void OnWait(const LockWait& wait, std::string_view family) override;
  void OnSleep(uint64_t begin, uint64_t end) override {
    if (shares_) shares_->AddSleep(begin, end);
  }
  void OnAcquisition(uint32_t site) override { Count(site, thread_, 1); }
  void OnAcquisitionOf(uint32_t site, uint32_t instance) override;
  void OnCalls(uint32_t number, CallCounts calls) override;
  void OnAcquired(const Acquired& acquired) override { holders_.OnAcquired(thread_, acquired); }
  void OnReleasing(std::string_view family, const TimePoint& time, uint64_t address) override {
    holders_.OnReleasing(thread_, family, time, address);
    followed_ = holders_.followed();
  }
  void OnReleased(std::string_view family, const TimePoint& time) override {
    holders_.OnReleased(thread_, family, time.hi);
  }
  void OnDoing(uint32_t node, size_t depth, uint64_t time) override {
    holders_.OnDoing(thread_, node, depth, time);
    followed_ = holders_.followed();
  }

  // Fills in the report except for its sites, functions and loops. `proves` and `away`: as in
  // LockHolders::Tell. Call it once, at the end.
  void Tell(bool proves, TimeAway& away);
  // Whether a wait counts.
  bool has_waits() const { return has_waits_; }
  // Trips by site of threads that no other one could have let go on.
  const std::map<uint32_t, uint64_t>& trips_alone() const { return trips_alone_; }

 private:
  struct Sum {
    LockSums sums;
    DurationCounts durations;
  };
  using SumsByKey = std::map<std::pair<uint32_t, uint32_t>, Sum>;

  void Add(Sum& sum, const LockWait& wait) const;
  static std::vector<LockSums> Told(const SumsByKey& sums);
  void AddToStrip(const LockWait& wait);
  void KeepWorst(const LockWait& wait);

  bool has_waits_ = false;
  static constexpr size_t kMostCalls = size_t{1} << 20;

  void Count(uint32_t site, uint32_t thread, uint64_t acquisitions);
  void CountCalls();
  bool MayCountCalls(uint32_t site) const;

  const LockOptions& options_;
  const LockSites& sites_;
  const std::vector<bool> alone_;
  LockReport& report_;
  uint32_t thread_ = 0;
  SumsByKey by_site_;                     // and 0
  SumsByKey by_thread_;                   // by site and thread
  SumsByKey by_path_;                     // by site and path
  SumsByKey by_instance_;                 // by site and lock
  std::map<uint32_t, CallCounts> calls_;  // by thread
  size_t kept_calls_ = 0;
  std::map<uint32_t, uint64_t> trips_alone_;
  LockHolders holders_;
  std::vector<const TimeAccount*> accounts_;  // empty: times are not split
  std::vector<bool> has_strip_;
  std::optional<WaitShares> shares_;  // of the thread that is played
};

}  // namespace flowback
