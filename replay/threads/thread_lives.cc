// SPDX-License-Identifier: MIT
#include "replay/threads/thread_lives.h"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace flowback {

ThreadLives::ThreadLives(const Recording& recording) {
  const auto take = [this](const auto& record) {
    using Record = std::decay_t<decltype(record)>;
    constexpr uint64_t kOverwriteFlag = 0x02;  // PERF_AUX_FLAG_OVERWRITE
    if constexpr (std::is_same_v<Record, AuxRecord>)
      overwrites_ |= (record.flags & kOverwriteFlag) != 0;
    if (record.time == 0) return;
    first_ = std::min(first_, record.time);
    last_ = std::max(last_, record.time);
    if (record.tid <= 0) return;
    if constexpr (std::is_same_v<Record, ForkRecord>) {
      Life& life = lives_[record.tid];
      if (!life.born) life.born = record.time;
      life.exited.reset();  // an earlier thread with that number
    } else if constexpr (std::is_same_v<Record, ExitRecord>) {
      lives_[record.tid].exited = record.time;
    } else if constexpr (std::is_same_v<Record, ItraceStartRecord>) {
      Life& life = lives_[record.tid];
      if (!life.born) life.born = record.time;
      In(life, record, true);
    } else if constexpr (std::is_same_v<Record, SwitchRecord>) {
      Life& life = lives_[record.tid];
      life.switched = true;
      if (record.out)
        Out(life, record);
      else
        In(life, record, false);
    }
  };
  for (const SidebandRecord& record : recording.sideband) std::visit(take, record);
}

void ThreadLives::In(Life& life, const SidebandBase& record, bool started) {
  if (life.running && !started && !life.started) {
    life.stays.back().end = record.time;
    life.stays.back().missing = true;
  } else if (life.running) {
    life.started = started;
    return;  // said twice
  }
  life.stays.push_back({.begin = record.time, .cpu = record.cpu});
  life.running = true;
  life.started = started;
}

void ThreadLives::Out(Life& life, const SidebandBase& record) {
  if (life.running)
    life.stays.back().end = record.time;
  else
    life.stays.push_back({.begin = life.out,
                          .end = record.time,
                          .begin_told = false,
                          .missing = life.out != 0,
                          .cpu = record.cpu});
  life.running = false;
  life.out = record.time;
}

const ThreadLives::Life* ThreadLives::Find(int32_t tid) const {
  const auto found = lives_.find(tid);
  return found == lives_.end() ? nullptr : &found->second;
}

std::vector<int32_t> ThreadLives::Tids() const {
  std::vector<int32_t> tids;
  for (const auto& [tid, life] : lives_) tids.push_back(tid);
  return tids;
}

std::optional<uint64_t> ThreadLives::BornAt(int32_t tid) const {
  const Life* life = Find(tid);
  return life == nullptr ? std::nullopt : life->born;
}

std::optional<uint64_t> ThreadLives::ExitedAt(int32_t tid) const {
  const Life* life = Find(tid);
  return life == nullptr ? std::nullopt : life->exited;
}

const std::vector<LifeStay>* ThreadLives::StaysOf(int32_t tid) const {
  const Life* life = Find(tid);
  return life == nullptr || !life->switched ? nullptr : &life->stays;
}

}  // namespace flowback
