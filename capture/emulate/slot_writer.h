// SPDX-License-Identifier: MIT
// A thread's end of its slot in the shared area.
#pragma once

#include <cstdint>
#include <string_view>

#include "capture/record/ring.h"
#include "capture/record/shared_area.h"
#include "flowback/base/bytes.h"
#include "flowback/base/flow_digest.h"

namespace flowback::emulate {

// One thread writes. When a ring is full it waits for the recorder, and gives up when that is gone
// or wants no more: `open` is false from then on.
class SlotWriter {
 public:
  SlotWriter() = default;
  // Takes a free slot for a thread; closed when there is none.
  static SlotWriter Take(record::SharedArea& area, int32_t pid, int32_t tid);

  bool open() const { return slot_ != nullptr; }
  // The recorder wants no more.
  bool stopping() const { return area_->stopping.load(std::memory_order_relaxed) != 0; }
  void Trace(Bytes bytes) {
    if (trace_limit_ - trace_head_ < bytes.size()) [[unlikely]] {
      if (!WaitForRoom(bytes.size())) return;
    }
    for (const uint8_t byte : bytes) trace_[trace_head_++ % record::kTraceRingBytes] = byte;
    slot_->trace.head.store(trace_head_, std::memory_order_release);
  }
  void Send(record::MessageHeader message, std::string_view text);
  // What the packets so far prove, with `pending` outcomes that no packet tells yet.
  void Prove(const FlowDigest& digest, uint64_t pending_bits, unsigned pending_count) {
    if (!open()) return;
    slot_->digest_count = digest.count;
    slot_->digest_hash = digest.hash;
    slot_->pending_bits = pending_bits;
    slot_->pending_count = pending_count;
  }
  void CountLoss() {
    if (open()) area_->losses.fetch_add(1, std::memory_order_relaxed);
  }
  // Nothing more comes. The recorder may give the slot to another thread.
  void End();

 private:
  SlotWriter(record::SharedArea& area, uint32_t index)
      : area_(&area),
        slot_(&area.slots[index]),
        index_(index),
        trace_(area.TraceRing(index)),
        trace_limit_(record::kTraceRingBytes) {}
  bool WaitForRoom(uint64_t size);
  bool GoesOn(unsigned waits);
  bool RecorderIsThere() const;

  record::SharedArea* area_ = nullptr;
  record::Slot* slot_ = nullptr;
  uint32_t index_ = 0;
  uint8_t* trace_ = nullptr;
  uint64_t trace_head_ = 0;
  uint64_t trace_limit_ = 0;  // the head may come so far; 0 when closed
};

}  // namespace flowback::emulate
