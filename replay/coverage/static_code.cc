// SPDX-License-Identifier: MIT
#include "flowback/replay/static_code.h"

#include <algorithm>

#include "replay/coverage/static_code_builder.h"

namespace flowback {

Result<StaticCode> StaticCode::Of(const ObjectImage& image, const ImageSearch& search,
                                  std::span<const uint64_t> executed) {
  CodeOutline outline = CodeOutline::Of(image, search);
  if (outline.sections.empty())
    return Fail(Error(ErrorCode::kUnreadable, image.file() + ": has no code that could be read")
                    .Remedy("name the program or library that was run"));
  return StaticCodeBuilder(image, std::move(outline)).Build(executed);
}

const StaticFunction* StaticCode::FunctionAt(uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &StaticFunction::begin);
  if (after == functions_.begin() || address >= after[-1].end) return nullptr;
  return &after[-1];
}

const StaticInstruction* StaticCode::InstructionAt(uint64_t address) const {
  const auto found =
      std::ranges::lower_bound(instructions_, address, {}, &StaticInstruction::address);
  return found == instructions_.end() || found->address != address ? nullptr : &*found;
}

}  // namespace flowback
