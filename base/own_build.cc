// SPDX-License-Identifier: MIT
#include "base/own_build.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstring>

#include "flowback/base/bytes.h"

namespace flowback {
namespace {

size_t Padded(size_t size) { return (size + 3) & ~size_t{3}; }

// Returns the build-id among a segment's notes; empty: the notes have no build-id.
Bytes FindBuildId(Bytes notes) {
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    const Bytes name = Slice(notes, sizeof note, note.n_namesz);
    const size_t begin = sizeof note + Padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && name.size() == 4 && name[0] == 'G')
      return Slice(notes, begin, note.n_descsz);
    notes = Slice(notes, begin + Padded(note.n_descsz), notes.size());
  }
  return {};
}

bool Holds(const dl_phdr_info& file, uint64_t address) {
  for (unsigned i = 0; i < file.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = file.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && address - (file.dlpi_addr + part.p_vaddr) < part.p_memsz)
      return true;
  }
  return false;
}

int TakeBuild(dl_phdr_info* file, size_t, void* result) {
  if (!Holds(*file, reinterpret_cast<uint64_t>(&OwnBuild))) return 0;
  for (unsigned i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = file->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const uint8_t*>(file->dlpi_addr + part.p_vaddr);
    const Bytes id = FindBuildId({notes, part.p_memsz});
    if (id.size() >= 8) *static_cast<uint64_t*>(result) = LoadLittleEndian(id.data(), 8);
  }
  return 1;
}

}  // namespace

uint64_t OwnBuild() {
  uint64_t build = 0;
  dl_iterate_phdr(TakeBuild, &build);
  return build;
}

}  // namespace flowback
