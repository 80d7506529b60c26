// SPDX-License-Identifier: MIT
// Compilers write a switch as a table, in one of these ways:
//
//   lea table(%rip),%rdx; movslq (%rdx,%rax,4),%rax; add %rdx,%rax; jmp *%rax    relative
//   jmp *table(,%rax,8)                                                          absolute
//   mov table@GOTOFF(%ebx,%eax,4),%eax; add %ebx,%eax; jmp *%eax                 32-bit, relative
//   adrp, add: x1, table; ldrb w0,[x1,w0,uxtw]; adr x1, place;                   AArch64, relative
//   add x0,x1,w0,sxtb #2; br x0
//
// and the instructions of a computation need not stand together: the table's address may be taken
// far before a loop. So each register is traced back to what wrote it (register_values.h).
//
// The comparison before a table contains its number of entries. Where that is not found, it ends at
// the latest where an entry does not lead into the function, or to between two instructions of it,
// and where code refers to what lies behind. An entry that is none of these is a place in the
// function only by chance, of some thousands in four thousand millions. With a comparison that
// promises more entries than there are good ones, nothing of the table is believed. Nor is a table
// of differences between labels, as authors of C write them, that goes wrong before what code
// refers to next: any small number is a place in the function then. The same is true of entries
// that have one or two bytes, so their number must be known; beside a comparison that may be how
// large the index can be, a byte or a few bits of a word.
#include "replay/coverage/jump_tables.h"

#include <algorithm>
#include <array>
#include <map>

#include "replay/symbols/elf/split_names.h"
#include "replay/symbols/elf/symbol_file.h"

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
  for (const LinkedRange& section : outline.sections) {
    const Bytes code = flow_.CodeAt(section.begin);
    if (flow_.mode() == CodeMode::kX86_64) NoteX86References(code, section.begin);
    if (flow_.mode() == CodeMode::kAArch64) NoteArmReferences(code, section.begin);
  }
  // No table goes on in another section.
  for (const symbols::FileSection& section : outline.file->sections())
    if ((section.header.sh_flags & SHF_ALLOC) != 0)
      references_.push_back(section.header.sh_addr + section.header.sh_size);
  std::ranges::sort(references_);
}

void JumpTables::NoteX86References(Bytes code, uint64_t begin) {
  constexpr size_t kLeaSize = 7;
  for (size_t at = 0; at + kLeaSize <= code.size(); ++at) {
    const bool is_lea =
        (code[at] & 0xf8) == 0x48 && code[at + 1] == 0x8d && (code[at + 2] & 0xc7) == 5;
    if (!is_lea) continue;
    const auto distance = static_cast<int32_t>(LoadLittleEndian(code.data() + at + 3, 4));
    references_.push_back(begin + at + kLeaSize + static_cast<uint64_t>(int64_t{distance}));
  }
}

// A page taken by ADRP, to which an ADD soon adds the place in it.
void JumpTables::NoteArmReferences(Bytes code, uint64_t begin) {
  struct Page {
    uint64_t address = 0;
    size_t taken_at = 0;
  };
  constexpr size_t kSize = 4;
  constexpr size_t kSoon = 16 * kSize;
  std::array<Page, 32> pages{};
  for (size_t at = 0; at + kSize <= code.size(); at += kSize) {
    const Computation computed = ComputationOf(code.subspan(at), begin + at, flow_.mode());
    const uint8_t base = computed.memory.base;
    if (computed.operation == Operation::kConstant && computed.to < pages.size()) {
      pages[computed.to] = {computed.constant, at};
    } else if (computed.operation == Operation::kAddress && base < pages.size() &&
               computed.memory.index == kNoRegister && pages[base].address != 0 &&
               at - pages[base].taken_at <= kSoon) {
      references_.push_back(pages[base].address + computed.memory.displacement);
    }
  }
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
      (!own->linkage_name.empty() && symbols::MovedFrom(other->linkage_name) == own->linkage_name);
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
      return OfEither({.base = computed.from, .index = computed.to, .scale = 1}, definitions[0]);
    case Operation::kLoad: {
      auto table = OfMemory(computed.memory, definitions[0]);
      if (table) table->width = computed.bits / 8;
      if (table) table->is_signed = computed.is_signed;
      return table;
    }
    case Operation::kAddress:
      if (computed.memory.displacement != 0) return std::nullopt;
      return OfEither(computed.memory, definitions[0]);
    default:
      return std::nullopt;
  }
}

// Either register may be the entry, unless one is changed ahead of the sum.
std::optional<JumpTables::Table> JumpTables::OfEither(const MemoryAddress& sum, uint64_t place) {
  if (auto table = OfSum(sum, place)) return table;
  if (sum.scale != 1 || sum.index_bits != 0) return std::nullopt;
  return OfSum({.base = sum.index, .index = sum.base, .scale = 1}, place);
}

// The index is the entry, and the base what it is relative to.
std::optional<JumpTables::Table> JumpTables::OfSum(const MemoryAddress& sum, uint64_t place) {
  std::optional<uint64_t> constant = values_.Constant(sum.base, place);
  if (!constant && flow_.mode() == CodeMode::kX86_32) constant = global_offsets_;
  if (!constant || *constant == 0) return std::nullopt;
  auto table = OfRegister(sum.index, place, RegisterValues::kDepth);
  if (!table || table->width > 4 || table->base != 0) return std::nullopt;
  table->base = *constant;
  table->scale = sum.scale;
  if (sum.index_bits == 8 * table->width) table->is_signed = sum.index_signed;
  return table;
}

// One of the registers is an index. A single word of memory is no table of one entry, whether or
// not it can be written. In 32-bit code an unknown base counts as the address of the global offset
// table: entries that are good prove it.
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

// The nearest comparison before it of the register that is its index, or that this was copied from,
// before or behind the copy.
std::optional<JumpTables::Bound> JumpTables::BoundOf(const Table& table) {
  const auto by_comparison = [](uint64_t last) -> std::optional<Bound> {
    if (last >= kMostEntries) return std::nullopt;
    return Bound{.entries = last + 1, .is_exact = true};
  };
  std::map<uint8_t, uint64_t> compared;  // other registers
  uint8_t index = table.index;
  uint64_t place = OnlyWayTo(table.load, index);
  for (unsigned i = 0; place != 0 && i < kReachOfBound; ++i, place = OnlyWayTo(place, index)) {
    const Computation& computed = values_.At(place);
    const bool compares = computed.operation == Operation::kCompare;
    if (compares && computed.from == index) return by_comparison(computed.constant);
    if ((computed.writes >> index & 1) != 0) {
      if (computed.operation != Operation::kCopy || computed.to != index)
        return LargestOf(computed, index);
      index = computed.from;
      if (index == kNoRegister) return std::nullopt;
      if (const auto of = compared.find(index); of != compared.end())
        return by_comparison(of->second);
    }
    std::erase_if(compared,
                  [&](const auto& each) { return (computed.writes >> each.first & 1) != 0; });
    if (compares && computed.from != kNoRegister) compared[computed.from] = computed.constant;
  }
  return std::nullopt;
}

// The instruction before it; where control comes by jumps alone, the jump, if it is only one. 0:
// neither. Code does not use a register behind a call that may change it: that call does not come
// back.
uint64_t JumpTables::OnlyWayTo(uint64_t address, uint8_t reg) {
  const uint64_t before = values_.Before(address);
  const InstructionClass kind = flow_.KindAt(before);
  const bool never_comes = (kind == InstructionClass::kCall || IsIndirect(kind)) &&
                           (values_.At(before).writes >> reg & 1) != 0;
  if (before != 0 && !never_comes) return before;
  const auto ways = std::ranges::equal_range(jumps_, address, {}, &CodeFlow::Jump::target);
  return ways.size() == 1 ? ways.front().source : 0;
}

// What the register can be at most, once that was done.
std::optional<JumpTables::Bound> JumpTables::LargestOf(const Computation& computed,
                                                       uint8_t reg) const {
  if (flow_.mode() != CodeMode::kAArch64 || computed.to != reg) return std::nullopt;
  if (computed.operation == Operation::kMask && computed.constant < kMostEntries)
    return Bound{.entries = computed.constant + 1};
  if (computed.operation == Operation::kLoad && computed.bits == 8 && !computed.is_signed)
    return Bound{.entries = 256};
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
  const unsigned above = 64 - 8 * table.width;
  const bool is_signed = table.is_signed || table.width == 4;
  const uint64_t distance =
      is_signed ? static_cast<uint64_t>(static_cast<int64_t>(value << above) >> above) : value;
  return (table.base + distance * table.scale) & TraitsOf(flow_.mode()).address_mask;
}

std::vector<uint64_t> JumpTables::TargetsOf(uint64_t jump) {
  const auto table = OfJump(jump);
  if (!table || table->width == 0 || table->width > 8) return {};
  const auto bound = BoundOf(*table);
  if (!bound && table->width < 4) return {};
  const bool is_exact = bound && bound->is_exact;
  const auto behind = std::ranges::upper_bound(references_, table->address);
  std::vector<uint64_t> targets;
  for (uint64_t i = 0; i < (bound ? bound->entries : kMostEntries); ++i) {
    const uint64_t address = table->address + i * table->width;
    if (!is_exact && behind != references_.end() && address >= *behind) break;
    const auto entry = Entry(*table, i);
    if (entry && IsTarget(jump, *entry)) {
      targets.push_back(*entry);
    } else if (is_exact || (!bound && FunctionAt(table->base) != nullptr)) {
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
