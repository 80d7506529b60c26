// SPDX-License-Identifier: MIT
// What a decoder wants of an ELF file: its code segments and its build-id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"
#include "flowback/model/code_mode.h"
#include "flowback/model/recording.h"

namespace flowback {

// Where the addresses of a 32-bit program end.
constexpr uint64_t kEndOf32Bits = uint64_t{1} << 32;

// A part of the file that is mapped executable, rounded to pages where the kernel does so.
struct ElfSegment {
  uint64_t address = 0;  // as the program headers say
  uint64_t file_offset = 0;
  uint64_t size = 0;  // in the file; inside it
};

struct ElfFile {
  uint8_t bits = 0;                   // 32 or 64
  uint16_t machine = 0;               // EM_*
  bool position_independent = false;  // a library or PIE: may be loaded anywhere
  BuildId build_id;
  uint64_t first_page = 0;  // address of the page with the lowest loadable byte
  std::vector<ElfSegment> code;
  // Past the file's end although a program header promises code there; 0: nothing is missing.
  uint64_t promised_end = 0;
  bool only_debug_info = false;  // a debug file, as `objcopy --only-keep-debug` makes it

  // The mode of its code. Empty: its instruction set is not supported.
  std::optional<CodeMode> code_mode() const;
  // Why its code can't be of that set (empty: of whichever) as the rest of a sentence on the file;
  // empty where it can.
  std::string WhyForeign(std::string_view instruction_set) const;
};

bool LooksLikeElf(Bytes bytes);

// `name` is for messages. Errors: kUnreadable when a header is damaged.
Result<ElfFile> ReadElf(Bytes bytes, const std::string& name);

}  // namespace flowback
