// SPDX-License-Identifier: MIT
// A translated block: what the tracer must know of it, found out once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "capture/emulate/guest.h"
#include "flowback/base/bytes.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/instruction.h"

namespace flowback::emulate {

// Where control may go from the end of a block.
enum class BlockEnd : uint8_t {
  kSequential,  // to the next instruction: the emulator ended the block for reasons of its own
  kConditional,
  kEitherWay,  // a conditional branch to the next instruction: nothing shows what it did
  kJump,       // also a call to the next instruction, which does not go onto the return stack
  kCall,
  kReturn,    // a near one
  kIndirect,  // an indirect jump or call, a far jump or return
  kKernel,    // SYSCALL
  kTrap,      // INT3 or another instruction that raises a trap
  kUnknown,   // the emulator and we read the code differently
};

// Special properties of a block. Two blocks that share a mark, one after the other, need a look.
enum BlockMark : uint8_t {
  kMarkInside = 0x01,    // the first: jumps to an instruction of its own; the second: is one only
  kMarkHandler = 0x02,   // the first: any; the second: a signal handler may begin here
  kMarkFunction = 0x04,  // the first: any; the second: recording may be switched here
  kMarkShared = 0x08,    // the first: any; the second: others may write to its code
  kMarkAny = 0xe0,       // any: meets what the thread's attention is asked for
};

// Instructions one after the other, as the emulator runs them. Immutable but for `marks_after`.
struct alignas(64) Block {
  static constexpr uint64_t kNowhere = ~uint64_t{0};  // where no block begins

  // One cache line: what a callback needs of the block before.
  uint64_t start = kNowhere;
  // Where its end leads, if at most the outcome of a branch must be recorded; else kNowhere.
  uint64_t when_taken = kNowhere;
  uint64_t when_not = kNowhere;
  uint64_t power = 1;         // FlowDigest::Power(instructions)
  uint64_t hash = 0;          // of the digest of all its instructions
  uint64_t outcome_mask = 0;  // all ones: the branch has an outcome
  uint32_t instructions = 0;
  BlockEnd kind = BlockEnd::kUnknown;
  uint8_t marks_before = kMarkHandler | kMarkFunction | kMarkShared;  // as the first of two
  std::atomic<uint8_t> marks_after = kMarkAny;                        // as the second

  uint64_t end = 0;              // behind the last instruction
  uint64_t last_ip = 0;          // of the last instruction
  uint64_t target = 0;           // of a direct branch
  bool first_may_raise = false;  // the first instruction may raise a fault that is not a memory's
  CodeMode mode = CodeMode::kX86_64;  // of all instructions
  Instruction last;
  std::vector<uint8_t> lengths;  // of the instructions

  // How many instructions lie before `address`; nothing when none begins there.
  std::optional<size_t> IndexOf(uint64_t address) const;
  // Digest of the first `length` of them.
  FlowDigest Prefix(size_t length) const;
  // All of it is an instruction that the emulator calls back for at each iteration.
  bool IsRepAlone() const { return instructions == 1 && (last.flags & kFlagRep) != 0; }
  bool may_be_handler() const {
    return (marks_after.load(std::memory_order_relaxed) & kMarkHandler) != 0;
  }
  bool may_switch() const {
    return (marks_after.load(std::memory_order_relaxed) & kMarkFunction) != 0;
  }
  bool is_shared() const {
    return (marks_after.load(std::memory_order_relaxed) & kMarkShared) != 0;
  }
  void SetShared() { marks_after.fetch_or(kMarkShared, std::memory_order_relaxed); }
  void SetMaySwitch() { marks_after.fetch_or(kMarkFunction, std::memory_order_relaxed); }
  void SetMayBeHandler() { marks_after.fetch_or(kMarkHandler, std::memory_order_relaxed); }
};

// `code` holds the instructions' bytes one after the other.
std::unique_ptr<Block> DescribeBlock(uint64_t start, Bytes code, std::vector<uint8_t> lengths,
                                     CodeMode mode = CodeMode::kX86_64);

// All blocks of a process, and where its signal handlers begin. Blocks live as long as the table:
// the emulator keeps their addresses in the code it makes. The caller locks.
class EmulatedBlocks {
 public:
  struct Settings {
    // The outcome of a branch may be held back without a look at the clock.
    bool quick_outcomes = true;
    // Records each taken branch by itself, and no others.
    bool branches = false;
    CodeMode mode = CodeMode::kX86_64;
  };
  explicit EmulatedBlocks(const Settings& settings) : settings_(settings) {}
  // Returns the block with this code at this address, known or new.
  Block& Add(uint64_t start, Bytes code, std::vector<uint8_t> lengths);
  // Whether code that needs no packet leads from `block` round in a loop, or very far. For any
  // thread, without the caller's lock.
  bool MayGoRound(const Block& block) const;
  // The blocks, each from begin to end, whose code is another one in memory than when it was
  // translated last.
  std::vector<std::pair<uint64_t, uint64_t>> FindChanged(const GuestMemory& memory) const;
  // Around fork, in the thread that forks.
  void Lock() { adding_.lock(); }
  void Unlock() { adding_.unlock(); }
  void AddHandler(uint64_t address);
  bool IsHandler(uint64_t address) const { return handlers_.contains(address); }

 private:
  struct Entry {
    std::vector<uint8_t> code;  // as the emulator passed it
    std::vector<uint8_t> lengths;
    std::unique_ptr<Block> block;
  };
  const Settings settings_;
  mutable std::mutex adding_;              // over blocks_
  std::multimap<uint64_t, Entry> blocks_;  // by start
  std::set<uint64_t> handlers_;
};

}  // namespace flowback::emulate
