// SPDX-License-Identifier: MIT
// What an emulated process tells the recorder of a mapped file, so that it can open the very file,
// and what the recorder answers when it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capture/record/process_maps.h"

namespace flowback::record {

// In a message behind the path and a zero.
struct MappedFileText {
  ExecutableMapping mapping;  // in the emulator's memory; without its path
  uint64_t key = 0;           // of the file as it is now

  // The key is made of the mapping, and of what the path tells.
  static MappedFileText Of(const ExecutableMapping& mapping);
  static std::optional<MappedFileText> Parse(const std::string& text);
  std::string Text() const;
};

}  // namespace flowback::record
