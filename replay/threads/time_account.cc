// SPDX-License-Identifier: MIT
//
// First the records give when each thread lived and when it was on a CPU: its slots, which must not
// overlap. The rest of its life it was off the CPUs. This needs only the streams' first and last
// times, which the source knows without decoding. Then each stream is decoded, once: that gives its
// sums, and shows what the slots on its CPU were (stream_times.h). So every unit of a life is
// counted once, for any input.
#include "flowback/replay/time_account.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "flowback/replay/threads.h"
#include "replay/threads/class_spans.h"
#include "replay/threads/flow_accountant.h"

namespace flowback {

FlowAccountant::FlowAccountant(const Recording& recording, const StreamInputs& inputs, bool spans)
    : recording_(recording),
      inputs_(inputs),
      spans_(spans),
      unit_(recording.time),
      lives_(recording),
      span_(recording) {
  for (const Stream& stream : recording_.streams) told_.push_back(inputs_.source().Times(stream));
  for (const auto& [tid, pid] : TracedThreads(recording_)) Thread(tid, pid);
  FindSpan();
  for (const Stream& stream : recording_.streams) FindHome(stream);
  BringHome();
  holders_.Decide();
  for (const Stream& stream : recording_.streams) streams_.push_back(OwnersOf(stream));
  Live();
  RemoveOverlaps();
}

void FlowAccountant::FindSpan() {
  for (const TscInterval& told : told_) {
    if (told.lo == 0) continue;
    Include(unit_.At(told.lo));
    Include(unit_.Behind(told.hi));
  }
  if (unit_.nanoseconds() && lives_.last() != 0) {
    Include(lives_.first());
    Include(lives_.last());
  }
  if (begin_ > end_) begin_ = end_ = 0;  // there are no times
}

// The thread that all of the stream is, if it is one's.
const ThreadStay* FlowAccountant::OnlyOwner(const Stream& stream) const {
  const std::vector<StayChange>& changes = inputs_.For(stream).changes;
  if (changes.size() != 1 && inputs_.ScheduleOf(stream).moves.empty()) return nullptr;
  const ThreadStay* owner = changes.front().stay;
  return owner->tid > 0 ? owner : nullptr;
}

// Works as above if records do not, or cannot, say when it was there: ticks can't be compared with
// the records' nanoseconds.
const ThreadStay* FlowAccountant::WholeOf(const Stream& stream) const {
  const ThreadStay* owner = OnlyOwner(stream);
  if (owner == nullptr) return nullptr;
  const bool untold = !inputs_.ScheduleOf(stream).moves.empty() ||
                      (owner->begin_bound == Bound::kOpen && owner->end_bound == Bound::kOpen);
  return untold || !unit_.nanoseconds() ? owner : nullptr;
}

void FlowAccountant::FindHome(const Stream& stream) {
  const ThreadStay* whole = WholeOf(stream);
  const Schedule& schedule = inputs_.ScheduleOf(stream);
  if (whole == nullptr) {
    if (HasStays(stream)) holders_.Add(stream, schedule, inputs_.For(stream).changes);
    const bool told = !schedule.stays.empty() &&
                      (schedule.stays.size() > 1 || schedule.stays[0].begin_bound != Bound::kOpen ||
                       schedule.stays[0].end_bound != Bound::kOpen);
    if (stream.cpu >= 0 && told) told_cpus_.insert(stream.cpu);
    return;
  }
  if (!schedule.moves.empty()) return;
  const auto take = [&](const Stream*& home) {
    if (home == nullptr || home->bytes.size() < stream.bytes.size()) home = &stream;
  };
  Home& home = homes_[whole->tid];
  take(home.most);
  if (stream.cpu >= 0) take(home.of_cpu[stream.cpu]);
}

// Where several buffers may hold the trace of a stay, one gets it: a thousand buffers that are all
// of one thread's do not make its life a thousand times as long.
void FlowAccountant::BringHome() {
  for (const auto& [tid, home] : homes_) {
    const std::vector<LifeStay>* stays = StaysOf(tid);
    if (stays == nullptr) continue;
    const bool by_cpu = home.most->cpu >= 0;
    for (const LifeStay& stay : *stays) {
      const auto of_cpu = home.of_cpu.find(stay.cpu);
      if (by_cpu && of_cpu != home.of_cpu.end())
        at_home_[of_cpu->second].push_back(&stay);
      else if (!by_cpu || !told_cpus_.contains(stay.cpu))
        at_home_[home.most].push_back(&stay);
    }
  }
}

StreamOwners FlowAccountant::OwnersOf(const Stream& stream) {
  StreamOwners owners;
  const TracedLevels& levels = recording_.levels;
  if (levels.kernel.value_or(false) || !levels.user.value_or(true) || inputs_.source().samples())
    owners.paused = TimeClass::kFiltered;
  owners.overwritten = lives_.overwrites();
  if (const ThreadStay* whole = WholeOf(stream); whole != nullptr)
    AddWhole(stream, *whole, owners);
  else if (HasStays(stream))
    AddStays(stream, owners);
  else
    AddSlot(owners.slots, FirstOf(stream), LastOf(stream), Nobody(stream), true);
  return owners;
}

void FlowAccountant::AddSlot(std::vector<TimeSlot>& slots, uint64_t begin, uint64_t end,
                             TimeAccount* account, bool told) {
  slots.emplace_back(begin, std::max(begin, end), account, told);
  if (account == nullptr || account->tid < 0) return;
  Entry& entry = threads_[account->tid];
  entry.has_slots = true;
  entry.first = std::min(entry.first, begin);
}

void FlowAccountant::AddStays(const Stream& stream, StreamOwners& owners) {
  const std::span<const ThreadStay> all = inputs_.ScheduleOf(stream).stays;
  const bool one_thread =
      OnlyOwner(stream) != nullptr &&
      std::ranges::all_of(all, [&](const ThreadStay& stay) { return stay.tid == all.front().tid; });
  if (!one_thread) owners.stays = holders_.Of(stream);
  for (const ThreadStay* one : holders_.Of(stream)) {
    const ThreadStay& stay = *one;
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

void FlowAccountant::AddWhole(const Stream& stream, const ThreadStay& stay, StreamOwners& owners) {
  const std::deque<ThreadStay>& moves = inputs_.ScheduleOf(stream).moves;
  if (moves.empty()) return AddAll(stream, stay, owners);
  for (const ThreadStay& move : moves) {
    const uint64_t until = move.end_tsc == ~uint64_t{0} ? kOpenTime : unit_.At(move.end_tsc);
    const uint64_t from = move.begin_tsc == 0 ? 0 : unit_.At(move.begin_tsc);
    // An empty one would end another that begins with it.
    if (from < until) AddPart(stream, move, from, until, owners);
  }
}

void FlowAccountant::AddAll(const Stream& stream, const ThreadStay& stay, StreamOwners& owners) {
  Thread(stay.tid, stay.pid);
  if (StaysOf(stay.tid) == nullptr) {
    if (!unit_.nanoseconds() || homes_.at(stay.tid).most == &stream)
      AddUntold(stream, stay.tid, 0, kOpenTime, owners);
    return;
  }
  threads_[stay.tid].has_stays = true;
  if (const auto found = at_home_.find(&stream); found != at_home_.end())
    for (const LifeStay* one : found->second) AddStay(*one, stay.tid, 0, kOpenTime, owners);
}

// All that the buffer holds of this time is one thread's: the thread's own records say when it was
// on a CPU, if any.
void FlowAccountant::AddPart(const Stream& stream, const ThreadStay& stay, uint64_t from,
                             uint64_t until, StreamOwners& owners) {
  Thread(stay.tid, stay.pid);
  const std::vector<LifeStay>* stays = StaysOf(stay.tid);
  if (stays == nullptr) return AddUntold(stream, stay.tid, from, until, owners);
  threads_[stay.tid].has_stays = true;
  auto one = std::ranges::partition_point(
      *stays, [from](const LifeStay& earlier) { return earlier.end <= from; });
  for (; one != stays->end() && one->begin < until; ++one)
    AddStay(*one, stay.tid, from, until, owners);
}

void FlowAccountant::AddUntold(const Stream& stream, int32_t tid, uint64_t from, uint64_t until,
                               StreamOwners& owners) {
  Entry& entry = threads_[tid];
  entry.account.off_cpu_told = false;
  const uint64_t first =
      unit_.nanoseconds() ? lives_.BornAt(tid).value_or(FirstOf(stream)) : FirstOf(stream);
  const uint64_t last = unit_.nanoseconds() ? end_ : LastOf(stream);
  const uint64_t begin = from != 0 ? from : first;
  const uint64_t end = until != kOpenTime ? until : last;
  if (!unit_.nanoseconds()) entry.last = std::max(entry.last, end);
  AddSlot(owners.slots, begin, end, &entry.account, true);
}

void FlowAccountant::AddStay(const LifeStay& stay, int32_t tid, uint64_t from, uint64_t until,
                             StreamOwners& owners) {
  Entry& entry = threads_[tid];
  const uint64_t begin = std::max({stay.begin, begin_, from});
  const uint64_t end = std::min({stay.end, end_, until});
  AddSlot(stay.missing ? unknown_ : owners.slots, begin, end, &entry.account, stay.begin_told);
  if (stay.end != kOpenTime) entry.last = std::max(entry.last, end);
}

void FlowAccountant::Live() {
  for (auto& [tid, entry] : threads_) LiveOne(tid, entry);
  for (auto& [index, account] : nobodies_) {
    account.begin = FirstOf(recording_.streams[index]);
    account.end = std::max(account.begin, LastOf(recording_.streams[index]));
  }
}

// From its birth or its first slot to its end, if the records have one.
void FlowAccountant::LiveOne(int32_t tid, Entry& entry) {
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

// A thread is on one CPU at a time: a recorded begin ends the slot before it.
void FlowAccountant::RemoveOverlaps() {
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

// Its times go into the slots.
ExecutionConsumer* FlowAccountant::Begin(const Stream& stream) {
  StreamOwners& owners = streams_[stream.index];
  times_.emplace(owners, unit_, span_, stream.bytes.size());
  if (stream.bytes.empty() || told_[stream.index].lo != 0) return &*times_;
  for (TimeSlot& slot : owners.slots) {
    slot.CoverRest(TimePhase::Of(LossCause::kNoTime));
    slot.Close();
  }
  times_.reset();
  return nullptr;
}

void FlowAccountant::End(const Stream& stream, uint64_t last_tsc) {
  if (times_) times_->Finish(stream.bytes.empty() ? 0 : last_tsc);
  times_.reset();
}

TimeAccount& FlowAccountant::AccountOf(const Stream& stream, const ThreadStay* stay) {
  TimeAccount* account = stay == nullptr ? nullptr : Thread(stay->tid, stay->pid);
  if (account != nullptr) return *account;
  const bool known = nobodies_.contains(stream.index);
  TimeAccount& nobody = *Nobody(stream);
  if (!known) nobody.begin = nobody.end = 0;  // its time is in the threads' accounts
  return nobody;
}

void FlowAccountant::CountFlow(const std::vector<FlowSummary>& summaries) {
  for (const Stream& stream : recording_.streams)
    for (const FlowPart& part : summaries[stream.index].parts) {
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

// Returns the class of a thread's time without trace and outside of recorded CPU times. Our
// recorder reports its losses; hardware's trace may be missing for many reasons.
TimePhase FlowAccountant::Unseen(bool any_stays) const {
  const Recording& all = recording_;
  const bool all_there = all.machine.emulated && all.warnings.empty() && all.losses.empty();
  if (!span_.everything) return {.kind = TimeClass::kFiltered, .cause = {}};
  if (any_stays) return {.kind = TimeClass::kOffCpu, .cause = {}};
  if (all_there) return {.kind = TimeClass::kKernel, .cause = {}};
  return TimePhase::Of(LossCause::kThreadUnknown);
}

// What the slots leave of the life.
void FlowAccountant::AddOffCpu(Entry& entry, bool any_stays) const {
  TimeAccount& account = entry.account;
  const uint64_t rest = account.lifetime() - std::min(account.lifetime(), account.Sum());
  const TimePhase phase =
      entry.has_slots ? TimePhase{.kind = TimeClass::kOffCpu, .cause = {}} : Unseen(any_stays);
  if (account.spans) CompleteSpans(account, phase.kind);
  if (rest == 0) return;
  TimeShare& share = account.Of(phase.kind);
  share.time += rest;
  share.hi += rest;
  if (phase.kind != TimeClass::kLost) share.lo += rest;
  if (phase.kind == TimeClass::kLost) account.causes[phase.cause] += rest;
}

void FlowAccountant::CloseUnknown() {
  for (TimeSlot& slot : unknown_) {
    slot.CoverRest(TimePhase::Of(LossCause::kThreadUnknown));
    slot.Close();
  }
}

TimeAccounts FlowAccountant::Take() {
  CloseUnknown();
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
  for (auto& [index, account] : nobodies_) {
    if (account.spans) CompleteSpans(account, TimeClass::kLost);
    accounts.threads.push_back(std::move(account));
  }
  return accounts;
}

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

Result<FlowAccounts> AccountFlow(const Recording& recording, const StreamInputs& inputs,
                                 Decoder& decoder, bool spans) {
  FlowAccountant accountant(recording, inputs, spans);
  FlowAccounts accounts;
  for (const Stream& stream : recording.streams) {
    ExecutionConsumer* const times = accountant.Begin(stream);
    const DecodeInput& input = inputs.For(stream);
    Result<FlowSummary> summary = FlowSummary();
    if (!stream.bytes.empty())
      summary = times == nullptr ? decoder.Summarize(input) : decoder.SummarizeTimed(input, *times);
    if (!summary) return Fail(summary.error());
    accountant.End(stream, summary->last_tsc);
    accounts.summaries.push_back(*std::move(summary));
  }
  accountant.CountFlow(accounts.summaries);
  accounts.times = accountant.Take();
  return accounts;
}

}  // namespace flowback
