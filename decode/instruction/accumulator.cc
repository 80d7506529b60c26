// SPDX-License-Identifier: MIT
#include "decode/instruction/accumulator.h"

#include "decode/instruction/aarch64/accumulator.h"
#include "decode/instruction/x86/accumulator.h"

namespace flowback {

std::optional<uint32_t> AccumulatorBehind(Bytes code, std::span<const uint8_t> lengths,
                                          CodeMode mode) {
  switch (mode) {
#define FLOWBACK_CODE_MODE(id, set, ...) \
  case CodeMode::id:                     \
    return set::AccumulatorBehind(code, lengths, mode);
#include "flowback/model/code_modes.def"
  }
  return std::nullopt;
}

}  // namespace flowback
