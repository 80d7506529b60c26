// SPDX-License-Identifier: MIT
// What hardware recorded of one moment at which an event had happened so often: a sample, whether
// it stands in the trace (PEBS of Intel PT) or beside it (samples of perf, IBS of AMD).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace flowback {

// Where data was found, or code of a sampled fetch.
enum class MemoryLevel : uint8_t {
#define FLOWBACK_MEMORY_LEVEL(name, text, meaning) name,
#include "base/recorded/memory_levels.def"
#undef FLOWBACK_MEMORY_LEVEL
};
// Returns the printed name; empty if unknown.
constexpr const char* Name(MemoryLevel level) {
  switch (level) {
#define FLOWBACK_MEMORY_LEVEL(name, text, meaning) \
  case MemoryLevel::name:                          \
    return text;
#include "base/recorded/memory_levels.def"
#undef FLOWBACK_MEMORY_LEVEL
  }
  return "";
}

// The access to memory that an instruction made, as far as the hardware recorded it.
struct MemoryAccess {
  enum class Outcome : uint8_t { kNotTold, kHit, kMiss };
  // What other caches had of the line: kModified is what makes sharing slow.
  enum class Snoop : uint8_t { kNotTold, kNone, kMiss, kHit, kModified };

  std::optional<uint64_t> address;              // of the data, as the program has it
  std::optional<uint64_t> physical;             // the same for the memory
  std::optional<uint64_t> latency;              // cycles until the data was there
  std::optional<uint64_t> instruction_latency;  // cycles of the whole instruction
  // The hardware's own number for where the data was. Only its model's manual explains it.
  std::optional<uint64_t> code;
  uint64_t page_size = 0;  // bytes; 0: unknown
  bool load = false;
  bool store = false;
  bool prefetch = false;
  bool locked = false;
  bool remote = false;  // from another node, socket or core complex
  MemoryLevel level{};
  Outcome level_outcome = Outcome::kNotTold;  // kMiss: the level is one where it was not
  Snoop snoop = Snoop::kNotTold;
  Outcome tlb = Outcome::kNotTold;

  bool any() const { return address || physical || latency || code || load || store; }
  friend bool operator==(const MemoryAccess&, const MemoryAccess&) = default;
};

// A branch as the sample's own branch stack has it: three words of the hardware.
struct SampledBranch {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t info = 0;  // IA32_LBR_INFO: cycles, misprediction, kind, as the model has them
  friend bool operator==(const SampledBranch&, const SampledBranch&) = default;
};

// Registers when the event happened, or when its sample was written (x86).
enum class SampledRegister : uint8_t {
#define FLOWBACK_SAMPLED_REGISTER(name, text) name,
#include "base/recorded/sampled_registers.def"
#undef FLOWBACK_SAMPLED_REGISTER
};
constexpr const char* Name(SampledRegister name) {
  switch (name) {
#define FLOWBACK_SAMPLED_REGISTER(name, text) \
  case SampledRegister::name:                 \
    return text;
#include "base/recorded/sampled_registers.def"
#undef FLOWBACK_SAMPLED_REGISTER
  }
  return "";
}

// Words that are known by a number from 0 to 31, as many as there are.
class NumberedWords {
 public:
  bool empty() const { return told_ == 0; }
  uint32_t told() const { return told_; }  // bit of each number
  // REQUIRES: the numbers come in order.
  void Add(unsigned number, uint64_t word) {
    told_ |= uint32_t{1} << number;
    words_.push_back(word);
  }
  std::optional<uint64_t> Get(unsigned number) const {
    if ((told_ >> number & 1) == 0) return std::nullopt;
    return words_[static_cast<size_t>(std::popcount(told_ & ((uint32_t{1} << number) - 1)))];
  }
  friend bool operator==(const NumberedWords&, const NumberedWords&) = default;

 private:
  uint32_t told_ = 0;
  std::vector<uint64_t> words_;
};

// The larger part of a sample's possible content.
struct SampleContext {
  NumberedWords registers;              // by SampledRegister
  std::vector<SampledBranch> branches;  // the newest first
  NumberedWords xmm;                    // halves of XMM0 to XMM15, the low one first
  std::optional<uint64_t> transaction;  // TSX: the hardware's word of cycles and abort reason
  friend bool operator==(const SampleContext&, const SampleContext&) = default;
};

struct EventSample {
  // What its `ip` is.
  enum class Place : uint8_t {
    kNotTold,
    kExact,     // the instruction that made the event happen
    kSkid,      // that one or, as a rule, one soon behind it
    kDisputed,  // the record says one instruction, and the trace that it stands at another
  };
  // The branch there, if the instruction is a retired branch that the hardware recorded.
  struct Branch {
    bool told = false;
    bool taken = false;
    bool mispredicted = false;
    bool is_return = false;
    friend bool operator==(const Branch&, const Branch&) = default;
  };

  static constexpr uint32_t kNoEvent = ~uint32_t{0};

  uint64_t ip = 0;
  Place place = Place::kNotTold;
  Branch branch;
  uint32_t event = kNoEvent;  // its number in Recording::events
  uint64_t counters = 0;      // bits of the counters whose event it was; 0: unknown
  int32_t pid = -1;           // -1: unknown
  int32_t tid = -1;
  int32_t cpu = -1;
  // When: a trace's samples have ticks of its clock, as BlockRun::tsc and ::bounds; perf's have
  // nanoseconds. 0: unknown.
  uint64_t tsc = 0;
  uint64_t tsc_lo = 0;
  uint64_t tsc_hi = 0;
  uint64_t time = 0;
  MemoryAccess access;
  bool fetch = false;   // what was sampled is a fetch of code at `ip`: `access` is of that
  bool cut = false;     // some of it was lost: missing fields may have existed
  uint32_t unread = 0;  // items whose meaning is not known
  std::shared_ptr<const SampleContext> context;  // null: nothing of it is known
};

}  // namespace flowback
