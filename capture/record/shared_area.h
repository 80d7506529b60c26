// SPDX-License-Identifier: MIT
// The memory that the recorder and the emulated processes share: how trace and sideband get from
// one to the other. One slot for each thread that is being recorded, with two rings.
//
// A ring has one writer, the thread, and one reader, the recorder; both count bytes from the start
// and never turn back. A thread publishes whole packets and whole messages only, so that whatever
// the recorder finds is good, however the thread ended. That is why nothing here needs the thread's
// help at its end: not the outcomes that no packet tells yet, not the digest (FlowState).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace flowback::record {

constexpr uint32_t kSharedAreaVersion = 4;
constexpr uint64_t kSharedAreaMagic = 0x6165726177666c66;
constexpr uint32_t kSlots = 1024;
constexpr uint64_t kTraceRingBytes = 512 * 1024;  // a power of two
constexpr uint64_t kSidebandRingBytes = 64 * 1024;

enum class SlotState : uint32_t {
  kFree,
  kTaken,  // a thread fills in its identity
  kLive,   // it writes
  kEnded,  // it won't write any more
};

// Byte counts since the start; `head - tail` are in the ring.
struct RingCounters {
  alignas(64) std::atomic<uint64_t> head;  // moved by the thread
  alignas(64) std::atomic<uint64_t> tail;  // moved by the recorder
};

// Branch outcomes that no packet tells yet, in one word: a one, then the outcomes, the oldest
// highest, above the low 16 bits of the trace's head when they were pending. Zero: none.
using PendingWord = uint64_t;
constexpr unsigned kPendingShift = 16;
constexpr uint64_t kPendingTag = (uint64_t{1} << kPendingShift) - 1;

// What a thread executed so far, as far as the trace up to `pending`'s head and these outcomes
// prove it.
struct FlowState {
  uint64_t count;  // FlowDigest
  uint64_t hash;
  PendingWord pending;
  uint64_t next;  // where control stands then; 0: in the kernel, or nothing is told any more
};

// Why a thread is to look up from its work.
enum Attention : uint32_t {
  kAttentionCode = 0x20,  // code has changed: what it runs from now on is to be told apart by time
  kAttentionStop = 0x40,  // the recorder wants no more
  kAttentionEnd = 0x80,   // its process ends
};

struct Slot {
  // The thread fills in the one that is not `current`, moves the trace's head, then `current`. So,
  // whenever it was killed, one of them is whole and tells of the trace up to the head: `current`,
  // unless that tells of another head.
  alignas(64) FlowState flow[2];
  std::atomic<uint32_t> current;    // an offset in bytes, which is quick to find
  std::atomic<uint32_t> attention;  // set by others
  std::atomic<SlotState> state;
  int32_t pid;
  int32_t tid;
  uint64_t order;  // of all slots ever taken: a thread that execs has one after the other
  RingCounters trace;
  RingCounters sideband;

  static constexpr uint32_t kOther = sizeof(FlowState);  // xor: from one offset to the other
  FlowState& FlowAt(uint32_t offset) {
    return *reinterpret_cast<FlowState*>(reinterpret_cast<uint8_t*>(flow) + offset);
  }
  // Once the thread has ended.
  const FlowState& LastFlow();
};

inline const FlowState& Slot::LastFlow() {
  const uint32_t now = current.load(std::memory_order_acquire) & kOther;
  const uint64_t head = trace.head.load(std::memory_order_relaxed);
  const bool of_this_head = ((FlowAt(now).pending ^ head) & kPendingTag) == 0;
  return FlowAt(of_this_head ? now : now ^ kOther);
}

// Whether the threads shall go on.
enum class Recording : uint32_t {
  kGoesOn,
  kStops,  // they tell where they are, and no more
  kOver,   // nobody takes anything out any more
};

// What the recorder tells the processes.
struct SharedSettings {
  uint32_t psb_period_bytes;
  bool return_compression;
  bool long_tnt;
  bool timestamps;
  bool has_mtc;
  uint8_t mtc_shift;
  bool has_cyc;
  uint8_t cyc_threshold;
  uint16_t conversion_shift;
  uint32_t conversion_mult;
  uint64_t conversion_zero;
  bool instruction_clock;  // else the host's, with this conversion
};

struct SharedArea {
  uint64_t magic;
  uint32_t version;
  int32_t recorder_pid;
  SharedSettings settings;
  std::atomic<Recording> recording;
  std::atomic<uint32_t> processes;          // that found the area so far
  std::atomic<uint64_t> taken;              // slots so far
  std::atomic<uint32_t> threads_left_out;   // no slot was free
  std::atomic<uint32_t> losses;             // places where the flow is not known
  alignas(64) std::atomic<uint64_t> ticks;  // of the instruction clock
  Slot slots[kSlots];

  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t RingsOffset();
  static constexpr uint64_t Size();

  uint8_t* TraceRing(uint32_t slot) {
    return reinterpret_cast<uint8_t*>(this) + RingsOffset() +
           slot * (kTraceRingBytes + kSidebandRingBytes);
  }
  uint8_t* SidebandRing(uint32_t slot) { return TraceRing(slot) + kTraceRingBytes; }
};

constexpr uint64_t SharedArea::RingsOffset() {
  return (sizeof(SharedArea) + kPage - 1) / kPage * kPage;
}
constexpr uint64_t SharedArea::Size() {
  return RingsOffset() + kSlots * (kTraceRingBytes + kSidebandRingBytes);
}

enum class MessageKind : uint32_t {
  kStart,    // the thread is traced from now on
  kMapping,  // address, size, offset; text: the file's path, or "//anon"
  kCode,     // address; text: bytes that are in no file
  kComm,     // offset: 1 after exec; text: the name
  kFork,     // address: the parent's pid; size: its tid
  kExit,
  kFunction,  // offset: what it does, a RecordingSwitch; address: 0 when not known; text: where
  kNote,      // text: what the user should know
};

// One piece of sideband; `text_size` bytes follow, then zeros up to a multiple of eight.
struct MessageHeader {
  MessageKind kind = MessageKind::kStart;
  uint32_t text_size = 0;
  uint64_t tsc = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t offset = 0;

  uint64_t TotalSize() const { return sizeof(MessageHeader) + (text_size + 7ull) / 8 * 8; }
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(kTraceRingBytes % SharedArea::kPage == 0 &&
              kSidebandRingBytes % SharedArea::kPage == 0);

}  // namespace flowback::record
