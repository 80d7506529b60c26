// SPDX-License-Identifier: MIT
#include "replay/samples/access_sums.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace flowback {
namespace {

// Returns whether the address has 57 bits, as with the widest page tables, sign-extended.
bool IsPossible(uint64_t address) {
  const auto high = static_cast<int64_t>(address) >> 56;
  return high == 0 || high == -1;
}

bool IsInexact(EventSample::Place place) { return place != EventSample::Place::kExact; }

}  // namespace

void AccessCounts::Add(const MemoryAccess& access) {
  ++samples;
  loads += access.load;
  stores += access.store;
  remote += access.remote;
  const bool found_modified = access.snoop == MemoryAccess::Snoop::kModified;
  modified += found_modified;
  remote_modified += found_modified && access.remote;
  if (!access.latency) return;
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  if (*access.latency > kMost)
    ++latency.at_least;
  else
    ++latency.exact[static_cast<uint32_t>(*access.latency)];
}

bool LineSum::apart() const {
  uint64_t seen = 0;
  for (const auto& [tid, places] : threads) {
    if ((seen & places) != 0) return false;
    seen |= places;
  }
  return true;
}

void AccessSums::Add(const EventSample& sample, const AddressSpace* space) {
  ++report_.samples;
  report_.cut += sample.cut;
  report_.unread += sample.unread;
  if (sample.fetch) {
    ++report_.fetches;
    return;
  }
  const MemoryAccess& access = sample.access;
  if (!access.address) return;
  if (!IsPossible(*access.address)) {
    ++report_.impossible;
    return;
  }
  ++report_.accesses;
  const bool is_kernel = *access.address >> 63 != 0;
  const uint64_t begin = *access.address & ~(kCacheLine - 1);
  Line& line = lines_[{is_kernel ? -1 : sample.pid, begin}];
  const uint64_t place = uint64_t{1} << (*access.address - begin);
  line.counts.Add(access);
  line.threads[sample.tid] |= place;
  if (sample.place == EventSample::Place::kNotTold) {
    ++report_.nowhere;
    return;
  }
  const bool inexact = IsInexact(sample.place);
  report_.inexact += inexact;
  const CodePlace at = places_.Of(space, sample.ip);
  AccessingCode& code = code_[at];
  // The lowest of several, so that the result does not depend on their order.
  if (code.counts.samples == 0 || sample.ip < code.address) {
    code.space = space;
    code.address = sample.ip;
  }
  code.place = at;
  code.counts.Add(access);
  code.inexact += inexact;
  if (access.level_outcome == MemoryAccess::Outcome::kHit)
    ++code.levels[static_cast<size_t>(access.level)];
  LineUse& use = line.uses[at];
  ++use.samples;
  use.loads += access.load;
  use.stores += access.store;
  use.places |= place;
  use.tids.insert(sample.tid);
}

AccessReport AccessSums::Take() {
  AccessReport report = std::move(report_);
  report.objects = places_.Take();
  const auto samples = [](const auto& each) { return each.counts.samples; };
  for (auto& [place, code] : code_) report.code.push_back(std::move(code));
  std::ranges::stable_sort(report.code, std::ranges::greater(), samples);
  std::map<CodePlace, size_t> numbers;
  for (size_t i = 0; i < report.code.size(); ++i) numbers[report.code[i].place] = i;
  for (auto& [key, line] : lines_) {
    LineSum sum{.pid = key.first,
                .address = key.second,
                .counts = std::move(line.counts),
                .threads = std::move(line.threads),
                .uses = {}};
    for (auto& [place, use] : line.uses) {
      use.code = numbers[place];
      sum.uses.push_back(std::move(use));
    }
    std::ranges::stable_sort(sum.uses, std::ranges::greater(), &LineUse::samples);
    report.lines.push_back(std::move(sum));
  }
  std::ranges::stable_sort(report.lines, std::ranges::greater(), samples);
  return report;
}

}  // namespace flowback
