// SPDX-License-Identifier: MIT
#include "replay/coverage/report/instruction_lines.h"

#include <algorithm>

namespace flowback {

bool LeadsToFunction(const StaticCode& code, const StaticInstruction& at) {
  if (at.kind == InstructionClass::kCall) return true;
  if (at.kind != InstructionClass::kJump && at.kind != InstructionClass::kConditional) return false;
  return code.FunctionAt(at.target) != code.FunctionAt(at.address);
}

std::string TextOfInstruction(Disassembler& disassembler, const ObjectImage& image,
                              const StaticInstruction& at) {
  uint8_t bytes[16] = {};
  const size_t size =
      image.space().Read(at.address, bytes, std::min<size_t>(at.length, sizeof bytes));
  return disassembler.Text({bytes, size}, at.address, image.mode());
}

void ForEachInstruction(const ObjectCoverage& object, const FunctionCoverage& function,
                        const std::function<void(const InstructionLine& line)>& visit) {
  Disassembler disassembler;
  const StaticFunction& code = object.Code(function);
  const auto blocks = object.code->blocks().subspan(code.first_block, code.block_count);
  for (const auto& block : blocks)
    for (uint32_t i = block.first; i < block.first + block.count; ++i) {
      const StaticInstruction& at = object.code->instructions()[i];
      InstructionLine line{.address = at.address,
                           .times = object.times[i],
                           .state = object.StateOf(object.times[i], i),
                           .text = {},
                           .leads_to = {},
                           .at = object.places[i]};
      line.scope = object.scopes[i];
      line.may_be_unseen = object.unknown[i];
      line.is_inlined = object.inlined[i];
      if (at.kind == InstructionClass::kJump || at.kind == InstructionClass::kConditional)
        line.target = at.target;
      line.text = TextOfInstruction(disassembler, *object.image, at);
      const StaticFunction* target =
          LeadsToFunction(*object.code, at) ? object.code->FunctionAt(at.target) : nullptr;
      if (target != nullptr && target->begin == at.target) line.leads_to = target->name;
      const auto branch =
          std::ranges::lower_bound(object.branches, at.address, {}, &BranchCoverage::address);
      if (branch != object.branches.end() && branch->address == at.address) line.branch = &*branch;
      visit(line);
    }
}

}  // namespace flowback
