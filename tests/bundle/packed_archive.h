// SPDX-License-Identifier: MIT
// Archives as other programs write them, also ones that nobody would write but to harm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flowback::test {

struct ArchivedFile {
  std::string name;
  std::string content;
  unsigned type = 0100000;    // as stat's st_mode has it: a file
  std::string link = {};      // where a symbolic link leads
  uint64_t hole = 0;          // bytes behind the content that are zero, and not stored
  std::string hardlink = {};  // another member's name
};

// A tar archive of them.
std::vector<uint8_t> Archived(const std::vector<ArchivedFile>& files);
// Compressed as one zstd frame, as `tar --zstd` does it.
std::vector<uint8_t> Compressed(const std::vector<uint8_t>& bytes);
inline std::vector<uint8_t> Packed(const std::vector<ArchivedFile>& files) {
  return Compressed(Archived(files));
}

}  // namespace flowback::test
