// SPDX-License-Identifier: MIT
//
// A record says "this thread is switched in here" or "... out". Records may be lost, one or many in
// a row, and nothing says how many: an "in" while another thread still runs, an "out" of a thread
// that was never switched in. Then it is not known when the one thread ended, when the other began,
// and whether there was a third between them:
//
//      in A   out A  (in B   out B   in C)   out C          in (): lost
//     |===A===|      |-------nobody's-------|
//
// So the time in question is nobody's, with the process if both belong to the same one; but for
// what other words of the records prove: a switch may name the thread before or after, and a thread
// whose end is recorded does not run afterwards. The first record of a CPU is no such case: whoever
// goes out ran there when the recording began.
//
// A thread runs on one CPU at a time. If two CPUs have it, a stay that is not proved at both ends
// is wrong.
#include "decode/schedule/stays.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <variant>

namespace flowback {
namespace {

// Which process a thread belongs to, for records without it: those of the tracepoint sched_switch.
class Processes {
 public:
  explicit Processes(const std::vector<SidebandRecord>& records) {
    for (const SidebandRecord& record : records)
      std::visit([this](const SidebandBase& base) { Learn(base); }, record);
  }

  // Returns the process last recorded before `time`, since thread numbers are used again; else the
  // first one recorded afterwards.
  int32_t Of(int32_t tid, uint64_t time) const {
    const auto known = known_.find(tid);
    if (known == known_.end()) return -1;
    const auto later = std::ranges::upper_bound(known->second, time, {}, &Known::time);
    return later == known->second.begin() ? later->pid : std::prev(later)->pid;
  }

 private:
  struct Known {
    uint64_t time;
    int32_t pid;
  };

  void Learn(const SidebandBase& base) {
    if (base.tid <= 0 || base.pid <= 0) return;
    std::vector<Known>& known = known_[base.tid];
    if (known.empty() || known.back().pid != base.pid) known.push_back({base.time, base.pid});
  }

  std::unordered_map<int32_t, std::vector<Known>> known_;  // by thread, in time order
};

void MarkUnattributed(ThreadStay& stay) {
  if (stay.tid >= 0) stay.first_tid = stay.tid;
  stay.tid = -1;
}

}  // namespace

StaysOfCpus::StaysOfCpus(const std::vector<SidebandRecord>& records) {
  for (const SidebandRecord& record : records)
    std::visit(
        [this](const auto& known) {
          if (known.cpu >= 0 && known.tid >= 0) On(known);
        },
        record);
  for (Cpu& cpu : cpus_)
    if (cpu.running && cpu.exit != 0) {
      cpu.stays.back().end = cpu.exit;
      cpu.stays.back().end_bound = Bound::kKnown;
    }
  DropUnprovenStarts(records);
  const Processes processes(records);
  for (Cpu& cpu : cpus_)
    for (ThreadStay& stay : cpu.stays)
      if (stay.pid < 0 && stay.tid > 0) stay.pid = processes.Of(stay.tid, stay.end);
  DropImpossible();
  LookForOthers(records);
}

void StaysOfCpus::On(const SwitchRecord& record) {
  Cpu& cpu = At(record.cpu);
  cpu.has_switches = true;
  if (record.out) return SwitchOut(cpu, record, record.other_tid);
  // The record of the thread before may have been lost; this one names it, too.
  if (!cpu.running && cpu.stays.empty() && record.other_tid > 0) {
    SidebandBase before = record;
    before.pid = record.other_pid;
    before.tid = record.other_tid;
    SwitchOut(cpu, before, record.tid);
  }
  SwitchIn(cpu, record, record.other_tid);
}

void StaysOfCpus::On(const ItraceStartRecord& record) {
  Cpu& cpu = At(record.cpu);
  const bool ran = cpu.running && cpu.stays.back().tid == record.tid;
  if (ran) return;
  SwitchIn(cpu, record, -1);
  cpu.by_start = true;
}

// A thread with an exit record runs until then and not afterwards; the switch follows.
void StaysOfCpus::On(const ExitRecord& record) {
  const auto found = std::ranges::lower_bound(cpus_, record.cpu, {}, &Cpu::number);
  if (found == cpus_.end() || found->number != record.cpu) return;
  if (found->running && found->stays.back().tid == record.tid)
    found->exit = record.time;
  else
    SwitchOut(*found, record, -1);
}

const std::vector<ThreadStay>& StaysOfCpus::Of(int32_t cpu) const {
  static const std::vector<ThreadStay> kNone;
  const auto found = std::ranges::lower_bound(cpus_, cpu, {}, &Cpu::number);
  return found != cpus_.end() && found->number == cpu ? found->stays : kNone;
}

StaysOfCpus::Cpu& StaysOfCpus::At(int32_t number) {
  auto found = std::ranges::lower_bound(cpus_, number, {}, &Cpu::number);
  if (found == cpus_.end() || found->number != number)
    found = cpus_.insert(found, Cpu{.number = number, .stays = {}});
  return *found;
}

// The thread that runs is gone by the time of `who`'s record, but no record has the time.
void StaysOfCpus::EndUnseen(Cpu& cpu, const SidebandBase& who, int32_t previous) {
  ThreadStay& last = cpu.stays.back();
  const bool named = previous > 0 && previous == last.tid;
  last.end = cpu.exit != 0 && !named ? cpu.exit : who.time;
  last.end_bound = named || cpu.exit != 0 ? Bound::kKnown : Bound::kHinted;
  if (last.end_bound == Bound::kKnown) return;
  if (last.pid != who.pid) last.pid = -1;
  MarkUnattributed(last);
}

// The start of the trace and the switch have a record each.
bool StaysOfCpus::SaidTwice(const Cpu& cpu, const SidebandBase& who, int32_t previous) {
  if (!cpu.running || cpu.stays.back().tid != who.tid || cpu.exit != 0) return false;
  return cpu.stays.back().begin == who.time || (cpu.by_start && previous <= 0);
}

void StaysOfCpus::SwitchIn(Cpu& cpu, const SidebandBase& who, int32_t previous) {
  if (SaidTwice(cpu, who, previous)) {
    cpu.by_start = false;
    return;
  }
  if (cpu.running) EndUnseen(cpu, who, previous);
  cpu.stays.push_back({.begin = who.time,
                       .pid = who.pid,
                       .tid = who.tid,
                       .begin_bound = Bound::kKnown,
                       .code = nullptr});
  cpu.running = true;
  cpu.by_start = false;
  cpu.exit = 0;
}

void StaysOfCpus::SwitchOut(Cpu& cpu, const SidebandBase& who, int32_t next) {
  ThreadStay* last = cpu.stays.empty() ? nullptr : &cpu.stays.back();
  if (cpu.running && last->tid == who.tid) {
    last->end = who.time;
    last->end_bound = Bound::kKnown;
    if (last->pid < 0) last->pid = who.pid;
  } else if (cpu.running) {
    EndUnseen(cpu, who, -1);
    if (cpu.stays.back().tid < 0) cpu.stays.back().last_tid = who.tid;
  } else {
    // The thread ran since the recording began, or since the last stay ended if its record named
    // this thread as the next one.
    const bool certain = last == nullptr || cpu.next == who.tid;
    cpu.stays.push_back({.begin = cpu.out,
                         .end = who.time,
                         .pid = certain || last->pid == who.pid ? who.pid : -1,
                         .tid = certain ? who.tid : -1,
                         .last_tid = certain ? -1 : who.tid,
                         .begin_bound = Bound::kHinted,
                         .end_bound = Bound::kKnown,
                         .code = nullptr});
  }
  cpu.running = false;
  cpu.exit = 0;
  cpu.out = who.time;
  cpu.next = next > 0 ? next : -1;
}

// Looks for threads other than one that alone is named. A thread that has the same number, but was
// made after that one had run, is another one, too.
void StaysOfCpus::LookForOthers(const std::vector<SidebandRecord>& records) {
  std::set<std::pair<int32_t, int32_t>> threads;
  uint64_t begin = ~uint64_t{0};
  for (const Cpu& cpu : cpus_)
    for (const ThreadStay& stay : cpu.stays) {
      threads.emplace(stay.pid, stay.tid);
      for (const int32_t tid : {stay.tid, stay.first_tid, stay.last_tid})
        if (tid >= 0) named_.insert(tid);
      begin = std::min(begin, stay.end);
    }
  one_thread_ = threads.size() <= 1;
  if (named_.size() != 1) return;
  for (const SidebandRecord& record : records)
    if (const auto* fork = std::get_if<ForkRecord>(&record))
      reused_ |= fork->tid == *named_.begin() && fork->time > begin;
  if (reused_) one_thread_ = false;
}

// Without a single scheduling record, the thread for which the trace was started is not the only
// one that can have run there, unless there is no other.
void StaysOfCpus::DropUnprovenStarts(const std::vector<SidebandRecord>& records) {
  const auto switches = [](const Cpu& cpu) { return cpu.has_switches; };
  if (std::ranges::any_of(cpus_, switches)) return;
  std::set<int32_t> threads;
  for (const SidebandRecord& record : records) {
    const auto* fork = std::get_if<ForkRecord>(&record);
    if (fork != nullptr || std::holds_alternative<ItraceStartRecord>(record))
      threads.insert(std::visit([](const SidebandBase& base) { return base.tid; }, record));
    if (fork != nullptr) threads.insert(fork->parent_tid);
  }
  if (threads.size() < 2) return;
  for (Cpu& cpu : cpus_) std::ranges::for_each(cpu.stays, MarkUnattributed);
}

// Finds threads that the records have on two CPUs at once.
void StaysOfCpus::DropImpossible() {
  std::vector<ThreadStay*> all;
  for (Cpu& cpu : cpus_)
    for (ThreadStay& stay : cpu.stays)
      if (stay.tid > 0) all.push_back(&stay);
  // A stay without a recorded begin began when the thread had left its CPU before.
  std::ranges::stable_sort(all, {}, [](const ThreadStay* s) { return std::pair(s->tid, s->end); });
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i]->tid == all[i - 1]->tid && all[i]->begin_bound == Bound::kHinted)
      all[i]->begin = std::max(all[i]->begin, all[i - 1]->end);
  std::ranges::stable_sort(all, {},
                           [](const ThreadStay* s) { return std::pair(s->tid, s->begin); });
  std::vector<ThreadStay*> wrong;
  ThreadStay* before = nullptr;  // of the same thread, the one that ends last
  for (ThreadStay* stay : all) {
    if (before != nullptr && before->tid == stay->tid && stay->begin < before->end) {
      wrong.push_back(before);
      if (before->end_bound == Bound::kKnown) wrong.push_back(stay);
    }
    if (before == nullptr || before->tid != stay->tid || before->end < stay->end) before = stay;
  }
  for (ThreadStay* stay : wrong) MarkUnattributed(*stay);
}

}  // namespace flowback
