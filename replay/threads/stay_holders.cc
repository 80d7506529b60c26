// SPDX-License-Identifier: MIT
#include "replay/threads/stay_holders.h"

#include <functional>

namespace flowback {
namespace {

bool Contains(std::span<const ThreadStay> stays, const ThreadStay* stay) {
  const std::less<> before;
  return !before(stay, stays.data()) && before(stay, stays.data() + stays.size());
}

}  // namespace

void StayHolders::Add(const Stream& stream, const Schedule& schedule, const FlowSummary& summary) {
  Cpu& cpu = cpus_[schedule.stays.data()];
  cpu.stays = schedule.stays;
  if (cpu.largest == nullptr || cpu.largest->bytes.size() < stream.bytes.size())
    cpu.largest = &stream;
  if (!schedule.shared) return;
  for (const FlowPart& part : summary.parts) {
    const Size size = {part.end - part.begin, part.totals.digest.count};
    if (!Contains(cpu.stays, part.stay) || size == Size()) continue;
    Holder& holder = cpu.holders[static_cast<size_t>(part.stay - cpu.stays.data())];
    if (holder.stream == nullptr || holder.size < size) holder = {&stream, size};
  }
}

void StayHolders::Decide() {
  for (const auto& [first, cpu] : cpus_) {
    auto holder = cpu.holders.begin();
    for (size_t i = 0; i < cpu.stays.size(); ++i) {
      const bool held = holder != cpu.holders.end() && holder->first == i;
      const Stream* stream = held ? holder->second.stream : cpu.largest;
      stays_[stream->index].push_back(&cpu.stays[i]);
      if (held) ++holder;
    }
  }
}

const std::vector<const ThreadStay*>& StayHolders::Of(const Stream& stream) const {
  static const std::vector<const ThreadStay*> kNone;
  const auto found = stays_.find(stream.index);
  return found == stays_.end() ? kNone : found->second;
}

}  // namespace flowback
