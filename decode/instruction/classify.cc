// SPDX-License-Identifier: MIT
// Each instruction set has a folder and a namespace of its own, which the table of code modes
// names: here a mode is led to its set.
#include "decode/instruction/classify.h"

#include "decode/instruction/aarch64/classify.h"
#include "decode/instruction/x86/classify.h"

namespace flowback {

bool ClassifyCommonForm(Bytes code, CodeMode mode, Instruction& out) {
  switch (mode) {
#define FLOWBACK_CODE_MODE(id, set, ...) \
  case CodeMode::id:                     \
    return set::ClassifyCommonForm(code, mode, out);
#include "flowback/model/code_modes.def"
  }
  return false;
}

bool ClassifyAnyForm(Bytes code, CodeMode mode, Instruction& out, bool* needed_llvm) {
  switch (mode) {
#define FLOWBACK_CODE_MODE(id, set, ...) \
  case CodeMode::id:                     \
    return set::ClassifyAnyForm(code, mode, out, needed_llvm);
#include "flowback/model/code_modes.def"
  }
  return false;
}

bool Classify(Bytes code, CodeMode mode, Instruction& out) {
  return ClassifyCommonForm(code, mode, out) || ClassifyAnyForm(code, mode, out);
}

uint64_t ClassifierLibraryVersion() {
  constexpr uint64_t kFactor = 31;
  uint64_t version = 0;
#define FLOWBACK_CODE_MODE(id, set, ...) \
  version = version * kFactor + set::ClassifierLibraryVersion();
#include "flowback/model/code_modes.def"
  return version;
}

}  // namespace flowback
