// SPDX-License-Identifier: MIT
// What tells objects apart.
#pragma once

#include <cstdint>

#include "decode/code/images/elf_file.h"
#include "flowback/base/bytes.h"
#include "flowback/replay/object_image.h"

namespace flowback {

// ObjectId::checksum of bytes that a process executed, or of some of them. Never 0. The same on
// every machine.
uint64_t CodeChecksum(Bytes code);
// ObjectId::checksum of a file without a build-id: over all its code.
uint64_t CodeChecksum(const ElfFile& elf, Bytes file);

struct ObjectIdLess {
  bool operator()(const ObjectId& a, const ObjectId& b) const { return a.Compare(b) < 0; }
};

}  // namespace flowback
