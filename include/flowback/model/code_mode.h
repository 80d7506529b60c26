// SPDX-License-Identifier: MIT
// A code mode gives code bytes their meaning: the instruction set, and its width if the set has
// several.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace flowback {

enum class CodeMode : uint8_t {
#define FLOWBACK_CODE_MODE(id, ...) id,
#include "flowback/model/code_modes.def"
};

// One row of the table code_modes.def, which says what each column means.
struct CodeModeTraits {
  std::string_view instruction_set;
  std::string_view name;
  unsigned bits = 0;
  uint64_t address_mask = 0;
  unsigned longest_instruction = 0;  // bytes
  unsigned alignment = 1;            // of instructions
};

inline constexpr std::array kCodeModeTraits = {
#define FLOWBACK_CODE_MODE(id, set, name, bits, address_mask, longest_instruction, alignment) \
  CodeModeTraits{#set, name, bits, address_mask, longest_instruction, alignment},
#include "flowback/model/code_modes.def"
};

inline constexpr std::array kCodeModes = {
#define FLOWBACK_CODE_MODE(id, ...) CodeMode::id,
#include "flowback/model/code_modes.def"
};

// Where a table has a row for each mode.
constexpr size_t IndexOf(CodeMode mode) { return static_cast<size_t>(mode); }

constexpr const CodeModeTraits& TraitsOf(CodeMode mode) { return kCodeModeTraits[IndexOf(mode)]; }

// The mode of most code on a machine that `uname -m` calls so. Empty: it is not known, or no code
// of such a machine can be read.
constexpr std::optional<CodeMode> ModeOfMachine(std::string_view architecture) {
  const bool i386 =
      architecture.size() == 4 && architecture[0] == 'i' && architecture.ends_with("86");
  if (i386) return CodeMode::kX86_32;
  if (architecture.starts_with("x86") || architecture == "amd64") return CodeMode::kX86_64;
  if (architecture == "aarch64" || architecture == "arm64") return CodeMode::kAArch64;
  return std::nullopt;
}

// The number of bytes that hold any instruction of any mode.
inline constexpr unsigned kLongestInstruction =
    std::ranges::max(kCodeModeTraits, {}, &CodeModeTraits::longest_instruction).longest_instruction;

}  // namespace flowback
