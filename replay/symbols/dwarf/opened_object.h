// SPDX-License-Identifier: MIT
// An ELF file that LLVM's DWARF reader may be given: compressed sections unpack to what the file's
// size allows, and those that are compressed in the old way (.zdebug_*), which LLVM 19 does not
// read any more, are unpacked.
#pragma once

#include <llvm/ADT/StringMap.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <string>

namespace flowback::symbols {

// The limit for all unpacked sections of a file, in proportion to the file. Debug sections shrink
// to a third; the tables of strings and lines, which repeat themselves most, to a tenth.
constexpr uint64_t kFreeUnpacked = uint64_t{64} << 20;
constexpr uint64_t kMostUnpackedPerByte = 16;

using DebugSections = llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>>;

struct OpenedObject {
  std::unique_ptr<llvm::MemoryBuffer> bytes;
  std::unique_ptr<llvm::object::ObjectFile> file;
  const llvm::object::ELFObjectFileBase* elf = nullptr;
  // All debug sections, by their names without the dot; empty, unless the file has old ones.
  DebugSections sections;
};

// False, with the reason in `problem`, if the file cannot be read.
bool OpenObject(const std::string& path, OpenedObject& opened, std::string& problem);

}  // namespace flowback::symbols
