// SPDX-License-Identifier: MIT
#include "replay/session/instance_waits.h"

#include <algorithm>
#include <utility>

#include "capture/formats/input/samples.h"
#include "replay/session/access_totals.h"

namespace flowback {
namespace {

// Finds the instance in which a sample was taken, and sums up.
class WaitSums {
 public:
  WaitSums(const Session& session, const std::vector<Instance>& instances,
           const std::vector<uint32_t>& numbers)
      : session_(session), instances_(instances), numbers_(numbers) {}

  void Add(const EventSample& sample) {
    if (!sample.access.latency || sample.ip == 0) return;
    for (const uint32_t number : numbers_)
      if (Holds(instances_[number], sample)) AddTo(number, sample);
  }
  std::map<uint32_t, DataWaits> Take() { return std::move(sums_); }

 private:
  static bool Holds(const Instance& instance, const EventSample& sample) {
    return instance.tid == sample.tid && sample.time >= instance.begin.time &&
           sample.time <= instance.end.time;
  }

  void AddTo(uint32_t number, const EventSample& sample) {
    const AddressSpace* const space = SpaceOf(session_, sample);
    const uint64_t cycles = *sample.access.latency;
    const uint64_t there = places_[{number, sample.ip}] += cycles;
    DataWaits& sum = sums_[number];
    ++sum.samples;
    sum.cycles += cycles;
    if (there <= sum.cycles_there) return;
    sum.space = space;
    sum.ip = sample.ip;
    sum.cycles_there = there;
  }

  const Session& session_;
  const std::vector<Instance>& instances_;
  const std::vector<uint32_t>& numbers_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> places_;  // cycles by instance and instruction
  std::map<uint32_t, DataWaits> sums_;
};

}  // namespace

Result<std::map<uint32_t, DataWaits>> SumDataWaits(const Session& session,
                                                   const std::vector<Instance>& instances,
                                                   const std::vector<uint32_t>& numbers) {
  WaitSums sums(session, instances, numbers);
  if (HasAccessSamples(session.recording()))
    if (Status status =
            VisitSamples(session.recording(), [&](const EventSample& sample) { sums.Add(sample); });
        !status)
      return Fail(status.error());
  return sums.Take();
}

}  // namespace flowback
