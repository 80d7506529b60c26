// SPDX-License-Identifier: MIT
#include "decode/instruction/aarch64/disassemble.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <string_view>

#include "decode/instruction/aarch64/classify.h"
#include "decode/instruction/aarch64/word.h"

namespace flowback::aarch64 {
namespace {

// LLVM writes ADRP's address behind its text, as a comment.
std::string WithoutComment(const std::string& text) {
  constexpr std::string_view kComment = " // ";
  const size_t comment = text.find(kComment);
  if (comment == text.npos) return text;
  const size_t operand = text.rfind(' ', comment - 1) + 1;
  return text.substr(0, operand) + text.substr(comment + kComment.size());
}

}  // namespace

std::string Disassembler::Text(Bytes code, uint64_t address, CodeMode mode) {
  Instruction instruction;
  if (!aarch64::ClassifyAnyForm(code, mode, instruction)) return "(bad)";
  if (llvm_ == nullptr) llvm_ = std::make_unique<LlvmDisassembler>(kLlvmTarget);
  std::string text;
  if (llvm_->Run(code.first(kLength), address, &text) == kLength) return WithoutComment(text);
  std::array<char, 32> word{};
  std::snprintf(word.data(), word.size(), ".inst 0x%08" PRIx32, WordAt(code));
  return word.data();
}

}  // namespace flowback::aarch64
