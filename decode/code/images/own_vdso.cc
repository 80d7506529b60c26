// SPDX-License-Identifier: MIT
#include "decode/code/images/own_vdso.h"

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>

namespace flowback {

std::vector<uint8_t> CopyOwnVdso() {
  const auto* base = reinterpret_cast<const uint8_t*>(getauxval(AT_SYSINFO_EHDR));
  if (base == nullptr) return {};
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(base);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return {};
  // The kernel maps the whole file; section headers, if any, are its last part.
  uint64_t size = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(base + header.e_phoff);
  for (unsigned i = 0; i < header.e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD)
      size = std::max(size, segments[i].p_offset + segments[i].p_filesz);
  return {base, base + size};
}

}  // namespace flowback
