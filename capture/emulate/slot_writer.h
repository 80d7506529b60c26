// SPDX-License-Identifier: MIT
// A thread's end of its slot in the shared area.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "capture/record/emulate/ring.h"
#include "capture/record/emulate/shared_area.h"
#include "decode/pt/packets/packet_writer.h"
#include "flowback/base/bytes.h"
#include "flowback/base/flow_digest.h"

namespace flowback::emulate {

// One thread writes. When a ring is full it waits for the recorder, and gives up when that is gone:
// `open` is false from then on.
class SlotWriter {
 public:
  SlotWriter() = default;
  // Takes a free slot for a thread. The writer is closed if no slot is free or the recorder wants
  // no more trace.
  static SlotWriter Take(record::SharedArea& area, int32_t pid, int32_t tid);

  bool open() const { return slot_ != nullptr; }
  // Reasons of PendingRequest; only while open.
  uint32_t attention() const { return slot_->attention.load(std::memory_order_relaxed); }
  void Ignore(uint32_t reason) { slot_->attention.fetch_and(~reason); }
  // For other threads: false when it is closed. Should it just close, another thread may get the
  // call.
  bool CallAttention(uint32_t reason) {
    record::Slot* slot = std::atomic_ref(slot_).load();
    if (slot != nullptr) slot->attention.fetch_or(reason);
    return slot != nullptr;
  }

  // What the packets so far and the outcomes pending prove; only while open. (The callback of a
  // block changes it by itself: see ThreadTracer.)
  const record::ThreadProgress& flow() const {
    return slot_->FlowAt(slot_->current.load(std::memory_order_relaxed));
  }
  record::Slot& slot() const { return *slot_; }
  // Appends packets, the flow that they prove, and where control stands (0: recording has ended).
  // One step up to the new state, whenever the thread should be killed.
  void SetFlow(const FlowDigest& digest, pt::PendingTnt pending, Bytes packets, uint64_t next_ip);

  void CountLoss() {
    if (open()) area_->losses.fetch_add(1, std::memory_order_relaxed);
  }
  // From now on the trace goes to the ring of that virtual CPU, to which no other thread writes.
  // Set the flow's state next.
  void UseCpu(uint32_t cpu);
  // Asked again and again by one that waits: false when the recorder is gone.
  bool StillWanted(unsigned waits) const;
  void Send(record::MessageHeader message, std::string_view text);
  // Nothing more comes. The recorder may give the slot to another thread.
  void End();

 private:
  SlotWriter(record::SharedArea& area, uint32_t index)
      : slot_(&area.slots[index]),
        index_(index),
        area_(&area),
        counters_(&slot_->trace),
        trace_(area.TraceRing(index)) {}
  bool WaitForRoom(uint64_t size);
  bool GoesOn(unsigned waits);
  bool RecorderIsThere() const;

  record::Slot* slot_ = nullptr;
  uint32_t index_ = 0;
  record::SharedArea* area_ = nullptr;
  record::RingCounters* counters_ = nullptr;  // of the ring that the trace goes to
  uint8_t* trace_ = nullptr;
  uint64_t trace_head_ = 0;
  uint64_t trace_limit_ = record::kTraceRingBytes;  // the head may come so far
};

// The outcomes that `word` holds.
inline pt::PendingTnt PendingOf(record::PendingWord word) {
  const uint64_t marked = word >> record::kPendingShift;
  if (marked == 0) return {};
  const auto count = static_cast<unsigned>(63 - __builtin_clzll(marked));
  return {marked ^ uint64_t{1} << count, count};
}

inline record::PendingWord PendingWordOf(pt::PendingTnt pending, uint64_t head) {
  return (uint64_t{1} << pending.count | pending.bits) << record::kPendingShift |
         (head & record::kPendingTag);
}

}  // namespace flowback::emulate
