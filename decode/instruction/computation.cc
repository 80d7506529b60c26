// SPDX-License-Identifier: MIT
#include "decode/instruction/computation.h"

#include "decode/instruction/aarch64/computation.h"
#include "decode/instruction/x86/computation.h"

namespace flowback {

Computation ComputationOf(Bytes code, uint64_t address, CodeMode mode) {
  switch (mode) {
#define FLOWBACK_CODE_MODE(id, set, ...) \
  case CodeMode::id:                     \
    return set::ComputationOf(code, address, mode);
#include "flowback/model/code_modes.def"
  }
  return {};
}

}  // namespace flowback
