// SPDX-License-Identifier: MIT
#include "cli/listing/off_cpu.h"

#include <vector>

#include "replay/threads/thread_lives.h"

namespace flowback::cli {

std::deque<OffCpu> OffCpuTimes(const PrintSettings& settings, int32_t tid) {
  const RecordingClock& clock = *settings.trace.clock;
  const ThreadLives* lives = settings.trace.lives;
  if (lives == nullptr || tid < 0 || !clock.has_nanoseconds()) return {};
  const std::vector<LifeStay>* stays = lives->StaysOf(tid);
  std::deque<OffCpu> times;
  for (size_t i = 1; stays != nullptr && i < stays->size(); ++i) {
    const LifeStay& before = (*stays)[i - 1];
    const LifeStay& stay = (*stays)[i];
    if (before.missing || stay.missing || !stay.begin_told || before.end >= stay.begin) continue;
    times.push_back({.begin = clock.TscAt(before.end),
                     .end = clock.TscAt(stay.begin),
                     .from_cpu = before.cpu,
                     .to_cpu = stay.cpu});
  }
  return times;
}

}  // namespace flowback::cli
