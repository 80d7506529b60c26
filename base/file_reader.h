// SPDX-License-Identifier: MIT
// Few bytes here and there in a large file, read without its mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/descriptor.h"
#include "base/mapped_file.h"

namespace flowback {

// Looking at one byte of a mapped file makes the kernel map the 64 KB around it, and take them back
// when the mapping goes. Where that is done at ten thousands of places it costs several times as
// much as to read the bytes.
class FileReader {
 public:
  // Reads the mapped file if its path still names it; else reads nothing.
  explicit FileReader(const MappedFile& file);

  // Copies bytes from `offset` on. Returns how many there are: fewer than asked for where the file
  // ends, or can't be read so. Those are in the mapping, or nowhere.
  size_t Read(uint64_t offset, std::span<uint8_t> to) const;

 private:
  Descriptor file_;
};

}  // namespace flowback
