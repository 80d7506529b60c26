// SPDX-License-Identifier: MIT
// Random x86 code as a graph of instructions that can be executed without emulating x86.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/generator/stream_generator.h"
#include "tests/support/random.h"

namespace flowback::testing {

enum class NodeKind : uint8_t {
  kPlain,
  kRep,
  kPtwrite,
  kConditional,
  kJump,
  kCall,
  kZeroCall,
  kIndirectJump,
  kIndirectCall,
  kReturn,
  kSystemCall,       // SYSCALL, SYSENTER
  kSoftInterrupt,    // INT n: the trace has it as an event at its own address
  kSystemReturn,     // SYSRET, SYSEXIT at the end of a kernel's system call entry
  kInterruptReturn,  // IRET at the end of a handler
  kSignalReturn,     // SYSCALL at the end of a user-mode handler
  kMovCr3,
  kFarJump,
  kTransactionBegin,
  kTransactionEnd,
  kTransactionAbort,
};

// One instruction. Control falls through to the next node unless the kind says otherwise.
struct Node {
  uint64_t address = 0;
  uint32_t target = 0;        // node: of a direct branch; the fallback of a transaction
  uint32_t first_choice = 0;  // of an indirect branch, in Program::choices
  uint16_t choice_count = 0;
  uint8_t length = 0;
  NodeKind kind = NodeKind::kPlain;
  uint8_t taken_chance = 0;      // of a conditional branch, in 1/256
  bool recursion_guard = false;  // not taken calls the function itself
  bool outside = false;          // of the IP filter
  CodeMode mode = CodeMode::kX86_64;
};

struct Program {
  std::vector<Node> nodes;
  std::vector<uint32_t> choices;          // nodes that indirect branches go to
  std::vector<uint32_t> entries;          // first node of each ordinary function; 0 is main
  std::vector<uint32_t> kernel_handlers;  // end in IRET
  std::vector<uint32_t> user_handlers;    // end in a signal return
  std::vector<uint32_t> system_entries;   // end in SYSRET
  std::vector<GeneratedSection> sections;
};

Program BuildProgram(const GeneratorOptions& options, Random& random);

}  // namespace flowback::testing
