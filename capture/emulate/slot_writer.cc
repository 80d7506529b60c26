// SPDX-License-Identifier: MIT
#include "capture/emulate/slot_writer.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include <cstring>
#include <vector>

namespace flowback::emulate {

using record::MessageHeader;
using record::RingCounters;
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

void SlotWriter::Trace(Bytes bytes) {
  if (open()) Put(slot_->trace, area_->TraceRing(index_), record::kTraceRingBytes, bytes);
}

void SlotWriter::Send(MessageHeader message, std::string_view text) {
  if (!open()) return;
  message.text_size = static_cast<uint32_t>(text.size());
  std::vector<uint8_t> bytes(message.TotalSize());
  std::memcpy(bytes.data(), &message, sizeof message);
  std::memcpy(bytes.data() + sizeof message, text.data(), text.size());
  Put(slot_->sideband, area_->SidebandRing(index_), record::kSidebandRingBytes, bytes);
}

void SlotWriter::End() {
  if (open()) slot_->state.store(SlotState::kEnded, std::memory_order_release);
  slot_ = nullptr;
}

void SlotWriter::Put(RingCounters& counters, uint8_t* ring, uint64_t size, Bytes bytes) {
  constexpr unsigned kLookEvery = 256;  // waits between two looks whether the recorder is there
  record::RingWriter writer(counters, ring, size);
  for (unsigned waits = 1; !writer.Put(bytes); ++waits) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 200'000};
    nanosleep(&pause, nullptr);
    if (stopping() || (waits % kLookEvery == 0 && !RecorderIsThere())) return End();
  }
}

bool SlotWriter::RecorderIsThere() const {
  return kill(area_->recorder_pid, 0) == 0 || errno == EPERM;
}

}  // namespace flowback::emulate
