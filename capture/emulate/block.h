// SPDX-License-Identifier: MIT
// A translated block: what the tracer must know of it, found out once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/instruction.h"

namespace flowback::emulate {

// Where control may go from the end of a block.
enum class BlockEnd : uint8_t {
  kSequential,  // to the next instruction: the emulator ended the block for reasons of its own
  kConditional,
  kEitherWay,  // a conditional branch to the next instruction: nothing shows what it did
  kJump,
  kCall,
  kIndirect,  // a near return, an indirect jump or call, a far jump or return
  kKernel,    // SYSCALL
  kTrap,      // INT3 and the like
  kUnknown,   // the emulator and we read the code differently
};

// Instructions one after the other, as the emulator runs them. Immutable but for `may_be_handler`.
struct alignas(64) Block {
  uint64_t start = 0;
  uint64_t end = 0;      // behind the last instruction
  uint64_t last_ip = 0;  // of the last instruction
  uint64_t target = 0;   // of a direct branch
  uint64_t power = 1;    // FlowDigest::Power(instructions)
  uint64_t hash = 0;     // of the digest of all its instructions
  uint32_t instructions = 0;
  BlockEnd kind = BlockEnd::kUnknown;
  std::atomic<bool> may_be_handler = false;  // a signal handler begins here
  Instruction last;
  std::vector<uint8_t> lengths;  // of the instructions

  // How many instructions lie before `address`; nothing when none begins there.
  std::optional<size_t> IndexOf(uint64_t address) const;
  // Digest of the first `length` of them.
  FlowDigest Prefix(size_t length) const;
};

// `code` holds the instructions' bytes one after the other.
std::unique_ptr<Block> DescribeBlock(uint64_t start, Bytes code, std::vector<uint8_t> lengths);

// All blocks of a process, and where its signal handlers begin. Blocks live as long as the table:
// the emulator keeps their addresses in the code it makes. The caller locks.
class BlockTable {
 public:
  // The block with this code at this address, told before or new.
  Block& Add(uint64_t start, Bytes code, std::vector<uint8_t> lengths);
  void AddHandler(uint64_t address);
  bool IsHandler(uint64_t address) const { return handlers_.contains(address); }

 private:
  struct Entry {
    std::vector<uint8_t> code;  // as the emulator told it
    std::vector<uint8_t> lengths;
    std::unique_ptr<Block> block;
  };
  std::multimap<uint64_t, Entry> blocks_;  // by start
  std::set<uint64_t> handlers_;
};

}  // namespace flowback::emulate
