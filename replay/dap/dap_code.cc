// SPDX-License-Identifier: MIT
// What an editor shows of the recording's code: instructions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/hex.h"
#include "decode/instruction/classify.h"
#include "decode/instruction/disassemble.h"
#include "flowback/model/code_mode.h"
#include "replay/dap/dap_server.h"

namespace flowback::dap {
namespace {

constexpr int64_t kMostInstructions = 4096;  // of one request

struct Line {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;  // empty: nothing is known there
};

Line LineAt(const AddressSpace& space, uint64_t address, CodeMode mode) {
  std::array<uint8_t, kLongestInstruction> code;
  const size_t size = space.Read(address, code.data(), code.size());
  Instruction instruction;
  if (size == 0 || !Classify({code.data(), size}, mode, instruction) || instruction.length == 0)
    return {.address = address, .bytes = {}};
  return {.address = address, .bytes = {code.data(), code.data() + instruction.length}};
}

uint64_t LengthOf(const Line& line) { return std::max<uint64_t>(line.bytes.size(), 1); }

// Returns `wanted` instructions before an address. Those before the function are not known.
std::vector<Line> LinesBefore(const AddressSpace& space, const FunctionPiece& piece, uint64_t end,
                              size_t wanted, CodeMode mode) {
  constexpr size_t kMostKept = 4 * size_t{kMostInstructions};
  std::vector<Line> lines;
  if (piece.Holds(end))
    for (uint64_t at = piece.begin; at < end; at += LengthOf(lines.back())) {
      lines.push_back(LineAt(space, at, mode));
      if (lines.size() > kMostKept)
        lines.erase(lines.begin(), lines.end() - static_cast<ptrdiff_t>(wanted + 1));
    }
  if (lines.size() > wanted)
    lines.erase(lines.begin(), lines.end() - static_cast<ptrdiff_t>(wanted));
  while (lines.size() < wanted) {
    const uint64_t first = lines.empty() ? end : lines.front().address;
    lines.insert(lines.begin(), {.address = first - 1, .bytes = {}});
  }
  return lines;
}

std::string BytesText(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{}{:02x}", text.empty() ? "" : " ", byte);
  return text;
}

Json Unknown(const Line& line) {
  return {{"address", Hex(line.address)},
          {"instruction", "(unknown)"},
          {"presentationHint", "invalid"}};
}

}  // namespace

Result<DapServer::Answer> DapServer::Disassemble(const Json& arguments) {
  const std::string reference = TextIn(arguments, "memoryReference");
  const auto given = AddressIn(reference);
  if (!given) return Fail(ErrorCode::kUsage, fmt::format("'{}' is no address", reference));
  const AddressSpace* space = Space();
  if (space == nullptr) return Fail(ErrorCode::kImageMissing, "no code of this process is known");
  ReplayedMachine& machine = opened_->view.machine();
  const CodeMode mode = machine.At(machine.current()).instruction.mode;
  const uint64_t address = *given + static_cast<uint64_t>(NumberIn(arguments, "offset"));
  const int64_t offset =
      std::clamp(NumberIn(arguments, "instructionOffset"), -kMostInstructions, kMostInstructions);
  const auto count = static_cast<size_t>(
      std::clamp<int64_t>(NumberIn(arguments, "instructionCount"), 0, kMostInstructions));
  const auto before = static_cast<size_t>(std::max<int64_t>(-offset, 0));
  const auto skipped = static_cast<size_t>(std::max<int64_t>(offset, 0));
  std::vector<Line> lines = LinesBefore(
      *space, opened_->view.session().functions().Find(space, address), address, before, mode);
  for (uint64_t next = address; lines.size() < skipped + count; next += LengthOf(lines.back()))
    lines.push_back(LineAt(*space, next, mode));
  Disassembler disassembler;
  Json told = Json::array();
  for (size_t i = skipped; i < skipped + count; ++i) {
    const Line& line = lines[i];
    const std::string text =
        disassembler.Text({line.bytes.data(), line.bytes.size()}, line.address, mode);
    told.push_back(line.bytes.empty() ? Unknown(line) : InstructionOf(*space, line.address, text));
    if (!line.bytes.empty()) told.back()["instructionBytes"] = BytesText(line.bytes);
  }
  return Answer{.body = {{"instructions", std::move(told)}}};
}

Json DapServer::InstructionOf(const AddressSpace& space, uint64_t address,
                              const std::string& text) {
  Json told = {{"address", Hex(address)}, {"instruction", text}};
  Session& session = opened_->view.session();
  const auto symbol = session.symbols().Find(space, address);
  if (symbol && symbol->offset == 0) told["symbol"] = symbol->name;
  const SourcePlace place = session.lines().Find(space, address);
  if (!place.known()) return told;
  told["line"] = static_cast<int64_t>(place.frames.front().line) - (lines_from_1_ ? 0 : 1);
  told["location"] = SourceOf(place.frames.front().file);
  return told;
}

}  // namespace flowback::dap
