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

void StayHolders::Add(const Stream& stream, const Schedule& schedule,
                      const std::vector<StayChange>& changes) {
  Cpu& cpu = cpus_[schedule.stays.data()];
  cpu.stays = schedule.stays;
  if (cpu.largest == nullptr || cpu.largest->bytes.size() < stream.bytes.size())
    cpu.largest = &stream;
  if (!schedule.shared) return;
  for (size_t i = 0; i < changes.size(); ++i) {
    const ThreadStay* stay = changes[i].stay;
    const uint64_t end = i + 1 < changes.size() ? changes[i + 1].offset : stream.bytes.size();
    const uint64_t bytes = end - changes[i].offset;
    if (!Contains(cpu.stays, stay)) continue;
    Holder& holder = cpu.holders[static_cast<size_t>(stay - cpu.stays.data())];
    if (bytes > holder.bytes) holder = {&stream, bytes};
  }
}

void StayHolders::Decide() {
  for (const auto& [first, cpu] : cpus_) {
    auto holder = cpu.holders.begin();
    for (size_t i = 0; i < cpu.stays.size(); ++i) {
      const bool told = holder != cpu.holders.end() && holder->first == i;
      const bool held = told && holder->second.stream != nullptr;
      const Stream* stream = held ? holder->second.stream : cpu.largest;
      stays_[stream->index].push_back(&cpu.stays[i]);
      if (told) ++holder;
    }
  }
}

const std::vector<const ThreadStay*>& StayHolders::Of(const Stream& stream) const {
  static const std::vector<const ThreadStay*> kNone;
  const auto found = stays_.find(stream.index);
  return found == stays_.end() ? kNone : found->second;
}

}  // namespace flowback
