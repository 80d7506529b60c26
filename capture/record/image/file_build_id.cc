// SPDX-License-Identifier: MIT
#include "capture/record/image/file_build_id.h"

#include "base/mapped_file.h"
#include "decode/code/images/elf_file.h"

namespace flowback::record {

BuildId BuildIdOf(Bytes elf) {
  const auto read = ReadElf(elf, "");
  return read ? read->build_id : BuildId{};
}

BuildId BuildIdOfFile(const std::string& path) {
  const auto file = MappedFile::Open(path);
  return file ? BuildIdOf((*file)->bytes()) : BuildId{};
}

}  // namespace flowback::record
