// SPDX-License-Identifier: MIT
#include "decode/instruction/stack_use.h"

#include "decode/instruction/aarch64/stack_use.h"
#include "decode/instruction/x86/stack_use.h"

namespace flowback {

StackUse StackUseOf(Bytes code, std::span<const uint8_t> lengths, CodeMode mode) {
  switch (mode) {
#define FLOWBACK_CODE_MODE(id, set, ...) \
  case CodeMode::id:                     \
    return set::StackUseOf(code, lengths, mode);
#include "flowback/model/code_modes.def"
  }
  return {};
}

std::vector<TakenPlace> PlacesTakenBy(Bytes code, uint64_t address,
                                      std::span<const uint8_t> lengths, CodeMode mode) {
  switch (mode) {
#define FLOWBACK_CODE_MODE(id, set, ...) \
  case CodeMode::id:                     \
    return set::PlacesTakenBy(code, address, lengths, mode);
#include "flowback/model/code_modes.def"
  }
  return {};
}

}  // namespace flowback
