// SPDX-License-Identifier: MIT
#include "capture/emulate/address_tables.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace flowback::emulate {
namespace {

// Returns the control group's limit, by either version of its files; all ones: no limit.
uint64_t MemoryOfGroup() {
  uint64_t least = ~uint64_t{0};
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    uint64_t bytes = 0;  // "max" is no number
    if (file >> bytes) least = std::min(least, bytes);
  }
  return least;
}

}  // namespace

uint64_t AddressTables::MostBytesHere() {
  constexpr uint64_t kMost = uint64_t{2} << 30;
  const auto memory =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min({kMost, memory / 4, MemoryOfGroup() / 4});
}

bool AddressTables::HasRoomFor(uint64_t size) const {
  constexpr uint64_t kUserAddresses = uint64_t{1} << 47;
  return size >= kUserAddresses || pages_ + size / kPage <= most_pages_;
}

uint64_t AddressTables::Mapped(uint64_t begin, uint64_t end) const {
  uint64_t bytes = 0;
  auto at = mapped_.upper_bound(begin);
  if (at != mapped_.begin()) --at;
  for (; at != mapped_.end() && at->first < end; ++at)
    if (at->second > begin) bytes += std::min(end, at->second) - std::max(begin, at->first);
  return bytes;
}

void AddressTables::Add(uint64_t begin, uint64_t end) {
  begin = begin / kPage * kPage;
  end = (end + kPage - 1) / kPage * kPage;
  if (begin >= end) return;
  auto next = mapped_.lower_bound(begin);
  if (next != mapped_.begin() && std::prev(next)->second >= begin) --next;
  while (next != mapped_.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    pages_ -= (next->second - next->first) / kPage;
    next = mapped_.erase(next);
  }
  mapped_.emplace(begin, end);
  pages_ += (end - begin) / kPage;
}

}  // namespace flowback::emulate
