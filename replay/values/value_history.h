// SPDX-License-Identifier: MIT
// The values that a thread's registers and memory had along a path of its flow, as far as they
// are proven.
//
//   const ValueHistory history = ValueHistory::Of(path, surroundings);
//   if (const auto rax = history.Register(point, 0)) Use(*rax);
//
// A known state, such as a core dump's, proves values at one point. Each instruction proves more:
// the results that it computed from known values, and the operands that it must have had for known
// results. The engine goes back and forth over the path until nothing new is proven. Bits are
// proven one by one, so a byte of a register may be known where the rest is not.
//
// Memory is followed where only the process itself can write to it (Surroundings::is_private). A
// store to an unproven address, a system call that may write, and any other step that may change
// memory end all knowledge about memory, in both directions. No store is assumed to keep away from
// any address. Loads and stores whose addresses are proven meet the same bytes where nothing may
// have written between them.
//
// Nothing is guessed. If known values contradict each other (a core of another run, memory that
// another process wrote to), the history proves nothing at all, and says where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replay/values/known_bits.h"
#include "replay/values/path.h"

namespace flowback::values {

// How a value was proven.
enum class ProofKind : uint8_t {
  kNone,      // it is not
  kState,     // by a known state
  kForward,   // an instruction computed it
  kBackward,  // an instruction must have had it, to come to its result
};

struct Proof {
  ProofKind kind = ProofKind::kNone;
  size_t instruction = 0;  // of kForward and kBackward: its number in the path
};

// One instruction of the chain that gave a value.
struct ChainLink {
  enum class Kind : uint8_t {
    kComputed,  // from other values
    kCopied,    // from another register, or a part of one
    kLoaded,    // from memory
    kStored,    // to memory, from where it was loaded later
    kConstant,  // the instruction contains the value
    kUnknown,   // how the instruction computes is not known
  };
  Kind kind = Kind::kUnknown;
  size_t instruction = 0;
  std::optional<uint64_t> value{};    // that the instruction gave, where it is proven
  std::optional<uint64_t> address{};  // of kLoaded and kStored, where it is proven
  uint8_t bytes = 0;                  // of kLoaded and kStored
};

// Why a chain ends.
enum class ChainEnd : uint8_t {
  kConstant,   // a constant gave the value
  kSeveral,    // several values did
  kUnknown,    // an instruction that computes in an unknown way, or a system call, did
  kGap,        // the flow is missing there, or control came from elsewhere
  kBeginning,  // the value is older than the path
  kAddress,    // it was loaded from an address that is not proven
  kMemory,     // it was loaded from memory whose last store is not proven
  kTooLong,
};

struct ValueChain {
  std::vector<ChainLink> links{};  // the youngest first
  ChainEnd end = ChainEnd::kBeginning;
};

// The bytes of memory that a value was in.
struct StoredValue {
  uint64_t address = 0;
  std::optional<uint64_t> value{};  // empty: not known, so that any store may have written it
  unsigned bytes = 8;               // at most 8
};

// The last write of a path to bytes of memory.
struct LastWrite {
  enum class Kind : uint8_t {
    kNone,    // nothing in the path did
    kStored,  // the instruction stored all bytes of the value, and nothing behind it changed them
    kOther,   // the instruction, or what happened behind it, may have written something else
  };
  Kind kind = Kind::kNone;
  size_t instruction = 0;  // in the path
};

class ValueHistory {
 public:
  // Takes time and memory in proportion to the path's length. The functions of `surroundings` are
  // called later, too. REQUIRES: the states' points are at most the number of instructions.
  static ValueHistory Of(ExecutedPath path, Surroundings surroundings);
  ValueHistory(ValueHistory&&) noexcept;
  ValueHistory& operator=(ValueHistory&&) noexcept;
  ~ValueHistory();

  const ExecutedPath& path() const;
  // Returns the instruction at which known values contradict each other: nothing is proven then.
  std::optional<size_t> contradiction() const;
  // The proven bits of a register at a point, by its number in step_register.
  KnownBits Bits(size_t point, uint8_t number) const;
  std::optional<uint64_t> Register(size_t point, uint8_t number) const {
    const KnownBits bits = Bits(point, number);
    return bits.all() ? std::optional(bits.value) : std::nullopt;
  }
  Proof ProofOf(size_t point, uint8_t number) const;
  // Whether the instruction made a system call, or INT 80h did behind it.
  bool MakesCall(size_t instruction) const;
  // A register at that call, and what the call returned. Empty: not proven.
  std::optional<uint64_t> CallRegister(size_t instruction, uint8_t number) const;
  std::optional<uint64_t> CallResult(size_t instruction) const;
  // A byte of memory at a point, if it is proven.
  std::optional<uint8_t> Byte(size_t point, uint64_t address) const;
  // What the thread's own stores left in at most eight bytes of memory: what other threads did does
  // not count. Empty: it is not proven.
  std::optional<uint64_t> OwnWord(size_t point, uint64_t address, unsigned bytes) const;
  // The instructions that gave a register its value, or eight bytes of memory.
  ValueChain WhyRegister(size_t point, uint8_t number) const;
  ValueChain WhyMemory(size_t point, uint64_t address) const;
  // Returns the last write to the value's bytes before the point, without other threads' writes.
  // `stack_keeps_away`: writes at a stack pointer that is not proven are taken to be elsewhere.
  LastWrite LastWriteTo(size_t point, const StoredValue& wanted, bool stack_keeps_away) const;
  // Returns the only possible writer to the bytes between the points, if there was one: a store, or
  // several of one stay in a function. `is_innocent`: whether the code at an address is taken to
  // write elsewhere; may be null. kOther: several may have.
  LastWrite OnlyWriteTo(size_t from, size_t to, const StoredValue& wanted, bool stack_keeps_away,
                        const std::function<bool(uint64_t)>& is_innocent) const;

 private:
  class Impl;
  explicit ValueHistory(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback::values
