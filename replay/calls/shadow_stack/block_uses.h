// SPDX-License-Identifier: MIT
// What each block does to the stack, looked at when it is first executed.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "decode/instruction/stack_use.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"

namespace flowback {

class BlockUses {
 public:
  StackUse Of(const BlockRun& run);
  // How a step ends, where it does no more to the stack than calls and returns do.
  enum class Way : uint8_t {
    kOther,
    kCall,
    kReturn,
    kJump,      // an indirect jump that has stayed in its function
    kStubJump,  // an indirect jump from a procedure linkage table's stub
  };
  // A block as where a call leads to.
  struct Entry {
    uint64_t function = 0;   // FunctionPiece::id
    bool is_usual = false;   // it was looked at, and is no stub
    bool is_stub = false;    // it was looked at, and is a stub
    bool ends_stub = false;  // a stub's jump has led there, and it is a function's entry
  };
  // Addresses of the function that an indirect jump is in, half-open.
  struct Within {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool Holds(uint64_t address) const { return address >= begin && address < end; }
  };
  // The uses of the table's blocks; valid until the next call.
  struct TableUses {
    StackUse* uses = nullptr;  // by number; where the flags are kNotLooked, Look must be asked
    // By step: its instructions, where it is known that a call stack has nothing but these to count
    // of it; else BlockRuns::kNoCount.
    int32_t* plain = nullptr;
    Way* ways = nullptr;       // by step
    Entry* entries = nullptr;  // by number
    Within* jumps = nullptr;   // by number, of blocks with Way::kJump
  };
  static constexpr uint8_t kNotLooked = 0xff;
  TableUses InTable(const BlockTable& table);
  static StackUse Look(const BlockTable& table, const CodeBlock& block);
  // The addresses that the run takes and that lie near it, where code of its own function may be.
  // Valid until the next call.
  const std::vector<TakenPlace>& PlacesOf(const BlockRun& run);

 private:
  struct Answer {
    const AddressSpace* space = nullptr;
    uint64_t address = 0;
    size_t count = 0;
    StackUse use;
  };
  static constexpr size_t kAnswers = 4096;

  struct Places {
    const AddressSpace* space = nullptr;
    uint64_t address = 0;
    size_t count = 0;
    std::vector<TakenPlace> places;
  };
  static constexpr size_t kPlaces = 256;

  struct Table {
    std::vector<StackUse> uses;
    std::vector<int32_t> plain;
    std::vector<Way> ways;
    std::vector<Entry> entries;
    std::vector<Within> jumps;
  };

  std::unordered_map<const BlockTable*, Table> tables_;
  const BlockTable* table_ = nullptr;  // the last one asked for
  Table* of_table_ = nullptr;
  std::vector<Answer> answers_;
  std::vector<Places> places_;
};

}  // namespace flowback
