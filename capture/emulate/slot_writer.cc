// SPDX-License-Identifier: MIT
#include "capture/emulate/slot_writer.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace flowback::emulate {

using record::MessageHeader;
using record::SharedArea;
using record::Slot;
using record::SlotState;

namespace {

bool Wanted(const SharedArea& area) { return area.recording.load() == record::Recording::kGoesOn; }

}  // namespace

SlotWriter SlotWriter::Take(SharedArea& area, int32_t pid, int32_t tid) {
  if (!Wanted(area)) return {};
  for (uint32_t i = 0; i < record::kSlots; ++i) {
    Slot& slot = area.slots[i];
    SlotState expected = SlotState::kFree;
    if (!slot.state.compare_exchange_strong(expected, SlotState::kTaken)) continue;
    slot.pid = pid;
    slot.tid = tid;
    slot.order = area.taken.fetch_add(1);
    slot.attention.store(0);
    slot.current.store(0);
    slot.flow[0] = {.count = 0, .hash = 0, .pending = PendingWordOf({}, 0), .next = 0};
    slot.state.store(SlotState::kLive);
    // The recorder first says that it stops, then calls the attention of those that live.
    if (!Wanted(area)) slot.attention.fetch_or(record::kAttentionStop);
    return {area, i};
  }
  area.threads_left_out.fetch_add(1);
  return {};
}

void SlotWriter::SetFlow(const FlowDigest& digest, pt::PendingTnt pending, Bytes packets,
                         uint64_t next_ip) {
  constexpr uint64_t kSize = record::kTraceRingBytes;
  if (trace_limit_ - trace_head_ < packets.size()) [[unlikely]] {
    if (!WaitForRoom(packets.size())) return;
  }
  if (!packets.empty()) {
    const uint64_t at = trace_head_ % kSize;
    const uint64_t first = packets.size() < kSize - at ? packets.size() : kSize - at;
    std::memcpy(trace_ + at, packets.data(), first);
    if (first != packets.size()) [[unlikely]]
      std::memcpy(trace_, packets.data() + first, packets.size() - first);
  }
  trace_head_ += packets.size();
  const uint32_t next = slot_->current.load(std::memory_order_relaxed) ^ record::Slot::kOther;
  slot_->FlowAt(next) = {.count = digest.count,
                         .hash = digest.hash,
                         .pending = PendingWordOf(pending, trace_head_),
                         .next = next_ip};
  counters_->head.store(trace_head_, std::memory_order_release);
  slot_->current.store(next, std::memory_order_release);
}

void SlotWriter::Send(MessageHeader message, std::string_view text) {
  if (!open()) return;
  message.text_size = static_cast<uint32_t>(text.size());
  std::vector<uint8_t> bytes(message.TotalSize());
  std::memcpy(bytes.data(), &message, sizeof message);
  std::ranges::copy(text, bytes.begin() + sizeof message);
  record::RingWriter writer(slot_->sideband, area_->SidebandRing(index_),
                            record::kSidebandRingBytes);
  for (unsigned waits = 1; !writer.Put(bytes); ++waits)
    if (!GoesOn(waits)) return End();
}

void SlotWriter::UseCpu(uint32_t cpu) {
  counters_ = &area_->cpus[cpu].trace;
  trace_ = area_->CpuRing(cpu);
  trace_head_ = counters_->head.load(std::memory_order_acquire);
  trace_limit_ = counters_->tail.load(std::memory_order_acquire) + record::kTraceRingBytes;
}

void SlotWriter::End() {
  if (open()) slot_->state.store(SlotState::kEnded, std::memory_order_release);
  std::atomic_ref(slot_).store(nullptr);
}

// False: closed.
bool SlotWriter::WaitForRoom(uint64_t size) {
  for (unsigned waits = 0; open(); ++waits) {
    trace_limit_ = counters_->tail.load(std::memory_order_acquire) + record::kTraceRingBytes;
    if (trace_limit_ - trace_head_ >= size) return true;
    if (!GoesOn(waits)) End();
  }
  return false;
}

// Waits a little. False: the recorder is gone.
bool SlotWriter::GoesOn(unsigned waits) {
  const timespec pause{.tv_sec = 0, .tv_nsec = 200'000};
  nanosleep(&pause, nullptr);
  return StillWanted(waits);
}

bool SlotWriter::StillWanted(unsigned waits) const {
  constexpr unsigned kLookEvery = 256;  // waits between two looks whether the recorder is there
  if (area_->recording.load() == record::Recording::kOver) return false;
  return waits % kLookEvery != kLookEvery - 1 || RecorderIsThere();
}

bool SlotWriter::RecorderIsThere() const {
  return kill(area_->recorder_pid, 0) == 0 || errno == EPERM;
}

}  // namespace flowback::emulate
