// SPDX-License-Identifier: MIT
// Memory shared with the kernel: a page with the kernel's write position, then a ring of records,
// and for traces a ring of AUX data.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <utility>

#include "capture/kernel/kernel.h"
#include "flowback/base/bytes.h"

namespace flowback::record {

// Up to two parts, because new bytes may cross the ring's end.
struct RingPart {
  Bytes first, second;

  size_t size() const { return first.size() + second.size(); }
};

// The buffer of one CPU or thread. The pages are given back when it goes. Movable.
class EventRing {
 public:
  EventRing(kernel::SystemKernel& kernel, std::span<uint8_t> pages)
      : kernel_(&kernel), pages_(pages) {}
  EventRing(EventRing&& other) noexcept
      : kernel_(other.kernel_),
        pages_(std::exchange(other.pages_, {})),
        aux_(std::exchange(other.aux_, {})),
        aux_writable_(other.aux_writable_) {}
  EventRing& operator=(EventRing&&) = delete;
  ~EventRing();

  perf_event_mmap_page& page() const {
    return *reinterpret_cast<perf_event_mmap_page*>(pages_.data());
  }
  // Announces the place of the AUX area to the kernel, before it is mapped.
  void PlaceAux(size_t size) const;
  void SetAux(std::span<uint8_t> area, bool writable) {
    aux_ = area;
    aux_writable_ = writable;
  }
  bool has_aux() const { return !aux_.empty(); }
  std::span<const uint8_t> aux() const { return aux_; }

  // Returns the records that were written and not taken yet; valid until RecordsTaken.
  RingPart Records() const;
  void RecordsTaken(const RingPart& part) const;
  RingPart Trace() const;
  void TraceTaken(const RingPart& part) const;
  // Where the kernel overwrites AUX data: the latest bytes, at most `bytes` of them. `offset`
  // counts the bytes before them since the area was last empty or filled. REQUIRES: the trace
  // stands still.
  struct Latest {
    RingPart part;
    uint64_t offset = 0;
  };
  Latest LatestTrace(uint64_t bytes) const;
  // How much of AUX data was taken before.
  uint64_t trace_begin() const { return page().aux_tail; }
  uint64_t trace_end() const;

 private:
  kernel::SystemKernel* kernel_;
  std::span<uint8_t> pages_;
  std::span<uint8_t> aux_;
  bool aux_writable_ = true;
};

}  // namespace flowback::record
