// SPDX-License-Identifier: MIT
//
// A record says "this thread is switched in here" or "... out". Records may be lost: an "in" while
// another thread still runs, an "out" of a thread that was never switched in. Then it is not known
// when the one thread ended and the other began; the time between the two records is given to
// nobody, with the process if both belong to the same one.
#include "decode/schedule/stays.h"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace flowback {

StaysOfCpus::StaysOfCpus(const std::vector<SidebandRecord>& records) {
  const auto take = [this](const auto& record) {
    using Record = std::decay_t<decltype(record)>;
    if (record.cpu < 0 || record.tid < 0) return;
    if constexpr (std::is_same_v<Record, SwitchRecord>) {
      Cpu& cpu = At(record.cpu);
      if (record.out) {
        SwitchOut(cpu, record, record.time);
      } else {
        // The record of the thread before may have been lost; this one names it, too.
        if (!cpu.running && cpu.stays.empty() && record.other_tid > 0)
          SwitchOut(cpu, {.pid = record.other_pid, .tid = record.other_tid}, record.time);
        SwitchIn(cpu, record, record.time);
      }
    } else if constexpr (std::is_same_v<Record, ItraceStartRecord>) {
      SwitchIn(At(record.cpu), record, record.time);
    }
  };
  for (const SidebandRecord& record : records) std::visit(take, record);
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

void StaysOfCpus::SwitchIn(Cpu& cpu, const SidebandBase& who, uint64_t time) {
  if (cpu.running) {
    ThreadStay& last = cpu.stays.back();
    if (last.tid == who.tid) return;  // said twice
    last.end = time;
    last.end_bound = Bound::kHinted;
    if (last.pid != who.pid) last.pid = -1;
    last.first_tid = last.tid;
    last.tid = -1;
  }
  cpu.stays.push_back({.begin = time,
                       .pid = who.pid,
                       .tid = who.tid,
                       .begin_bound = Bound::kKnown,
                       .code = nullptr});
  cpu.running = true;
}

void StaysOfCpus::SwitchOut(Cpu& cpu, const SidebandBase& who, uint64_t time) {
  if (cpu.running && cpu.stays.back().tid == who.tid) {
    cpu.stays.back().end = time;
    cpu.stays.back().end_bound = Bound::kKnown;
  } else if (cpu.running) {
    SwitchIn(cpu, who, time);  // makes the one before nobody's
    cpu.stays.pop_back();
    cpu.stays.back().last_tid = who.tid;
  } else {
    // It ran since the last one ended, or since the recording began.
    cpu.stays.push_back({.begin = cpu.out,
                         .end = time,
                         .pid = who.pid,
                         .tid = who.tid,
                         .begin_bound = Bound::kHinted,
                         .end_bound = Bound::kKnown,
                         .code = nullptr});
  }
  cpu.running = false;
  cpu.out = time;
}

}  // namespace flowback
