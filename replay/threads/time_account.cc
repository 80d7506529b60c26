// SPDX-License-Identifier: MIT
//
// First the records tell when each thread lived and when it was on a CPU: its slots, which must not
// overlap. The rest of its life it was off the CPUs. Then each stream's trace tells what the slots
// on its CPU were (stream_times.h). So every unit of a life is counted once, whatever the input.
#include "flowback/replay/time_account.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "flowback/replay/thread_flow.h"
#include "replay/threads/stream_times.h"
#include "replay/threads/thread_lives.h"

namespace flowback {
namespace {

class Accountant {
 public:
  Accountant(const Recording& recording, const StreamInputs& inputs,
             const std::vector<FlowSummary>& summaries)
      : recording_(recording),
        inputs_(inputs),
        summaries_(summaries),
        unit_(recording.pt.time),
        lives_(recording),
        span_(recording) {}

  Result<TimeAccounts> Run(Decoder& decoder) {
    for (const auto& [tid, pid] : TracedThreads(recording_)) Thread(tid, pid);
    FindSpan();
    for (const Stream& stream : recording_.streams) streams_.push_back(OwnersOf(stream));
    Live();
    RemoveOverlaps();
    for (const Stream& stream : recording_.streams)
      if (Status status = Time(stream, decoder); !status) return Fail(status.error());
    for (TimeSlot& slot : unknown_) {
      slot.CoverRest(TimePhase::Of(LossCause::kThreadUnknown));
      slot.Close();
    }
    CountFlow();
    return Take();
  }

 private:
  // An account in the making.
  struct Entry {
    TimeAccount account;
    bool has_slots = false;
    bool has_stays = false;      // a record tells of one
    uint64_t first = kOpenTime;  // of its slots
    uint64_t last = 0;           // end of its slots that have one
  };

  TimeAccount* Thread(int32_t tid, int32_t pid) {
    if (tid <= 0) return nullptr;  // 0: idle
    TimeAccount& account = threads_[tid].account;
    account.tid = tid;
    if (account.pid < 0) account.pid = pid;
    return &account;
  }
  TimeAccount* Nobody(const Stream& stream) {
    TimeAccount& account = nobodies_[stream.index];
    account.stream = &stream;
    account.off_cpu_told = false;
    return &account;
  }

  void FindSpan();
  void Include(uint64_t time) {
    begin_ = std::min(begin_, time);
    end_ = std::max(end_, time);
  }
  uint64_t FirstOf(const Stream& stream) const {
    const uint64_t tsc = summaries_[stream.index].first_tsc;
    return tsc == 0 ? begin_ : unit_.At(tsc);
  }
  uint64_t LastOf(const Stream& stream) const {
    const uint64_t tsc = summaries_[stream.index].last_tsc;
    return tsc == 0 ? end_ : unit_.Behind(tsc);
  }

  StreamOwners OwnersOf(const Stream& stream);
  void AddStays(const Schedule& schedule, bool one_thread, StreamOwners& owners);
  void AddWhole(const Stream& stream, const ThreadStay& stay, StreamOwners& owners);
  void AddSlot(std::vector<TimeSlot>& slots, uint64_t begin, uint64_t end, TimeAccount* account,
               bool told);
  void Live();
  void LiveOne(int32_t tid, Entry& entry);
  void RemoveOverlaps();
  Status Time(const Stream& stream, Decoder& decoder);
  void CountFlow();
  TimeAccount& AccountOf(const Stream& stream, const ThreadStay* stay);
  TimeAccounts Take();
  TimePhase Unseen(bool any_stays) const;
  void AddOffCpu(Entry& entry, bool any_stays) const;

  const Recording& recording_;
  const StreamInputs& inputs_;
  const std::vector<FlowSummary>& summaries_;
  const TimeUnit unit_;
  const ThreadLives lives_;
  const SpanAddresses span_;
  uint64_t begin_ = kOpenTime;  // of the recording
  uint64_t end_ = 0;
  std::map<int32_t, Entry> threads_;
  std::map<uint32_t, TimeAccount> nobodies_;  // by stream
  std::vector<StreamOwners> streams_;         // by index
  std::vector<TimeSlot> unknown_;             // of several threads one, on some CPU
};

void Accountant::FindSpan() {
  for (size_t i = 0; i < summaries_.size(); ++i) {
    if (summaries_[i].first_tsc == 0) continue;
    Include(unit_.At(summaries_[i].first_tsc));
    Include(unit_.Behind(summaries_[i].last_tsc));
  }
  if (unit_.nanoseconds() && lives_.last() != 0) {
    Include(lives_.first());
    Include(lives_.last());
  }
  if (begin_ > end_) begin_ = end_ = 0;  // nothing tells the time
}

// Ticks can't be compared with the records' nanoseconds: then only the trace tells.
StreamOwners Accountant::OwnersOf(const Stream& stream) {
  StreamOwners owners;
  const PtConfig& config = recording_.pt;
  if (config.kernel_traced.value_or(false) || !config.user_traced.value_or(true))
    owners.paused = TimeClass::kFiltered;
  owners.overwritten = lives_.overwrites();
  const Schedule& schedule = inputs_.ScheduleOf(stream);
  const std::vector<StayChange>& changes = inputs_.For(stream).changes;
  const ThreadStay* whole = changes.size() == 1 ? changes.front().stay : nullptr;
  const bool untold =
      whole != nullptr && whole->begin_bound == Bound::kOpen && whole->end_bound == Bound::kOpen;
  if (whole != nullptr && whole->tid > 0 && (untold || !unit_.nanoseconds()))
    AddWhole(stream, *whole, owners);
  else if (unit_.nanoseconds() && !schedule.stays.empty())
    AddStays(schedule, whole != nullptr && whole->tid > 0, owners);
  else
    AddSlot(owners.slots, FirstOf(stream), LastOf(stream), Nobody(stream), true);
  return owners;
}

void Accountant::AddSlot(std::vector<TimeSlot>& slots, uint64_t begin, uint64_t end,
                         TimeAccount* account, bool told) {
  slots.emplace_back(begin, std::max(begin, end), account, told);
  if (account == nullptr || account->tid < 0) return;
  Entry& entry = threads_[account->tid];
  entry.has_slots = true;
  entry.first = std::min(entry.first, begin);
}

void Accountant::AddStays(const Schedule& schedule, bool one_thread, StreamOwners& owners) {
  const bool same = std::ranges::all_of(schedule.stays, [&](const ThreadStay& stay) {
    return stay.tid == schedule.stays.front().tid;
  });
  if (!one_thread || !same) owners.stays = schedule.stays.data();
  for (const ThreadStay& stay : schedule.stays) {
    const uint64_t begin = std::max(stay.begin, begin_);
    const uint64_t end = stay.end_bound == Bound::kOpen ? end_ : stay.end;
    TimeAccount* account = Thread(stay.tid, stay.pid);
    AddSlot(owners.slots, begin, end, account, stay.begin_bound == Bound::kKnown);
    if (account != nullptr) {
      Entry& entry = threads_[stay.tid];
      entry.has_stays = true;
      if (stay.end_bound == Bound::kKnown) entry.last = std::max(entry.last, end);
    }
    if (stay.tid >= 0) continue;
    // One of those that the records around name, or a third one.
    for (const int32_t tid : std::set<int32_t>{stay.first_tid, stay.last_tid})
      if (TimeAccount* one_of = Thread(tid, -1); one_of != nullptr)
        AddSlot(unknown_, begin, end, one_of, true);
  }
}

// The buffer of one thread: records of the thread itself tell when it was on a CPU, if any do.
void Accountant::AddWhole(const Stream& stream, const ThreadStay& stay, StreamOwners& owners) {
  TimeAccount* account = Thread(stay.tid, stay.pid);
  const std::vector<LifeStay>* stays = unit_.nanoseconds() ? lives_.StaysOf(stay.tid) : nullptr;
  if (stays == nullptr) {
    account->off_cpu_told = false;
    const uint64_t begin =
        unit_.nanoseconds() ? lives_.BornAt(stay.tid).value_or(FirstOf(stream)) : FirstOf(stream);
    const uint64_t end = unit_.nanoseconds() ? end_ : LastOf(stream);
    if (!unit_.nanoseconds()) threads_[stay.tid].last = std::max(threads_[stay.tid].last, end);
    return AddSlot(owners.slots, begin, end, account, true);
  }
  Entry& entry = threads_[stay.tid];
  entry.has_stays = true;
  for (const LifeStay& one : *stays) {
    const uint64_t begin = std::max(one.begin, begin_);
    const uint64_t end = std::min(one.end, end_);
    AddSlot(one.missing ? unknown_ : owners.slots, begin, end, account, one.begin_told);
    if (one.end != kOpenTime) entry.last = std::max(entry.last, end);
  }
}

void Accountant::Live() {
  for (auto& [tid, entry] : threads_) LiveOne(tid, entry);
  for (auto& [index, account] : nobodies_) {
    account.begin = FirstOf(recording_.streams[index]);
    account.end = std::max(account.begin, LastOf(recording_.streams[index]));
  }
}

// From its birth or its first slot to its end, where the records tell one.
void Accountant::LiveOne(int32_t tid, Entry& entry) {
  TimeAccount& account = entry.account;
  account.begin = entry.has_slots ? entry.first : begin_;
  account.end = end_;
  if (!unit_.nanoseconds()) {
    if (entry.has_slots) account.end = entry.last;
  } else {
    if (const auto born = lives_.BornAt(tid)) account.begin = *born;
    if (const auto exit = lives_.ExitedAt(tid)) account.end = std::max(*exit, entry.last);
  }
  account.end = std::max(account.begin, account.end);
}

// A thread is on one CPU at a time: a begin that a record tells ends the slot before it.
void Accountant::RemoveOverlaps() {
  std::map<const TimeAccount*, std::vector<TimeSlot*>> all;
  const auto collect = [&](std::vector<TimeSlot>& slots) {
    for (TimeSlot& slot : slots) {
      if (slot.account() == nullptr) continue;
      slot.Limit(slot.account()->begin, slot.account()->end);
      all[slot.account()].push_back(&slot);
    }
  };
  for (StreamOwners& owners : streams_) collect(owners.slots);
  collect(unknown_);
  for (auto& [account, slots] : all) {
    std::ranges::stable_sort(slots, {}, &TimeSlot::begin);
    uint64_t reached = 0;
    TimeSlot* before = nullptr;
    for (TimeSlot* slot : slots) {
      if (slot->begin() < reached && slot->told() && before->begin() <= slot->begin())
        before->Limit(0, slot->begin());
      else
        slot->Limit(reached, kOpenTime);
      before = slot;
      reached = slot->end();
    }
  }
}

Status Accountant::Time(const Stream& stream, Decoder& decoder) {
  DecodeInput input = inputs_.For(stream);
  input.times = true;
  input.blocks = false;
  StreamOwners& owners = streams_[stream.index];
  if (summaries_[stream.index].first_tsc == 0 && !stream.bytes.empty()) {
    for (TimeSlot& slot : owners.slots) {
      slot.CoverRest(TimePhase::Of(LossCause::kNoTime));
      slot.Close();
    }
    return {};
  }
  StreamTimes times(owners, unit_, span_, stream.bytes.size());
  if (stream.bytes.empty()) {
    times.Finish(0);
    return {};
  }
  const Result<ByteAccount> decoded = decoder.Decode(input, times);
  if (!decoded) return Fail(decoded.error());
  times.Finish(summaries_[stream.index].last_tsc);
  return {};
}

TimeAccount& Accountant::AccountOf(const Stream& stream, const ThreadStay* stay) {
  TimeAccount* account = stay == nullptr ? nullptr : Thread(stay->tid, stay->pid);
  if (account != nullptr) return *account;
  const bool known = nobodies_.contains(stream.index);
  TimeAccount& nobody = *Nobody(stream);
  if (!known) nobody.begin = nobody.end = 0;  // its time is in the threads' accounts
  return nobody;
}

void Accountant::CountFlow() {
  for (const Stream& stream : recording_.streams)
    for (const FlowPart& part : summaries_[stream.index].parts) {
      if (part.totals.digest.count == 0 && part.totals.losses.empty()) continue;
      TimeAccount& account = AccountOf(stream, part.stay);
      account.instructions += part.totals.digest.count;
      account.losses += part.totals.LossCount();
    }
  for (const ThreadFlow& flow : ThreadFlows(recording_, inputs_))
    for (const FlowPiece& piece : flow.pieces)
      if (piece.end != piece.begin)
        AccountOf(*piece.stream, piece.stay).bytes += piece.end - piece.begin;
}

// What the time of a thread was that has no trace and that no record has on a CPU. Our recorder
// tells whether it lost anything; hardware's trace may be missing for many reasons.
TimePhase Accountant::Unseen(bool any_stays) const {
  const bool all_there =
      recording_.machine.emulated && recording_.warnings.empty() && recording_.losses.empty();
  if (!span_.everything) return {.kind = TimeClass::kFiltered, .cause = {}};
  if (any_stays) return {.kind = TimeClass::kOffCpu, .cause = {}};
  if (all_there) return {.kind = TimeClass::kKernel, .cause = {}};
  return TimePhase::Of(LossCause::kThreadUnknown);
}

// What the slots leave of the life.
void Accountant::AddOffCpu(Entry& entry, bool any_stays) const {
  TimeAccount& account = entry.account;
  const uint64_t rest = account.lifetime() - std::min(account.lifetime(), account.Sum());
  if (rest == 0) return;
  const TimePhase phase =
      entry.has_slots ? TimePhase{.kind = TimeClass::kOffCpu, .cause = {}} : Unseen(any_stays);
  TimeShare& share = account.Of(phase.kind);
  share.time += rest;
  share.hi += rest;
  if (phase.kind == TimeClass::kLost)
    account.causes[phase.cause] += rest;
  else
    share.lo += rest;
}

TimeAccounts Accountant::Take() {
  TimeAccounts accounts;
  accounts.nanoseconds = unit_.nanoseconds();
  const bool any_stays =
      std::ranges::any_of(threads_, [](const auto& thread) { return thread.second.has_stays; });
  for (auto& [tid, entry] : threads_) {
    AddOffCpu(entry, any_stays);
    entry.account.off_cpu_told =
        entry.has_stays || (!entry.has_slots && (any_stays || !span_.everything));
    accounts.threads.push_back(std::move(entry.account));
  }
  for (auto& [index, account] : nobodies_) accounts.threads.push_back(std::move(account));
  return accounts;
}

}  // namespace

const char* Name(TimeClass kind) {
  switch (kind) {
    case TimeClass::kExecuting:
      return "executing";
    case TimeClass::kOffCpu:
      return "off-CPU";
    case TimeClass::kKernel:
      return "kernel";
    case TimeClass::kLost:
      return "lost";
    case TimeClass::kFiltered:
      return "filtered";
    case TimeClass::kUndecodable:
      return "undecodable";
  }
  return "?";
}

uint64_t TimeAccount::Sum() const {
  uint64_t sum = 0;
  for (const TimeShare& share : shares) sum += share.time;
  return sum;
}

Result<TimeAccounts> AccountTimes(const Recording& recording, const StreamInputs& inputs,
                                  const std::vector<FlowSummary>& summaries, Decoder& decoder) {
  return Accountant(recording, inputs, summaries).Run(decoder);
}

}  // namespace flowback
