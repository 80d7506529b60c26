// SPDX-License-Identifier: MIT
// Registers of the frames of a stack, as far as the values of a moment and the tables of the code
// prove them. [DWARF 5, "Call Frame Information"]
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "flowback/replay/thread_stack.h"
#include "replay/debug/values/value_sources.h"
#include "replay/symbols/frames/unwind_table.h"

namespace flowback {

struct FrameRegisters {
  // By DWARF's numbers. Empty: not proven.
  std::array<std::optional<uint64_t>, symbols::kFrameRegisters> values{};
  std::optional<uint64_t> cfa{};  // where the frame begins (canonical frame address)
};

// Keeps the tables of files that it has read. Used by one thread.
class FrameUnwinder {
 public:
  // Returns the registers of the n-th frame, the innermost first, of a thread that stands there. A
  // frame that the kernel made hides all that is outside of it.
  FrameRegisters Of(const MachineThread& thread, ValueSources& values,
                    std::span<const StackFrame> frames, size_t frame);

 private:
  std::optional<symbols::FrameRules> RulesAt(const StackFrame& frame);

  std::map<std::string, std::unique_ptr<symbols::UnwindTable>> tables_;  // by file
};

}  // namespace flowback
