// SPDX-License-Identifier: MIT
// All code of an object, executed or not: the denominator of coverage.
//
//   function  |-- main --------------------|     |-- helper --|      by symbols, else by .eh_frame
//   block     |--------|-----|----------|--|     |-----|------|      each ends where control may go
//   left out                                |pad|                     padding, data, jump tables
//
// Found by following control flow from each function's entry. Addresses are the linker's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/decode/recording_code.h"
#include "flowback/model/instruction.h"
#include "flowback/replay/object_image.h"

namespace flowback {

struct StaticInstruction {
  uint64_t address = 0;
  uint64_t target = 0;  // of a direct branch; else 0
  uint8_t length = 0;
  InstructionClass kind = InstructionClass::kOther;
};

// Instructions one after the other: control comes in at the first only, as far as the code shows,
// and leaves behind the last. Every transfer of control ends one, calls too.
struct StaticCodeBlock {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t first = 0;  // its instructions, by number
  uint32_t count = 0;
  uint32_t function = 0;
};

struct StaticFunction {
  enum class Source : uint8_t { kSymbol, kUnwindTable, kWholeSection };

  std::string name;  // demangled; of the unwind table: "" (reports name it by its address)
  std::string linkage_name{};  // as the symbol table has it
  uint64_t begin = 0;
  uint64_t end = 0;
  Source source = Source::kSymbol;
  bool is_stub = false;  // of a procedure linkage table
  uint32_t first_block = 0;
  uint32_t block_count = 0;
  // Number of the function that it is a part of: one that the compiler moved away ("f.cold"), or
  // that lies behind another function inside of it. Its own number: it is a function.
  uint32_t whole = 0;
  // These and the uncertain ones are its range. Bytes that several instructions share count once.
  uint64_t code_bytes = 0;      // of its instructions
  uint64_t left_out_bytes = 0;  // padding
  // Bytes of its range that no known flow reaches and that are no padding: either data, or code
  // that only an indirect jump leads to. No instruction is counted there.
  uint64_t uncertain_bytes = 0;
  // Its indirect jumps whose targets the code does not contain.
  uint32_t unresolved_jumps = 0;
};

// Immutable.
class StaticCode {
 public:
  // `search`: where separate debug files lie. `executed`, sorted: addresses at which instructions
  // are known to begin, since they ran; flow is followed from these, too. Errors: kUnreadable.
  static Result<StaticCode> Of(const ObjectImage& image, const ImageSearch& search,
                               std::span<const uint64_t> executed = {});

  // Sorted by address, without overlap; only where code jumps into the middle of an instruction do
  // instructions, and the blocks they are in, overlap.
  std::span<const StaticFunction> functions() const { return functions_; }
  std::span<const StaticCodeBlock> blocks() const { return blocks_; }
  std::span<const StaticInstruction> instructions() const { return instructions_; }
  // Null: no function, or no instruction that begins there, is known.
  const StaticFunction* FunctionAt(uint64_t address) const;
  const StaticInstruction* InstructionAt(uint64_t address) const;

 private:
  friend class StaticCodeBuilder;

  std::vector<StaticFunction> functions_;
  std::vector<StaticCodeBlock> blocks_;
  std::vector<StaticInstruction> instructions_;
};

}  // namespace flowback
