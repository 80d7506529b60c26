// SPDX-License-Identifier: MIT
// The memory that the recorder and the emulated processes share: how trace and sideband get from
// one to the other. One slot for each thread that is being recorded, with two rings.
//
// A ring has one writer, the thread, and one reader, the recorder; both count bytes from the start
// and never turn back. A thread publishes whole packets and whole messages only, so that all that
// the recorder finds is good, however the thread ended. That is why nothing here needs the thread's
// help at its end: not the outcomes that no packet contains yet, not the digest (ThreadProgress).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/record/emulate/unlike_native.h"
#include "capture/record/target/presence.h"

namespace flowback::record {

constexpr uint32_t kSharedAreaVersion = 9;
constexpr uint64_t kSharedAreaMagic = 0x6165726177666c66;
constexpr uint32_t kSlots = 1024;
constexpr uint32_t kMaxVirtualCpus = 256;
constexpr uint64_t kTraceRingBytes = 512 * 1024;  // a power of two
constexpr uint64_t kSidebandRingBytes = 64 * 1024;
constexpr uint32_t kOpened = 1024;

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

// Branch outcomes that no packet contains yet, in one word: a one, then the outcomes, the oldest
// highest, above the low 16 bits of the trace's head when they were pending. Zero: none.
using PendingWord = uint64_t;
constexpr unsigned kPendingShift = 16;
constexpr uint64_t kPendingTag = (uint64_t{1} << kPendingShift) - 1;

// What a thread executed so far, as far as the trace up to `pending`'s head and these outcomes
// prove it.
struct ThreadProgress {
  uint64_t count;  // FlowDigest
  uint64_t hash;
  PendingWord pending;
  uint64_t next;  // where control stands then; 0: in the kernel, or recording has ended
};

// Why a thread is to look up from its work.
enum PendingRequest : uint32_t {
  kAttentionCode = 0x20,  // code has changed: what it runs from now on is to be told apart by time
  kAttentionStop = 0x40,  // the recorder wants no more
  kAttentionEnd = 0x80,   // its process ends
};

struct Slot {
  // The thread fills in the one that is not `current`, moves the trace's head, then `current`. So,
  // whenever it was killed, one of them is whole and describes the trace up to the head: `current`,
  // unless that names another head.
  alignas(64) ThreadProgress flow[2];
  std::atomic<uint32_t> current;    // an offset in bytes, which is quick to find
  std::atomic<uint32_t> attention;  // set by others
  std::atomic<SlotState> state;
  int32_t pid;
  int32_t tid;
  uint64_t order;  // of all slots ever taken: a thread that execs has one after the other
  RingCounters trace;
  RingCounters sideband;

  static constexpr uint32_t kOther = sizeof(ThreadProgress);  // xor: from one offset to the other
  ThreadProgress& FlowAt(uint32_t offset) {
    return *reinterpret_cast<ThreadProgress*>(reinterpret_cast<uint8_t*>(flow) + offset);
  }
  // Once the thread has ended. `ring`: where it wrote to.
  const ThreadProgress& LastFlow(const RingCounters& ring);
  // The same where others may have written to that since: it had no news.
  const ThreadProgress& CurrentFlow() { return FlowAt(current.load() & kOther); }
};

inline const ThreadProgress& Slot::LastFlow(const RingCounters& ring) {
  const uint32_t now = current.load(std::memory_order_acquire) & kOther;
  const uint64_t head = ring.head.load(std::memory_order_relaxed);
  const bool of_this_head = ((FlowAt(now).pending ^ head) & kPendingTag) == 0;
  return FlowAt(of_this_head ? now : now ^ kOther);
}

// The thread that has a virtual CPU. A thread that entered the kernel keeps it until another one
// takes it.
struct CpuHolder {
  int32_t pid = 0;
  int32_t tid = 0;         // 0: no thread
  bool running = false;    // it writes there: no other thread may take it
  bool preempted = false;  // it gave way, and would have gone on

  // In one word, so that it is taken in one step. The kernel's thread numbers have 22 bits.
  static constexpr unsigned kIdBits = 24;
  uint64_t Word() const {
    return static_cast<uint64_t>(preempted) << 63 | static_cast<uint64_t>(running) << 62 |
           static_cast<uint64_t>(pid) << kIdBits | static_cast<uint64_t>(tid);
  }
  static CpuHolder Of(uint64_t word) {
    constexpr uint64_t kIdMask = (1u << kIdBits) - 1;
    return {.pid = static_cast<int32_t>(word >> kIdBits & kIdMask),
            .tid = static_cast<int32_t>(word & kIdMask),
            .running = (word >> 62 & 1) != 0,
            .preempted = word >> 63 != 0};
  }
  bool Is(int32_t a_pid, int32_t a_tid) const { return pid == a_pid && tid == a_tid; }
};

// A CPU of recordings per CPU: the thread that runs there writes its ring.
struct VirtualCpu {
  alignas(64) std::atomic<uint64_t> holder;  // CpuHolder's word; 0: no thread
  RingCounters trace;
};

// Whether the threads shall go on.
enum class Recording : uint32_t {
  kGoesOn,
  kStops,  // they write where they are, and no more
  kOver,   // the recorder takes nothing out any more
};

// The recorder's settings for the processes.
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
  bool keeps_images;       // files are copied while they are mapped
  bool instruction_clock;  // else the host's, with this conversion
  // Not 0: the trace is branches (capture/record/generate/branch_trace.h), not packets.
  uint32_t branch_depth;
};

struct SharedArea {
  uint64_t magic;
  uint32_t version;
  int32_t recorder_pid;
  SharedSettings settings;
  std::atomic<Recording> recording;
  std::atomic<uint32_t> processes;              // that found the area so far
  std::atomic<uint64_t> taken;                  // slots so far
  std::atomic<uint32_t> threads_left_out;       // no slot was free
  std::atomic<uint32_t> losses;                 // places where the flow is not known
  alignas(64) std::atomic<uint64_t> ticks;      // of the instruction clock
  alignas(64) std::atomic<uint32_t> cpu_count;  // virtual CPUs; 0: the buffers are per thread
  std::atomic<uint32_t> waiting;                // threads that want a virtual CPU
  // By key: the mapped files that the recorder has opened, of those with the same place the latest.
  std::atomic<uint64_t> opened[kOpened];
  PresenceTable presence;
  std::atomic<uint64_t> unlike_native[kUnlikeNativeCalls];  // how often, by row
  VirtualCpu cpus[kMaxVirtualCpus];
  Slot slots[kSlots];

  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t RingsOffset();
  static constexpr uint64_t Size();

  std::atomic<uint64_t>& Opened(uint64_t key) { return opened[key % kOpened]; }

  uint8_t* TraceRing(uint32_t slot) {
    return reinterpret_cast<uint8_t*>(this) + RingsOffset() +
           slot * (kTraceRingBytes + kSidebandRingBytes);
  }
  uint8_t* SidebandRing(uint32_t slot) { return TraceRing(slot) + kTraceRingBytes; }
  uint8_t* CpuRing(uint32_t cpu) { return TraceRing(kSlots) + cpu * kTraceRingBytes; }
};

constexpr uint64_t SharedArea::RingsOffset() {
  return (sizeof(SharedArea) + kPage - 1) / kPage * kPage;
}
constexpr uint64_t SharedArea::Size() {
  return RingsOffset() + kSlots * (kTraceRingBytes + kSidebandRingBytes) +
         kMaxVirtualCpus * kTraceRingBytes;
}

enum class MessageKind : uint32_t {
  kStart,    // the thread is traced from now on
  kMapping,  // address, size, offset; text: the file's path, then maybe a zero and MappedFileText
  kCode,     // address; text: bytes that are in no file
  kComm,     // offset: 1 after exec; text: the name
  kFork,     // address: the parent's pid; size: its tid
  kExit,
  kFunction,   // offset: what it does, a RecordingSwitch; address: 0 when not known; text: where
  kRegion,     // offset: a RecordingSwitch, at the program's region; text: its name
  kSwitchOut,  // address: the pid, size: the tid of who left the CPU; offset: 1 when it gave way
  kSwitchIn,
  kUntraced,      // text: what would be run so, and why; empty: it was not
  kNote,          // text: what the user should know
  kUnlikeNative,  // address: the row of unlike_native.def; text: the program's name
  kEnd,  // the thread ends its process; text: as capture/record/perf_data/process_end.h writes it
};

// One piece of sideband; `text_size` bytes follow, then zeros up to a multiple of eight.
struct MessageHeader {
  MessageKind kind = MessageKind::kStart;
  uint32_t text_size = 0;
  uint64_t tsc = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
  int64_t cpu = -1;  // the virtual one that the thread has, or had last

  uint64_t TotalSize() const { return sizeof(MessageHeader) + (text_size + 7ull) / 8 * 8; }
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(kTraceRingBytes % SharedArea::kPage == 0 &&
              kSidebandRingBytes % SharedArea::kPage == 0);

}  // namespace flowback::record
