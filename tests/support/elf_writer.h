// SPDX-License-Identifier: MIT
// Small ELF files for tests, right and wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flowback {

struct ElfSegmentSpec {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;
  bool executable = true;
  // The size in the program header, if not 0, instead of the size of `bytes`.
  uint64_t claimed_size = 0;
};

struct ElfSpec {
  unsigned bits = 64;  // 32 or 64
  bool position_independent = false;
  uint16_t machine = 62;  // EM_X86_64; 3 is EM_386, 183 EM_AARCH64
  std::vector<uint8_t> build_id;
  // Put into the file one after the other, each at an offset that suits its address.
  std::vector<ElfSegmentSpec> segments;
  // A section header for each executable segment; with NOBITS as in a separate debug file.
  bool sections = false;
  bool sections_without_bytes = false;
  // A build-id in a section only, as in an object without program headers for it.
  bool note_in_section_only = false;
};

struct WrittenElf {
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> segment_offsets;  // in the file
};

WrittenElf WriteElf(const ElfSpec& spec);

// Writes a file, and the folders above it.
void WriteFile(const std::string& path, const std::vector<uint8_t>& bytes);

}  // namespace flowback
