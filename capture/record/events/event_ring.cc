// SPDX-License-Identifier: MIT
// The kernel writes behind `head`, up to `tail` less one round; the recorder reads from `tail` to
// `head`. Both grow for ever: their lowest bits are places in the ring, whose size is a power of
// two.
#include "capture/record/events/event_ring.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace flowback::record {
namespace {

// Bytes written before the kernel moved `head` are there once it is read.
uint64_t Acquire(const __u64& head) {
  return std::atomic_ref(const_cast<__u64&>(head)).load(std::memory_order_acquire);
}

// The kernel may write over what lies before `tail` once it sees that.
void Release(__u64& tail, uint64_t value) {
  std::atomic_ref(tail).store(value, std::memory_order_release);
}

RingPart Between(std::span<const uint8_t> ring, uint64_t tail, uint64_t head) {
  // A head that is further away than the ring is long: damage, or records were overwritten.
  const uint64_t size = std::min<uint64_t>(head - tail, ring.size());
  const uint64_t at = tail % ring.size();
  const uint64_t until_end = std::min(size, ring.size() - at);
  return {.first = ring.subspan(at, until_end), .second = ring.subspan(0, size - until_end)};
}

}  // namespace

EventRing::~EventRing() {
  if (!aux_.empty()) kernel_->Unmap(aux_);
  if (!pages_.empty()) kernel_->Unmap(pages_);
}

void EventRing::PlaceAux(size_t size) const {
  page().aux_offset = pages_.size();
  page().aux_size = size;
}

RingPart EventRing::Records() const {
  const std::span<const uint8_t> ring = pages_.subspan(static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  return Between(ring, page().data_tail, Acquire(page().data_head));
}

void EventRing::RecordsTaken(const RingPart& part) const {
  Release(page().data_tail, page().data_tail + part.size());
}

// The driver reports the place in the area, not how often it went round. Before the first round's
// end nothing was written behind that place.
EventRing::Latest EventRing::LatestTrace(uint64_t bytes) const {
  const uint64_t place = trace_end() % aux_.size();
  const bool went_round =
      std::ranges::any_of(aux_.subspan(place), [](uint8_t b) { return b != 0; });
  const uint64_t size = std::min(bytes, went_round ? aux_.size() : place);
  const uint64_t end = place + (went_round ? aux_.size() : 0);
  return {.part = Between(aux_, end - size, end), .offset = end - size};
}

uint64_t EventRing::trace_end() const { return Acquire(page().aux_head); }

RingPart EventRing::Trace() const { return Between(aux_, page().aux_tail, trace_end()); }

void EventRing::TraceTaken(const RingPart& part) const {
  if (aux_writable_) Release(page().aux_tail, page().aux_tail + part.size());
}

}  // namespace flowback::record
