// SPDX-License-Identifier: MIT
// Frame by frame: the table of the file at the program counter says where the frame begins and
// where the caller's registers are, which then are those of the next frame. Where the file has no
// table for the code, the code itself may say so (replay/symbols/frames/frame_scan.h).
#include "replay/calls/unwind/stack_unwinder.h"

#include <array>
#include <bit>
#include <optional>
#include <string>
#include <unordered_map>

#include "replay/calls/unwind/behind_call.h"
#include "replay/calls/unwind/signal_frames.h"
#include "replay/symbols/elf/elf_symbols.h"
#include "replay/symbols/elf/split_names.h"
#include "replay/symbols/frames/frame_expression.h"
#include "replay/symbols/frames/frame_scan.h"
#include "replay/symbols/frames/unwind_table.h"

namespace flowback {
namespace {

using symbols::FrameRule;
using symbols::FrameRules;
using symbols::kFrameRegisters;
using End = UnwoundStack::End;

constexpr size_t kMostFrames = 2048;
// Bytes of a function without a table that are looked at: before a place, and behind it, where
// loops may lead back from; of one whose begin is not known, before a place.
constexpr uint64_t kMostCode = 1 << 16;
constexpr uint64_t kMostAhead = 1 << 12;
constexpr uint64_t kMostBehind = 1 << 10;
constexpr uint64_t kLeastBehind = 1 << 4;

// How the kernel numbers a machine's registers, and how DWARF does.
struct Machine {
  std::array<int8_t, kFrameRegisters> by_kernels_number{};  // DWARF's number; -1: not followed
  unsigned stack_pointer = 0;
  unsigned kernels_counter = 0;  // the kernel's number of the program counter
  unsigned address_bytes = 8;
  uint64_t address_mask = ~uint64_t{0};
};

constexpr Machine kX86_64 = {
    //                     ax bx cx dx si di bp sp  ip, flags, segments
    .by_kernels_number = {0, 3,  2,  1,  4,  5,  6,  7,  -1, -1, -1, -1, -1, -1, -1, -1, 8,
                          9, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1},
    .stack_pointer = 7,
    .kernels_counter = 8};
constexpr Machine kX86_32 = {
    .by_kernels_number = {0,  3,  1,  2,  6,  7,  5,  4,  -1, -1, -1, -1, -1, -1, -1, -1, -1,
                          -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
    .stack_pointer = 4,
    .kernels_counter = 8,
    .address_bytes = 4,
    .address_mask = 0xffffffff};
constexpr Machine kAArch64 = {
    .by_kernels_number = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                          17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, -1},
    .stack_pointer = 31,
    .kernels_counter = 32};

const Machine& MachineOf(CodeMode mode, const StackCopy& copy) {
  if (mode == CodeMode::kAArch64) return kAArch64;
  return copy.of_32_bit || mode == CodeMode::kX86_32 ? kX86_32 : kX86_64;
}

using Registers = std::array<std::optional<uint64_t>, kFrameRegisters>;

// The bits of a signed address that are no address.
uint64_t WithoutSignature(uint64_t address) { return address & ((uint64_t{1} << 48) - 1); }

}  // namespace

class StackUnwinder::Impl {
 public:
  explicit Impl(CodeMode mode) : mode_(mode) {}

  UnwoundStack Unwind(const StackCopy& copy, const AddressSpace& space, const WholeMemory* whole) {
    whole_ = whole;
    copy_ = &copy;
    space_ = &space;
    machine_ = &MachineOf(mode_, copy);
    UnwoundStack stack;
    if (!ReadRegisters()) return stack;
    bool is_exact = true;
    const size_t most = whole == nullptr ? kMostFrames : whole->most_frames;
    while (stack.addresses.size() < most) {
      stack.addresses.push_back(counter_);
      stack.exact.push_back(is_exact);
      stack.where = counter_;
      if (const auto left = LeaveHandler()) {
        if (!*left) return Ended(stack, End::kCopyEnds);
        is_exact = true;
        continue;
      }
      const auto rules = RulesAt(counter_ - (is_exact ? 0 : 1));
      if (!rules) return Ended(stack, End::kNoTable);
      if (const auto end = Leave(*rules)) return Ended(stack, *end);
      is_exact = rules->of_signal;
    }
    return Ended(stack, End::kTooDeep);
  }

 private:
  static UnwoundStack& Ended(UnwoundStack& stack, End end) {
    stack.end = end;
    return stack;
  }

  // The words of the sample are those of the mask's bits, from the lowest on.
  bool ReadRegisters() {
    registers_ = {};
    bool has_counter = false;
    size_t word = 0;
    for (unsigned number = 0; number < 64 && word < copy_->registers.size(); ++number) {
      if ((copy_->mask >> number & 1) == 0) continue;
      const uint64_t value = copy_->registers[word++] & machine_->address_mask;
      if (number == machine_->kernels_counter) {
        counter_ = value;
        has_counter = true;
      }
      if (number >= kFrameRegisters || machine_->by_kernels_number[number] < 0) continue;
      registers_[static_cast<size_t>(machine_->by_kernels_number[number])] = value;
    }
    begin_ = registers_[machine_->stack_pointer].value_or(0);
    return has_counter && begin_ != 0;
  }

  struct File {
    explicit File(symbols::UnwindTable its_table) : table(std::move(its_table)) {}

    // Reads the symbols when code without a table is met first, which most files lack.
    std::optional<symbols::ElfSymbols::Hit> FindSymbol(uint64_t offset) {
      if (!symbols) {
        symbols.emplace();
        if (table.file() != nullptr) *symbols = symbols::ElfSymbols::Read(*table.file(), nullptr);
      }
      return symbols->Find(offset);
    }

    symbols::UnwindTable table;
    std::optional<symbols::ElfSymbols> symbols;
  };

  std::optional<FrameRules> RulesAt(uint64_t address) {
    const CodeMapping* mapping = space_->Find(address);
    if (mapping == nullptr) return std::nullopt;
    auto& file = files_[mapping->section->name()];
    if (file == nullptr) file = std::make_unique<File>(symbols::UnwindTable::Of(*mapping));
    const uint64_t offset = address - mapping->FileBase();
    if (auto rules = file->table.RulesAt(offset)) return rules;
    return RulesOfCode(address, file->FindSymbol(offset));
  }

  // Returns the rules of code without a table. A symbol may say where its function begins.
  std::optional<FrameRules> RulesOfCode(uint64_t address,
                                        const std::optional<symbols::ElfSymbols::Hit>& symbol) {
    const CodeMode mode = Mode();
    // Code that was moved away from its function is not called, and begins with a frame.
    const bool is_moved = symbol && !symbols::MovedFrom(symbol->name).empty();
    if (symbol && symbol->is_function && !is_moved && symbol->offset < kMostCode) {
      const uint64_t begin = address - symbol->offset;
      return symbols::RulesFromBegin(Read(begin, symbol->offset + kMostAhead), symbol->offset,
                                     mode);
    }
    for (uint64_t size = kMostBehind; size >= kLeastBehind; size /= 2)
      if (const Bytes code = Read(counter_ - size, size); code.size() == size)
        return symbols::RulesFromFramePointer(code, mode);
    return std::nullopt;
  }
  // Valid until the next call.
  Bytes Read(uint64_t address, size_t size) {
    code_.resize(size);
    return Bytes(code_.data(), space_->Read(address, code_.data(), size));
  }

  CodeMode Mode() const { return machine_ == &kX86_32 ? CodeMode::kX86_32 : mode_; }
  // Makes the registers those of what a handler interrupted, if it returns here. Empty: it does
  // not. False: they are not in the copy.
  std::optional<bool> LeaveHandler() {
    const auto memory = [this](uint64_t address, unsigned size) { return Memory(address, size); };
    const auto [is_there, interrupted] =
        SignalReturnAt(Mode(), counter_, registers_[machine_->stack_pointer], memory);
    if (!is_there) return std::nullopt;
    if (!interrupted || !interrupted->registers[machine_->stack_pointer]) return false;
    registers_ = interrupted->registers;
    counter_ = interrupted->counter;
    return true;
  }

  // Makes the registers those of the caller. Empty: it did.
  std::optional<End> Leave(const FrameRules& rules) {
    const unsigned return_register = rules.return_register;
    if (rules.registers[return_register].kind == FrameRule::Kind::kUndefined)
      return End::kOutermost;
    const auto cfa = CfaOf(rules);
    if (!cfa) return End::kCopyEnds;
    Registers caller = registers_;
    for (unsigned reg = 0; reg < kFrameRegisters; ++reg)
      caller[reg] = ValueOf(rules.registers[reg], reg, *cfa);
    // x86's table has a number for the program counter alone; no frame but a new one's has it.
    const auto back = caller[return_register];
    if (!back) return End::kCopyEnds;
    const bool keeps_pointer =
        rules.registers[machine_->stack_pointer].kind == FrameRule::Kind::kSame;
    if (keeps_pointer) caller[machine_->stack_pointer] = *cfa & machine_->address_mask;
    const uint64_t counter = rules.is_signed ? WithoutSignature(*back) : *back;
    if (counter == 0) return End::kOutermost;
    if (rules.from_code && !IsBehindCall(*space_, counter & machine_->address_mask, mode_))
      return End::kNoTable;
    const bool goes_on = caller[machine_->stack_pointer] > registers_[machine_->stack_pointer] ||
                         counter != counter_;
    if (!goes_on) return End::kTooDeep;
    registers_ = caller;
    counter_ = counter & machine_->address_mask;
    return std::nullopt;
  }

  std::optional<uint64_t> CfaOf(const FrameRules& rules) const {
    if (!rules.cfa_expression.empty())
      return symbols::Evaluate(rules.cfa_expression, std::nullopt, Input());
    const auto base = Register(rules.cfa_register);
    if (!base) return std::nullopt;
    return *base + static_cast<uint64_t>(rules.cfa_offset);
  }

  std::optional<uint64_t> ValueOf(const FrameRule& rule, unsigned reg, uint64_t cfa) const {
    const uint64_t place = cfa + static_cast<uint64_t>(rule.offset);
    switch (rule.kind) {
      case FrameRule::Kind::kSame:
        return registers_[reg];
      case FrameRule::Kind::kUndefined:
        return std::nullopt;
      case FrameRule::Kind::kAtCfa:
        return Memory(place, machine_->address_bytes);
      case FrameRule::Kind::kIsCfa:
        return place;
      case FrameRule::Kind::kRegister:
        return Register(static_cast<unsigned>(rule.offset));
      case FrameRule::Kind::kIsExpression:
        return symbols::Evaluate(rule.expression, cfa, Input());
      case FrameRule::Kind::kAtExpression: {
        const auto address = symbols::Evaluate(rule.expression, cfa, Input());
        return address ? Memory(*address, machine_->address_bytes) : std::nullopt;
      }
    }
    return std::nullopt;
  }

  symbols::ExpressionInput Input() const {
    return {.register_value = [this](unsigned reg) { return Register(reg); },
            .memory = [this](uint64_t address, unsigned width) { return Memory(address, width); },
            .address_bytes = machine_->address_bytes};
  }
  // A procedure linkage table's expression asks for the program counter by its number, 16.
  std::optional<uint64_t> Register(unsigned reg) const {
    if (machine_ == &kX86_64 && reg == 16) return counter_;
    if (machine_ == &kX86_32 && reg == 8) return counter_;
    return reg < kFrameRegisters ? registers_[reg] : std::nullopt;
  }
  // From the copy, which begins at the stack pointer, from the whole memory, or of a file.
  std::optional<uint64_t> Memory(uint64_t address, unsigned width) const {
    address &= machine_->address_mask;
    const uint64_t at = address - begin_;
    const Bytes& copy = copy_->memory;
    if (at < copy.size() && copy.size() - at >= width)
      return LoadLittleEndian(copy.data() + at, width);
    std::array<uint8_t, 8> bytes{};
    const size_t read = whole_ != nullptr ? whole_->read(address, std::span(bytes).first(width))
                                          : space_->Read(address, bytes.data(), width);
    if (read != width) return std::nullopt;
    return LoadLittleEndian(bytes.data(), width);
  }

  const CodeMode mode_;
  std::unordered_map<std::string, std::unique_ptr<File>> files_;  // by name
  std::vector<uint8_t> code_;                                     // that was read last
  // The current stack.
  const StackCopy* copy_ = nullptr;
  const AddressSpace* space_ = nullptr;
  const WholeMemory* whole_ = nullptr;
  const Machine* machine_ = nullptr;
  Registers registers_;
  uint64_t counter_ = 0;
  uint64_t begin_ = 0;  // the copy's first address
};

StackUnwinder::StackUnwinder(CodeMode mode) : impl_(std::make_unique<Impl>(mode)) {}
StackUnwinder::~StackUnwinder() = default;

UnwoundStack StackUnwinder::Unwind(const StackCopy& copy, const AddressSpace& space) {
  return impl_->Unwind(copy, space, nullptr);
}

UnwoundStack StackUnwinder::Unwind(const StackCopy& copy, const AddressSpace& space,
                                   const WholeMemory& memory) {
  return impl_->Unwind(copy, space, &memory);
}

}  // namespace flowback
