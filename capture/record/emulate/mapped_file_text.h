// SPDX-License-Identifier: MIT
// An emulated process's message about a mapped file, so that the recorder can open that very file,
// and the recorder's answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capture/record/target/process_maps.h"

namespace flowback::record {

// In a message behind the path and a zero.
struct MappedFileText {
  ExecutableMapping mapping;  // in the emulator's memory; without its path
  uint64_t key = 0;           // of the file as it is now

  // The key is made of the mapping and the path.
  static MappedFileText Of(const ExecutableMapping& mapping);
  static std::optional<MappedFileText> Parse(const std::string& text);
  std::string Text() const;
};

}  // namespace flowback::record
