// SPDX-License-Identifier: MIT
#include "replay/crash/dump/fault.h"

#include <algorithm>

#include "decode/instruction/effects.h"
#include "decode/instruction/step_value.h"
#include "replay/debug/values/end_core.h"
#include "replay/debug/values/past_values.h"

namespace flowback {
namespace {

bool IsStore(StepKind kind) {
  return kind == StepKind::kStore || kind == StepKind::kStoreIf || kind == StepKind::kStoreTry;
}

class AccessReader {
 public:
  AccessReader(const InstructionEffects& effects, CodeMode mode, std::optional<uint64_t> failed,
               const EndCore* core, int32_t tid)
      : effects_(effects),
        mode_(mode),
        names_(GeneralRegisters(mode)),
        failed_(failed),
        core_(core != nullptr && core->mode() == mode ? core : nullptr),
        tid_(tid) {}

  FaultAccess Read() {
    const MachineStep* const failed = FindFailed();
    if (failed != nullptr) {
      access_.is_store = IsStore(failed->kind);
      access_.is_stack = IsStackPointer(SourceOf(failed->memory.base));
      access_.address = AddressOf(failed->memory);
      AddAddress(SourceOf(failed->memory));
    }
    for (const MachineStep& step : effects_.steps)
      for (const StepOperand* operand :
           {&step.a, &step.b, &step.c, &step.memory.base, &step.memory.index})
        if (IsGeneral(*operand)) Add(operand->number, false);
    return std::move(access_);
  }

 private:
  bool IsGeneral(const StepOperand& operand) const {
    return operand.kind == StepOperand::Kind::kRegister && operand.number < names_.size();
  }
  bool IsStackPointer(const StepOperand& operand) const {
    if (!IsGeneral(operand)) return false;
    if (mode_ == CodeMode::kAArch64)
      return operand.number == step_register::kAArch64StackPointer ||
             operand.number == step_register::kAArch64FramePointer;
    return operand.number == step_register::kX86StackPointer ||
           operand.number == step_register::kX86FramePointer;
  }
  std::optional<uint64_t> RegisterValue(const StepOperand& operand) const {
    if (core_ == nullptr) return std::nullopt;
    if (operand.number == step_register::kFsBase) return core_->Register(tid_, "fs_base");
    if (operand.number == step_register::kGsBase) return core_->Register(tid_, "gs_base");
    return IsGeneral(operand) ? core_->Register(tid_, names_[operand.number]) : std::nullopt;
  }
  // An instruction of AArch64 copies its base first where it changes it.
  StepOperand SourceOf(const StepOperand& operand) const {
    if (operand.kind != StepOperand::Kind::kRegister || operand.number < step_register::kTemporary)
      return operand;
    const auto copy = std::ranges::find_if(effects_.steps, [&](const MachineStep& step) {
      return step.kind == StepKind::kCompute && step.operation == StepOperation::kCopy &&
             step.to.kind == StepOperand::Kind::kRegister && step.to.number == operand.number;
    });
    return copy == effects_.steps.end() ? operand : copy->a;
  }
  StepAddress SourceOf(StepAddress memory) const {
    memory.base = SourceOf(memory.base);
    memory.index = SourceOf(memory.index);
    return memory;
  }
  std::optional<uint64_t> AddressOf(const StepAddress& memory) const {
    const auto value = [this](const StepOperand& operand) { return RegisterValue(operand); };
    const auto address = StepAddressValue(SourceOf(memory), value);
    return address ? std::optional(*address & TraitsOf(mode_).address_mask) : std::nullopt;
  }

  // Returns the step whose access failed, by its address if that is known, else the first one.
  const MachineStep* FindFailed() const {
    const MachineStep* first = nullptr;
    for (const MachineStep& step : effects_.steps) {
      if (step.kind != StepKind::kLoad && !IsStore(step.kind)) continue;
      if (first == nullptr) first = &step;
      const auto address = AddressOf(step.memory);
      const uint64_t bytes = std::max<uint64_t>(step.bits, 1);
      if (failed_ && address && *failed_ - *address < bytes) return &step;
    }
    return first;
  }

  void AddAddress(const StepAddress& memory) {
    if (IsGeneral(memory.base)) access_.culprit = Add(memory.base.number, true);
    if (!IsGeneral(memory.index)) return;
    const size_t index = Add(memory.index.number, true);
    if (!access_.culprit || IsLikelier(index, *access_.culprit)) access_.culprit = index;
  }
  // Two registers make the bad address. The one that is no pointer is to blame; if the base is a
  // pointer, it is the index.
  bool IsLikelier(size_t index, size_t base) const {
    const auto& value = access_.operands[base].value;
    constexpr uint64_t kLeastPointer = 0x10000;
    return access_.operands[index].value.has_value() && value && *value >= kLeastPointer;
  }
  size_t Add(uint8_t number, bool is_address) {
    const std::string_view name = names_[number];
    const auto known = std::ranges::find(access_.operands, name, &FaultOperand::name);
    if (known != access_.operands.end())
      return static_cast<size_t>(known - access_.operands.begin());
    access_.operands.push_back(
        {.name = name,
         .value = core_ == nullptr ? std::nullopt : core_->Register(tid_, name),
         .is_address = is_address});
    return access_.operands.size() - 1;
  }

  const InstructionEffects& effects_;
  const CodeMode mode_;
  const std::span<const std::string_view> names_;
  const std::optional<uint64_t> failed_;
  const EndCore* core_;
  const int32_t tid_;
  FaultAccess access_;
};

}  // namespace

std::optional<FaultAccess> AccessOf(Bytes code, uint64_t address, CodeMode mode,
                                    std::optional<uint64_t> failed, const EndCore* core,
                                    int32_t tid) {
  InstructionEffects effects;
  if (GeneralRegisters(mode).empty() || !EffectsOf(code, address, mode, effects))
    return std::nullopt;
  return AccessReader(effects, mode, failed, core, tid).Read();
}

}  // namespace flowback
