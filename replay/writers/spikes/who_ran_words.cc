// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <map>

#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
namespace {

// "worker (tid 77)".
std::string ThreadName(const SpikesView& view, int32_t tid) {
  const std::string name = NameWords(view.threads->CommAt(tid, 0).comm, 20);
  return name.empty() ? fmt::format("thread {}", tid) : fmt::format("{} (tid {})", name, tid);
}

}  // namespace

// Which threads ran while the instance's thread was off the CPU, with at least a tenth of that
// time.
std::string WhoRanWords(const SpikesView& view, const Instance& instance) {
  const uint64_t off = instance.Of(TimeClass::kOffCpu);
  if (off == 0 || !view.ran_instead) return {};
  const auto words = [&](uint64_t time) { return DurationWords(time, view.report->nanoseconds); };
  std::string text;
  for (const RanInstead& other : view.ran_instead(instance)) {
    if (other.time < off / 10) break;
    text += fmt::format("{}{} for {}", text.empty() ? "" : ", ", ThreadName(view, other.tid),
                        words(other.time));
  }
  if (text.empty()) return text;
  return fmt::format(" It was off the CPU for {}. Meanwhile others ran there: {}.", words(off),
                     text);
}

std::string WhoMostlyRan(const SpikesView& view) {
  constexpr size_t kMost = 100;
  if (!view.ran_instead) return {};
  std::map<int32_t, uint64_t> times;
  uint64_t off = 0;
  size_t looked_at = 0;
  for (const Instance& instance : view.report->instances) {
    if (view.report->GroupOf(instance) != InstanceGroup::kSlow) continue;
    if (++looked_at > kMost) break;
    off += instance.Of(TimeClass::kOffCpu);
    for (const RanInstead& other : view.ran_instead(instance)) times[other.tid] += other.time;
  }
  if (off == 0) return {};
  for (const auto& [tid, time] : times)
    if (2 * time > off) return fmt::format(", while {} ran there", ThreadName(view, tid));
  return {};
}

}  // namespace flowback
