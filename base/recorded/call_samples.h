// SPDX-License-Identifier: MIT
// Samples with callers: where a thread stood, and its callers as the kernel and the hardware
// recorded them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"
#include "flowback/model/machine.h"

namespace flowback {

// Words of 64 bits as a file has them.
class FileWords {
 public:
  FileWords() = default;
  // `swapped`: the file is of a machine of the other byte order.
  FileWords(Bytes bytes, bool swapped) : bytes_(bytes), swapped_(swapped) {}

  size_t size() const { return bytes_.size() / sizeof(uint64_t); }
  // REQUIRES: i < size().
  uint64_t operator[](size_t i) const {
    uint64_t word = 0;
    std::memcpy(&word, bytes_.data() + i * sizeof word, sizeof word);
    return swapped_ ? std::byteswap(word) : word;
  }

 private:
  Bytes bytes_;
  bool swapped_ = false;
};

// Entries of a branch stack, the newest first, three words each as perf has them.
struct SampledBranches {
  FileWords words;

  size_t size() const { return words.size() / 3; }
  uint64_t from(size_t i) const { return words[3 * i]; }
  uint64_t to(size_t i) const { return words[3 * i + 1]; }
  uint64_t flags(size_t i) const { return words[3 * i + 2]; }
};

// A thread's registers and the top of its stack, for who finds its callers afterwards.
struct StackCopy {
  FileWords registers;     // those of the mask, from its lowest bit on
  uint64_t mask = 0;       // by the kernel's numbers of the machine's registers
  bool of_32_bit = false;  // the thread ran a 32-bit program on a 64-bit machine
  Bytes memory;            // from the stack pointer on
};

struct CallSample {
  uint64_t time = 0;  // perf nanoseconds; 0: not recorded
  uint64_t ip = 0;    // where the thread stood; 0: not recorded
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
  uint32_t event = 0;  // by its number among Recording::events
  // The callchain: addresses, the innermost first, in parts that each begin with a mark
  // (kCallchainMarks) saying whose they are. A part's first address is where control stood, the
  // others are where calls return to.
  FileWords chain;
  SampledBranches branches;
  uint64_t branch_index = 0;        // the hardware's slot of the newest entry
  bool has_chain = false;           // a callchain was asked for, if an empty one
  bool branches_are_calls = false;  // the calls that had not returned, not the last branches
  bool has_branch_index = false;
  int32_t copy = -1;  // the number of its stack's copy in CallSamples::copies; -1: not copied
};

// Addresses from here on are marks (PERF_CONTEXT_*).
inline constexpr uint64_t kCallchainMarks = ~uint64_t{0} - 4094;
constexpr bool IsCallchainMark(uint64_t word) { return word >= kCallchainMarks; }
inline constexpr uint64_t kCallchainUser = ~uint64_t{0} - 511;
inline constexpr uint64_t kCallchainUserDeferred = ~uint64_t{0} - 639;
inline constexpr uint64_t kCallchainGuestUser = ~uint64_t{0} - 2559;

// In the order of their times.
struct CallSamples {
  std::vector<CallSample> samples;
  std::vector<StackCopy> copies;
  CodeMode mode = CodeMode::kX86_64;  // of the machine's code
  uint64_t branch_depth = 0;          // entries that the hardware's stack holds, as far as is known
  bool empty() const { return samples.empty(); }
};

// Returns the samples of a recording with such settings. Returns null if its trace contains all
// calls, or if it has no samples with calls.
const CallSamples* CallSamplesOf(const TraceConfig& config);

}  // namespace flowback
