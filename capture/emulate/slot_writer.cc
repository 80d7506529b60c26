// SPDX-License-Identifier: MIT
#include "capture/emulate/slot_writer.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include <cstring>
#include <vector>

namespace flowback::emulate {

using record::MessageHeader;
using record::SharedArea;
using record::Slot;
using record::SlotState;

SlotWriter SlotWriter::Take(SharedArea& area, int32_t pid, int32_t tid) {
  for (uint32_t i = 0; i < record::kSlots; ++i) {
    Slot& slot = area.slots[i];
    SlotState expected = SlotState::kFree;
    if (!slot.state.compare_exchange_strong(expected, SlotState::kTaken)) continue;
    slot.pid = pid;
    slot.tid = tid;
    slot.state.store(SlotState::kLive, std::memory_order_release);
    return {area, i};
  }
  area.threads_left_out.fetch_add(1);
  return {};
}

void SlotWriter::Send(MessageHeader message, std::string_view text) {
  if (!open()) return;
  message.text_size = static_cast<uint32_t>(text.size());
  std::vector<uint8_t> bytes(message.TotalSize());
  std::memcpy(bytes.data(), &message, sizeof message);
  std::memcpy(bytes.data() + sizeof message, text.data(), text.size());
  record::RingWriter writer(slot_->sideband, area_->SidebandRing(index_),
                            record::kSidebandRingBytes);
  for (unsigned waits = 1; !writer.Put(bytes); ++waits)
    if (!GoesOn(waits)) return End();
}

void SlotWriter::End() {
  if (open()) slot_->state.store(SlotState::kEnded, std::memory_order_release);
  slot_ = nullptr;
  trace_limit_ = trace_head_;
}

// False: closed.
bool SlotWriter::WaitForRoom(uint64_t size) {
  for (unsigned waits = 0; open(); ++waits) {
    trace_limit_ = slot_->trace.tail.load(std::memory_order_acquire) + record::kTraceRingBytes;
    if (trace_limit_ - trace_head_ >= size) return true;
    if (!GoesOn(waits)) End();
  }
  return false;
}

// Waits a little. False: the recorder wants no more, or is gone.
bool SlotWriter::GoesOn(unsigned waits) {
  constexpr unsigned kLookEvery = 256;  // waits between two looks whether the recorder is there
  const timespec pause{.tv_sec = 0, .tv_nsec = 200'000};
  nanosleep(&pause, nullptr);
  return !stopping() && (waits % kLookEvery != kLookEvery - 1 || RecorderIsThere());
}

bool SlotWriter::RecorderIsThere() const {
  return kill(area_->recorder_pid, 0) == 0 || errno == EPERM;
}

}  // namespace flowback::emulate
