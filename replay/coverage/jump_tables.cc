// SPDX-License-Identifier: MIT
// Compilers write a switch as a table, in one of these ways:
//
//   lea table(%rip),%rdx; movslq (%rdx,%rax,4),%rax; add %rdx,%rax; jmp *%rax    relative
//   jmp *table(,%rax,8)                                                          absolute
//   mov table@GOTOFF(%ebx,%eax,4),%eax; add %ebx,%eax; jmp *%eax                 32-bit, relative
//
// and what is computed need not stand together: the table's address may be taken far before a loop.
// So each register is traced back to what wrote it (register_values.h).
//
// How many entries a table has tells the comparison before it. Where that is not found, it ends at
// the latest where an entry does not lead into the function, or to between two instructions of it,
// and where code refers to what lies behind. An entry that is none of these is a place in the
// function only by chance, of some thousands in four thousand millions. With a comparison that
// promises more entries than there are good ones, nothing of the table is believed. Nor is a table
// of differences between labels, as authors of C write them, that goes wrong before what code
// refers to next: any small number is a place in the function then.
#include "replay/coverage/jump_tables.h"

#include <algorithm>

#include "replay/symbols/symbol_file.h"

namespace flowback {
namespace {

constexpr uint64_t kMostEntries = 1 << 16;
constexpr unsigned kReachOfBound = 24;  // instructions back to the comparison

std::vector<CodeFlow::Jump> SortedJumps(const CodeFlow& flow) {
  std::vector<CodeFlow::Jump> jumps = flow.jumps();
  std::ranges::sort(jumps);
  return jumps;
}

uint64_t GlobalOffsets(const symbols::SymbolFile& file) {
  for (const char* name : {".got.plt", ".got"})
    if (const symbols::FileSection* section = file.Find(name)) return section->header.sh_addr;
  return 0;
}

}  // namespace

JumpTables::JumpTables(const CodeFlow& flow, const CodeOutline& outline)
    : flow_(flow),
      outline_(outline),
      jumps_(SortedJumps(flow)),
      global_offsets_(flow.mode() == CodeMode::kX86_32 ? GlobalOffsets(*outline.file) : 0),
      values_(flow_, jumps_, global_offsets_),
      pointers_(outline.file->LoadedPointers()) {
  NoteReferences(outline);
}

// LEA relative to the instruction: REX.W 8D, ModRM without base. Also where no instruction is known
// yet: a table that only the code of another table's entries uses ends that one.
void JumpTables::NoteReferences(const CodeOutline& outline) {
  constexpr size_t kLeaSize = 7;
  if (flow_.mode() != CodeMode::kX86_64) return;
  for (const LinkedRange& section : outline.sections) {
    const Bytes code = flow_.CodeAt(section.begin);
    for (size_t at = 0; at + kLeaSize <= code.size(); ++at) {
      const bool is_lea =
          (code[at] & 0xf8) == 0x48 && code[at + 1] == 0x8d && (code[at + 2] & 0xc7) == 5;
      if (!is_lea) continue;
      const auto distance = static_cast<int32_t>(LoadLittleEndian(code.data() + at + 3, 4));
      references_.push_back(section.begin + at + kLeaSize +
                            static_cast<uint64_t>(int64_t{distance}));
    }
  }
  std::ranges::sort(references_);
}

const StaticFunction* JumpTables::FunctionAt(uint64_t address) const {
  const auto after =
      std::ranges::upper_bound(outline_.functions, address, {}, &StaticFunction::begin);
  if (after == outline_.functions.begin() || address >= after[-1].end) return nullptr;
  return &after[-1];
}

// In the same function, or in the part of it that was moved away: without symbols, in any function
// that has no name.
bool JumpTables::IsTarget(uint64_t jump, uint64_t target) const {
  const StaticFunction* own = FunctionAt(jump);
  const StaticFunction* other = FunctionAt(target);
  if (own == nullptr || other == nullptr) return false;
  const bool same =
      own->whole == other->whole || other->linkage_name.empty() ||
      (!own->linkage_name.empty() && other->linkage_name.starts_with(own->linkage_name + ".cold"));
  if (!same) return false;
  if (flow_.IsInstruction(target)) return true;
  for (unsigned back = 1; back < kLongestInstruction && back <= target; ++back)
    if (flow_.LengthAt(target - back) > back) return false;
  return true;
}

bool JumpTables::IsThroughPointer(uint64_t jump) {
  const Computation& computed = values_.At(jump);
  return computed.operation == Operation::kJump && computed.from == kNoRegister &&
         computed.memory.base == kNoRegister && computed.memory.index == kNoRegister;
}

std::optional<JumpTables::Table> JumpTables::OfJump(uint64_t jump) {
  const Computation computed = values_.At(jump);
  if (computed.operation != Operation::kJump) return std::nullopt;
  if (computed.from != kNoRegister) return OfRegister(computed.from, jump, RegisterValues::kDepth);
  auto table = OfMemory(computed.memory, jump);
  if (table) table->width = TraitsOf(flow_.mode()).bits / 8;
  return table;
}

// The register holds an entry of a table, or the sum of one and what it is relative to.
std::optional<JumpTables::Table> JumpTables::OfRegister(uint8_t reg, uint64_t place,
                                                        unsigned depth) {
  const std::vector<uint64_t> definitions = values_.Definitions(reg, place);
  if (definitions.size() != 1 || depth == 0) return std::nullopt;
  const Computation computed = values_.At(definitions[0]);
  if (computed.to != reg) return std::nullopt;
  switch (computed.operation) {
    case Operation::kCopy:
      return OfRegister(computed.from, definitions[0], depth - 1);
    case Operation::kAdd:
      if (auto table = OfSum(computed.to, computed.from, definitions[0])) return table;
      return OfSum(computed.from, computed.to, definitions[0]);
    case Operation::kLoad: {
      auto table = OfMemory(computed.memory, definitions[0]);
      if (table) table->width = computed.bits / 8;
      return table;
    }
    case Operation::kAddress: {
      const MemoryAddress& sum = computed.memory;
      if (sum.scale != 1 || sum.displacement != 0) return std::nullopt;
      if (auto table = OfSum(sum.base, sum.index, definitions[0])) return table;
      return OfSum(sum.index, sum.base, definitions[0]);
    }
    default:
      return std::nullopt;
  }
}

std::optional<JumpTables::Table> JumpTables::OfSum(uint8_t entry, uint8_t base, uint64_t place) {
  std::optional<uint64_t> constant = values_.Constant(base, place);
  if (!constant && flow_.mode() == CodeMode::kX86_32) constant = global_offsets_;
  if (!constant || *constant == 0) return std::nullopt;
  auto table = OfRegister(entry, place, RegisterValues::kDepth);
  if (!table || table->width != 4 || table->base != 0) return std::nullopt;
  table->base = *constant;
  return table;
}

// One of the registers is an index. A single word of memory, whoever may write it, is no table of
// one entry. In 32-bit code a base of which nothing is known is taken for the address of the global
// offset table: entries that are good prove it.
std::optional<JumpTables::Table> JumpTables::OfMemory(const MemoryAddress& memory, uint64_t place) {
  Table table{.address = memory.displacement, .load = place, .index = memory.index};
  if (memory.index == kNoRegister) return std::nullopt;
  if (memory.base == kNoRegister) return table;
  if (auto base = values_.Constant(memory.base, place)) {
    table.address += *base;
  } else if (auto index = memory.scale == 1 ? values_.Constant(memory.index, place)
                                            : std::optional<uint64_t>()) {
    table.address += *index;
    table.index = memory.base;
  } else if (flow_.mode() == CodeMode::kX86_32) {
    table.address += global_offsets_;
  } else {
    return std::nullopt;
  }
  table.address &= TraitsOf(flow_.mode()).address_mask;
  return table;
}

// The nearest comparison before it of the register that is its index, or that this was copied from.
std::optional<uint64_t> JumpTables::Bound(const Table& table) {
  uint8_t index = table.index;
  uint64_t place = values_.Before(table.load);
  for (unsigned i = 0; place != 0 && i < kReachOfBound; ++i, place = values_.Before(place)) {
    const Computation& computed = values_.At(place);
    if (computed.operation == Operation::kCompare && computed.from == index)
      return computed.constant < kMostEntries ? std::optional(computed.constant + 1) : std::nullopt;
    if ((computed.writes >> index & 1) == 0) continue;
    if (computed.operation != Operation::kCopy || computed.to != index) return std::nullopt;
    index = computed.from;
    if (index == kNoRegister) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<uint64_t> JumpTables::Entry(const Table& table, uint64_t number) const {
  const uint64_t address = table.address + number * table.width;
  if (table.width == 8) {
    const auto pointer = std::ranges::lower_bound(pointers_, std::pair(address, uint64_t{0}));
    if (pointer != pointers_.end() && pointer->first == address) return pointer->second;
  }
  const auto offset = outline_.file->FileOffset(address);
  const Bytes bytes = offset ? Slice(outline_.file->bytes(), *offset, table.width) : Bytes();
  if (bytes.size() != table.width) return std::nullopt;
  const uint64_t value = LoadLittleEndian(bytes.data(), table.width);
  if (table.base == 0) return value;
  const auto distance = static_cast<int32_t>(value);
  return (table.base + static_cast<uint64_t>(int64_t{distance})) &
         TraitsOf(flow_.mode()).address_mask;
}

std::vector<uint64_t> JumpTables::TargetsOf(uint64_t jump) {
  const auto table = OfJump(jump);
  if (!table || (table->width != 4 && table->width != 8)) return {};
  const auto bound = Bound(*table);
  const auto behind = std::ranges::upper_bound(references_, table->address);
  std::vector<uint64_t> targets;
  for (uint64_t i = 0; i < bound.value_or(kMostEntries); ++i) {
    const uint64_t address = table->address + i * table->width;
    if (!bound && behind != references_.end() && address >= *behind) break;
    const auto entry = Entry(*table, i);
    if (entry && IsTarget(jump, *entry)) {
      targets.push_back(*entry);
    } else if (bound || FunctionAt(table->base) != nullptr) {
      return {};
    } else {
      break;
    }
  }
  std::ranges::sort(targets);
  const auto same = std::ranges::unique(targets);
  targets.erase(same.begin(), same.end());
  return targets;
}

}  // namespace flowback
