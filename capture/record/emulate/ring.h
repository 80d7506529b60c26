// SPDX-License-Identifier: MIT
// The two ends of a ring in shared memory.
#pragma once

#include <cstring>
#include <vector>

#include "capture/record/emulate/shared_area.h"
#include "flowback/base/bytes.h"

namespace flowback::record {

// The writer's end. One thread.
class RingWriter {
 public:
  RingWriter(RingCounters& counters, uint8_t* bytes, uint64_t size)
      : counters_(counters), bytes_(bytes), size_(size) {}

  // False when there is no room for all of it now; then nothing is written.
  bool Put(Bytes bytes) {
    const uint64_t head = counters_.head.load(std::memory_order_relaxed);
    if (size_ - (head - counters_.tail.load(std::memory_order_acquire)) < bytes.size())
      return false;
    const uint64_t at = head % size_;
    const uint64_t first = bytes.size() < size_ - at ? bytes.size() : size_ - at;
    std::memcpy(bytes_ + at, bytes.data(), first);
    std::memcpy(bytes_, bytes.data() + first, bytes.size() - first);
    counters_.head.store(head + bytes.size(), std::memory_order_release);
    return true;
  }

 private:
  RingCounters& counters_;
  uint8_t* bytes_;
  uint64_t size_;
};

// So much is in the ring now, or nonsense where another program wrote into the memory.
inline uint64_t InRing(const RingCounters& counters) {
  return counters.head.load(std::memory_order_acquire) -
         counters.tail.load(std::memory_order_relaxed);
}

// Takes out all that is in the ring now. False when the counters contradict each other: another
// program wrote into the memory.
inline bool TakeAll(RingCounters& counters, const uint8_t* ring, uint64_t size,
                    std::vector<uint8_t>& out) {
  const uint64_t tail = counters.tail.load(std::memory_order_relaxed);
  const uint64_t count = counters.head.load(std::memory_order_acquire) - tail;
  out.clear();
  if (count > size) return false;
  const uint64_t at = tail % size;
  const uint64_t first = count < size - at ? count : size - at;
  out.insert(out.end(), ring + at, ring + at + first);
  out.insert(out.end(), ring, ring + (count - first));
  counters.tail.store(tail + count, std::memory_order_release);
  return true;
}

}  // namespace flowback::record
