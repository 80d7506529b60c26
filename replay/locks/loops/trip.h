// SPDX-License-Identifier: MIT
// Whether a thread that goes round a loop waits for another thread, judged by the code of one trip.
//
//   L:  pause              A trip is what the thread executed from L to the jump back to L, the
//       mov  eax, [rdi]    functions that it called on the way included. The loop is a wait where
//       test eax, eax      the next trip would be the same one again, for ever, unless another
//       jne  L             thread writes to memory that the trip reads.
#pragma once

#include <cstdint>
#include <span>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback {

// Instructions of a trip that lie one behind the other in memory.
struct TripPart {
  uint64_t address = 0;
  Bytes code;  // of these instructions alone
  CodeMode mode{};
  bool taken = false;  // the last instruction transferred control; else it went on behind it
};

enum class LoopKind : uint8_t {
  kWait,      // only a write by another thread ends it
  kRetry,     // an atomic operation is tried again, as another thread came in between
  kDelay,     // it lets time pass, as backoff does, and reads nothing that others write
  kWork,      // it changes what its own conditions depend on
  kDoubtful,  // it may be a wait
};

// Why a loop does not count as a wait.
enum class LoopReason : uint8_t {
  kNone,            // it is one
  kStores,          // it writes to memory
  kChangesAddress,  // it reads from another address with each trip
  kCounts,          // its condition depends on what the trip changes: a counter, a state
  kReadsNothing,    // its condition depends on nothing that it reads from memory
  kEndsByItself,    // its own atomic operation makes its condition false
  kReadsClock,      // its condition depends on a clock, random numbers or a device
  kUnknownCode,     // an instruction whose effects are not known decides
  kTooLong,         // the trip has more instructions than are looked at
  kSystemCall,      // what the kernel returns decides, as where I/O is polled
};

struct TripVerdict {
  LoopKind kind = LoopKind::kWork;
  LoopReason reason = LoopReason::kNone;
  bool pauses = false;  // PAUSE, TPAUSE, UMWAIT, YIELD, WFE: the code says that it waits
  bool atomic = false;  // it has an atomic operation that reads and writes
};

// Parts are in the order of execution; the first begins where the last one's jump leads.
// Thread-safe.
TripVerdict JudgeTrip(std::span<const TripPart> parts);

// Properties of a single instruction that decide whether it can be in a trip that waits.
struct BlockTraits {
  bool stores = false;  // to memory that is not its function's own stack frame, other than by an
                        // atomic operation: no trip with it waits
  bool atomic = false;
  bool pauses = false;
};

// Returns the traits of a block's instructions. Thread-safe.
BlockTraits TraitsOf(Bytes code, uint64_t address, CodeMode mode);

}  // namespace flowback
