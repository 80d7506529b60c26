// SPDX-License-Identifier: MIT
// Makes the accounts of threads' times while any caller decodes the streams.
//
//   FlowAccountant accountant(recording, inputs, spans);
//   for (const Stream& stream : recording.streams) {
//     ExecutionConsumer* times = accountant.Begin(stream);   // of the events and losses
//     ...
//     accountant.End(stream, last_tsc);
//   }
//   TimeAccounts accounts = accountant.Take();
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "flowback/decode/stream_input.h"
#include "flowback/replay/time_account.h"
#include "replay/threads/stay_holders.h"
#include "replay/threads/stream_times.h"
#include "replay/threads/thread_lives.h"

namespace flowback {

// The arguments must outlive it.
class FlowAccountant {
 public:
  FlowAccountant(const Recording& recording, const StreamInputs& inputs, bool spans);
  FlowAccountant(const FlowAccountant&) = delete;
  FlowAccountant& operator=(const FlowAccountant&) = delete;

  // The recording's streams one behind the other, all of them. The returned consumer receives the
  // stream's events and losses with their times; null: not wanted.
  ExecutionConsumer* Begin(const Stream& stream);
  // `last_tsc`: the last time known of the flow.
  void End(const Stream& stream, uint64_t last_tsc);
  // Adds the executed and lost parts of the streams, for TimeAccount's counts.
  void CountFlow(const std::vector<FlowSummary>& summaries);
  // Behind the last stream.
  TimeAccounts Take();

 private:
  // An account in the making.
  struct Entry {
    TimeAccount account;
    bool has_slots = false;
    bool has_stays = false;      // a record has one
    uint64_t first = kOpenTime;  // of its slots
    uint64_t last = 0;           // end of its slots that have one
  };

  // For streams of a single thread: the ones that its times on CPUs belong to.
  struct Home {
    const Stream* most = nullptr;             // has the most trace
    std::map<int32_t, const Stream*> of_cpu;  // the same for one CPU
  };

  TimeAccount* Thread(int32_t tid, int32_t pid) {
    if (tid <= 0) return nullptr;  // 0: idle
    TimeAccount& account = threads_[tid].account;
    account.tid = tid;
    if (spans_ && !account.spans) account.spans.emplace();
    if (account.pid < 0) account.pid = pid;
    return &account;
  }
  TimeAccount* Nobody(const Stream& stream) {
    TimeAccount& account = nobodies_[stream.index];
    account.stream = &stream;
    account.off_cpu_told = false;
    if (spans_ && !account.spans) account.spans.emplace();
    return &account;
  }

  void FindSpan();
  void Include(uint64_t time) {
    begin_ = std::min(begin_, time);
    end_ = std::max(end_, time);
  }
  uint64_t FirstOf(const Stream& stream) const {
    const uint64_t tsc = told_[stream.index].lo;
    return tsc == 0 ? begin_ : unit_.At(tsc);
  }
  uint64_t LastOf(const Stream& stream) const {
    const uint64_t tsc = told_[stream.index].hi;
    return tsc == 0 ? end_ : unit_.Behind(tsc);
  }

  const std::vector<LifeStay>* StaysOf(int32_t tid) const {
    return unit_.nanoseconds() ? lives_.StaysOf(tid) : nullptr;
  }
  const ThreadStay* OnlyOwner(const Stream& stream) const;
  const ThreadStay* WholeOf(const Stream& stream) const;
  void FindHome(const Stream& stream);
  void BringHome();
  StreamOwners OwnersOf(const Stream& stream);
  bool HasStays(const Stream& stream) const {
    return unit_.nanoseconds() && !inputs_.ScheduleOf(stream).stays.empty();
  }
  void AddStays(const Stream& stream, StreamOwners& owners);
  void AddWhole(const Stream& stream, const ThreadStay& stay, StreamOwners& owners);
  void AddAll(const Stream& stream, const ThreadStay& stay, StreamOwners& owners);
  void AddPart(const Stream& stream, const ThreadStay& stay, uint64_t from, uint64_t until,
               StreamOwners& owners);
  void AddUntold(const Stream& stream, int32_t tid, uint64_t from, uint64_t until,
                 StreamOwners& owners);
  void AddStay(const LifeStay& stay, int32_t tid, uint64_t from, uint64_t until,
               StreamOwners& owners);
  void AddSlot(std::vector<TimeSlot>& slots, uint64_t begin, uint64_t end, TimeAccount* account,
               bool told);
  void Live();
  void LiveOne(int32_t tid, Entry& entry);
  void RemoveOverlaps();
  void CloseUnknown();
  TimeAccount& AccountOf(const Stream& stream, const ThreadStay* stay);
  TimePhase Unseen(bool any_stays) const;
  void AddOffCpu(Entry& entry, bool any_stays) const;

  const Recording& recording_;
  const StreamInputs& inputs_;
  const bool spans_;
  std::vector<TscInterval> told_;  // the first and last time of each stream; zeros: none
  const TimeUnit unit_;
  const ThreadLives lives_;
  const WatchAddresses span_;
  uint64_t begin_ = kOpenTime;  // of the recording
  uint64_t end_ = 0;
  std::map<int32_t, Entry> threads_;
  std::map<uint32_t, TimeAccount> nobodies_;  // by stream
  std::map<int32_t, Home> homes_;             // by tid
  std::set<int32_t> told_cpus_;               // CPUs with records of who was there when
  std::map<const Stream*, std::vector<const LifeStay*>> at_home_;
  StayHolders holders_;
  std::vector<StreamOwners> streams_;  // by index
  std::vector<TimeSlot> unknown_;      // of several threads one, on some CPU
  std::optional<StreamTimes> times_;   // of the stream at hand
};

}  // namespace flowback
