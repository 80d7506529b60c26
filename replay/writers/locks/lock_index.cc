// SPDX-License-Identifier: MIT
#include "replay/writers/locks/lock_index.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace flowback {

LockIndex::LockIndex(const LockReport& report) : sites(report.sites.size()) {
  for (const LockSums& each : report.sums) sites[each.site].threads.push_back(&each);
  for (const LockSums& each : report.path_sums) sites[each.site].paths.push_back(&each);
  for (const LockSums& each : report.instance_sums) sites[each.site].instances.push_back(&each);
  for (const LockHolder& each : report.holders) sites[each.site].holders.push_back(&each);
  for (const LockWait& each : report.worst)
    if (sites[each.site].longest == nullptr) sites[each.site].longest = &each;
  for (Site& site : sites)
    std::ranges::stable_sort(site.holders, std::ranges::greater(),
                             [](const LockHolder* each) { return each->time; });
  for (const LockSums& sums : report.site_sums)
    if (sums.waits != 0 || sums.acquisitions.value_or(0) != 0) by_waiting.push_back(sums.site);
  std::ranges::stable_sort(by_waiting, std::ranges::greater(), [&](uint32_t site) {
    const LockSums& sums = report.site_sums[site];
    return std::tuple(sums.waiting.time, sums.trips, sums.waits);
  });
  for (Site& site : sites) site.rank = by_waiting.size();
  for (size_t i = 0; i < by_waiting.size(); ++i) sites[by_waiting[i]].rank = i;
}

}  // namespace flowback
