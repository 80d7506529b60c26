// SPDX-License-Identifier: MIT
#include "capture/emulate/cpu_turns.h"

#include <time.h>

#include <algorithm>

namespace flowback::emulate {
namespace {

using record::CpuHolder;

constexpr int64_t kSliceNanoseconds = 4'000'000;
constexpr long kLookNanoseconds = 100'000;
constexpr unsigned kLooksForAnother = 500;  // between two looks for a CPU more

int64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

CpuTurns::CpuTurns(record::SharedArea& area, int32_t pid, int32_t tid)
    : area_(&area), self_{.pid = pid, .tid = tid} {}

std::optional<CpuTurns::Turn> CpuTurns::TakeFrom(uint32_t cpu, bool own) {
  std::atomic<uint64_t>& holder = area_->cpus[cpu].holder;
  uint64_t word = holder.load();
  const CpuHolder before = CpuHolder::Of(word);
  if (before.running || own != before.Is(self_.pid, self_.tid)) return std::nullopt;
  CpuHolder now = self_;
  now.running = true;
  if (!holder.compare_exchange_strong(word, now.Word())) return std::nullopt;
  cpu_ = cpu;
  since_ = Now();
  running_ = true;
  StopWaiting();
  return Turn{cpu, own, own ? CpuHolder{} : before};
}

// Takes its own CPU first; a free one before one whose holder is in the kernel.
std::optional<CpuTurns::Turn> CpuTurns::Take() {
  const uint32_t count = std::min(area_->cpu_count.load(), record::kMaxVirtualCpus);
  for (uint32_t i = 0; i < count; ++i)
    if (auto turn = TakeFrom(i, true)) return turn;
  for (uint32_t i = 0; i < count; ++i)
    if (area_->cpus[i].holder.load() == 0)
      if (auto turn = TakeFrom(i, false)) return turn;
  for (uint32_t i = 0; i < count; ++i)
    if (auto turn = TakeFrom(i, false)) return turn;
  return std::nullopt;
}

bool CpuTurns::Wait(unsigned waits) {
  if (!waiting_) area_->waiting.fetch_add(1);
  waiting_ = true;
  const timespec pause{.tv_sec = 0, .tv_nsec = kLookNanoseconds};
  nanosleep(&pause, nullptr);
  if (waits % kLooksForAnother != kLooksForAnother - 1) return true;
  uint32_t count = area_->cpu_count.load();
  if (count >= record::kMaxVirtualCpus) return false;
  area_->cpu_count.compare_exchange_strong(count, count + 1);
  return true;
}

void CpuTurns::StandBack() {
  const timespec pause{.tv_sec = 0, .tv_nsec = 3 * kLookNanoseconds};
  nanosleep(&pause, nullptr);
}

void CpuTurns::StopWaiting() {
  if (waiting_) area_->waiting.fetch_sub(1);
  waiting_ = false;
}

void CpuTurns::Release(bool preempted) {
  if (!running_) return;
  running_ = false;
  CpuHolder now = self_;
  now.preempted = preempted;
  area_->cpus[cpu_].holder.store(now.Word());
}

bool CpuTurns::Leave() {
  if (cpu_ < 0) return false;
  running_ = false;
  std::atomic<uint64_t>& holder = area_->cpus[cpu_].holder;
  uint64_t word = holder.load();
  return CpuHolder::Of(word).Is(self_.pid, self_.tid) && holder.compare_exchange_strong(word, 0);
}

bool CpuTurns::SliceIsOver() const { return Now() - since_ >= kSliceNanoseconds; }

}  // namespace flowback::emulate
