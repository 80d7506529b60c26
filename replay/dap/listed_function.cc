// SPDX-License-Identifier: MIT
#include "replay/dap/listed_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/path_text.h"
#include "decode/instruction/classify.h"
#include "decode/instruction/disassemble.h"
#include "flowback/model/code_mode.h"

namespace flowback::dap {
namespace {

// "; queue.cc:12" behind the first instruction of a line.
std::string LineNote(Session& session, const AddressSpace& space, uint64_t address,
                     uint32_t& last) {
  const SourcePlace place = session.lines().Find(space, address);
  if (!place.known() || place.frames.front().line == last) return {};
  last = place.frames.front().line;
  return fmt::format("  ; {}:{}", LastPart(place.frames.front().file), last);
}

}  // namespace

ListedFunction ListedFunction::At(Session& session, const AddressSpace& space, uint64_t address,
                                  CodeMode mode) {
  ListedFunction listed;
  const FunctionPiece piece = session.functions().Find(&space, address);
  if (!piece.Holds(address)) return listed;
  if (const auto symbol = session.symbols().Find(space, piece.begin)) listed.name_ = symbol->name;
  Disassembler disassembler;
  uint32_t line = 0;
  for (uint64_t at = piece.begin; at < piece.end && listed.addresses_.size() < kMostLines;) {
    std::array<uint8_t, kLongestInstruction> code;
    const size_t size = space.Read(at, code.data(), code.size());
    Instruction instruction;
    const bool is_known =
        size != 0 && Classify({code.data(), size}, mode, instruction) && instruction.length != 0;
    const size_t length = is_known ? instruction.length : 1;
    listed.text_ +=
        fmt::format("{:#x} <+{}>  {}{}\n", at, at - piece.begin,
                    is_known ? disassembler.Text({code.data(), length}, at, mode) : "(unknown)",
                    LineNote(session, space, at, line));
    listed.addresses_.push_back(at);
    at += length;
    listed.end_ = at;
  }
  return listed;
}

std::optional<uint32_t> ListedFunction::LineOf(uint64_t address) const {
  if (address < begin() || address >= end_) return std::nullopt;
  const auto behind = std::ranges::upper_bound(addresses_, address);
  return static_cast<uint32_t>(behind - addresses_.begin());
}

std::optional<uint64_t> ListedFunction::AddressOf(uint32_t line) const {
  if (line == 0 || line > addresses_.size()) return std::nullopt;
  return addresses_[line - 1];
}

}  // namespace flowback::dap
