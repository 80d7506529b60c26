// SPDX-License-Identifier: MIT
#include "replay/debug/values/frame_registers.h"

#include <algorithm>
#include <string_view>

#include "flowback/base/bytes.h"
#include "replay/symbols/frames/frame_expression.h"

namespace flowback {
namespace {

using symbols::FrameRule;
using symbols::FrameRules;
using symbols::kFrameRegisters;

// Registers by DWARF's numbers, and which of them a function must give back as they were.
struct RegisterNumbers {
  std::span<const std::string_view> names;
  uint64_t kept = 0;
  unsigned stack_pointer = 0;
  unsigned address_bytes = 8;
};

constexpr std::array<std::string_view, 17> kNamesX86_64 = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                           "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                           "r12", "r13", "r14", "r15", "rip"};
constexpr std::array<std::string_view, 9> kNamesX86_32 = {"eax", "ecx", "edx", "ebx", "esp",
                                                          "ebp", "esi", "edi", "eip"};
constexpr std::array<std::string_view, 32> kNamesAArch64 = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp"};

constexpr RegisterNumbers kX86_64 = {.names = kNamesX86_64, .kept = 0xf048, .stack_pointer = 7};
constexpr RegisterNumbers kX86_32 = {
    .names = kNamesX86_32, .kept = 0xe8, .stack_pointer = 4, .address_bytes = 4};
constexpr RegisterNumbers kAArch64 = {
    .names = kNamesAArch64, .kept = 0x3ff80000, .stack_pointer = 31};

const RegisterNumbers& NumbersOf(CodeMode mode) {
  if (mode == CodeMode::kAArch64) return kAArch64;
  return mode == CodeMode::kX86_64 ? kX86_64 : kX86_32;
}

// One frame at a thread's moment.
class UnwoundFrame {
 public:
  UnwoundFrame(const MachineThread& thread, ValueSources& values)
      : thread_(thread), values_(values), machine_(NumbersOf(thread.instruction.mode)) {
    for (unsigned reg = 0; reg < machine_.names.size(); ++reg)
      registers_.values[reg] = values.Register(thread, machine_.names[reg]);
  }

  const FrameRegisters& registers() const { return registers_; }

  void FindBegin(const FrameRules& rules) {
    if (!rules.cfa_expression.empty()) {
      registers_.cfa = symbols::Evaluate(rules.cfa_expression, std::nullopt, Input());
    } else if (rules.cfa_register < kFrameRegisters && registers_.values[rules.cfa_register]) {
      registers_.cfa =
          *registers_.values[rules.cfa_register] + static_cast<uint64_t>(rules.cfa_offset);
    }
  }

  // To the frame's caller.
  void Leave(const FrameRules& rules) {
    FrameRegisters caller;
    for (unsigned reg = 0; reg < kFrameRegisters; ++reg)
      caller.values[reg] = ValueOf(rules.registers[reg], reg);
    if (rules.registers[machine_.stack_pointer].kind == FrameRule::Kind::kSame)
      caller.values[machine_.stack_pointer] = registers_.cfa;
    registers_ = caller;
  }

 private:
  std::optional<uint64_t> ValueOf(const FrameRule& rule, unsigned reg) const {
    const auto place = [&]() -> std::optional<uint64_t> {
      if (!registers_.cfa) return std::nullopt;
      return *registers_.cfa + static_cast<uint64_t>(rule.offset);
    };
    switch (rule.kind) {
      case FrameRule::Kind::kSame:  // but what the function need not give back may be anything
        return (machine_.kept >> reg & 1) != 0 ? registers_.values[reg] : std::nullopt;
      case FrameRule::Kind::kAtCfa:
        return place() ? Memory(*place(), machine_.address_bytes) : std::nullopt;
      case FrameRule::Kind::kIsCfa:
        return place();
      case FrameRule::Kind::kRegister: {
        const auto from = static_cast<size_t>(rule.offset);
        return from < kFrameRegisters ? registers_.values[from] : std::nullopt;
      }
      case FrameRule::Kind::kUndefined:
      case FrameRule::Kind::kAtExpression:
      case FrameRule::Kind::kIsExpression:
        return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<uint64_t> Memory(uint64_t address, unsigned width) const {
    const std::vector<uint8_t> bytes = values_.Memory(thread_, address, width);
    if (bytes.size() != width || width > 8) return std::nullopt;
    return LoadLittleEndian(bytes.data(), width);
  }

  symbols::ExpressionInput Input() const {
    return {.register_value =
                [this](unsigned reg) {
                  return reg < kFrameRegisters ? registers_.values[reg] : std::nullopt;
                },
            .memory = [this](uint64_t address, unsigned width) { return Memory(address, width); },
            .address_bytes = machine_.address_bytes};
  }

  const MachineThread& thread_;
  ValueSources& values_;
  const RegisterNumbers& machine_;
  FrameRegisters registers_;
};

}  // namespace

std::optional<FrameRules> FrameUnwinder::RulesAt(const StackFrame& frame) {
  if (frame.space == nullptr || frame.address == 0) return std::nullopt;
  const uint64_t at = frame.is_exact ? frame.address : frame.address - 1;
  const CodeMapping* mapping = frame.space->Find(at);
  if (mapping == nullptr) return std::nullopt;
  auto& table = tables_[mapping->section->name()];
  if (table == nullptr)
    table = std::make_unique<symbols::UnwindTable>(symbols::UnwindTable::Of(*mapping));
  return table->RulesAt(at - mapping->FileBase());
}

FrameRegisters FrameUnwinder::Of(const MachineThread& thread, ValueSources& values,
                                 std::span<const StackFrame> frames, size_t frame) {
  UnwoundFrame at(thread, values);
  for (size_t number = 0; number < frames.size(); ++number) {
    const auto rules = RulesAt(frames[number]);
    if (rules) at.FindBegin(*rules);
    if (number == frame) return at.registers();
    if (!rules || rules->of_signal || frames[number].is_handler) break;
    at.Leave(*rules);
  }
  return {};
}

}  // namespace flowback
