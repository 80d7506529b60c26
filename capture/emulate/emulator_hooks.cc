// SPDX-License-Identifier: MIT
// The dynamic linker has filled in the program's table of imported addresses before the plugin is
// loaded, and made it read-only. A symbol's entry is where its relocation points to.
#include "capture/emulate/emulator_hooks.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace flowback::emulate {
namespace {

struct Table {
  const Elf64_Rela* begin = nullptr;
  uint64_t bytes = 0;
};

// The parts of the main program's dynamic section that name imports.
struct Imports {
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  Table calls;  // DT_JMPREL
  Table data;   // DT_RELA: calls that go without a procedure linkage table
};

Imports ReadDynamicSection(uint64_t base, const Elf64_Dyn* entry) {
  Imports result;
  // Whether the linker has added the base already depends on its version.
  const auto at = [base](const Elf64_Dyn& e) {
    return e.d_un.d_ptr < base ? base + e.d_un.d_ptr : e.d_un.d_ptr;
  };
  for (; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        result.symbols = reinterpret_cast<const Elf64_Sym*>(at(*entry));
        break;
      case DT_STRTAB:
        result.names = reinterpret_cast<const char*>(at(*entry));
        break;
      case DT_JMPREL:
        result.calls.begin = reinterpret_cast<const Elf64_Rela*>(at(*entry));
        break;
      case DT_PLTRELSZ:
        result.calls.bytes = entry->d_un.d_val;
        break;
      case DT_RELA:
        result.data.begin = reinterpret_cast<const Elf64_Rela*>(at(*entry));
        break;
      case DT_RELASZ:
        result.data.bytes = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return result;
}

void** FindEntry(const Imports& imports, const Table& table, uint64_t base, const char* name) {
  if (imports.symbols == nullptr || imports.names == nullptr || table.begin == nullptr)
    return nullptr;
  for (uint64_t i = 0; i < table.bytes / sizeof(Elf64_Rela); ++i) {
    const Elf64_Rela& relocation = table.begin[i];
    const auto type = ELF64_R_TYPE(relocation.r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
    const Elf64_Sym& symbol = imports.symbols[ELF64_R_SYM(relocation.r_info)];
    if (std::strcmp(imports.names + symbol.st_name, name) == 0)
      return reinterpret_cast<void**>(base + relocation.r_offset);
  }
  return nullptr;
}

struct Search {
  const char* name;
  void** entry = nullptr;
  bool read_only = false;  // the linker has made the entry's page read-only
};

int SearchMainProgram(dl_phdr_info* object, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const uint64_t base = object->dlpi_addr;
    const Imports imports = ReadDynamicSection(
        base, reinterpret_cast<const Elf64_Dyn*>(base + object->dlpi_phdr[i].p_vaddr));
    search->entry = FindEntry(imports, imports.calls, base, search->name);
    if (search->entry == nullptr)
      search->entry = FindEntry(imports, imports.data, base, search->name);
  }
  const auto entry = reinterpret_cast<uint64_t>(search->entry);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    const uint64_t begin = object->dlpi_addr + part.p_vaddr;
    search->read_only |=
        part.p_type == PT_GNU_RELRO && entry >= begin && entry - begin < part.p_memsz;
  }
  return 1;  // the main program comes first; no more
}

}  // namespace

void* ReplaceImport(const char* name, void* replacement) {
  Search search{.name = name};
  dl_iterate_phdr(SearchMainProgram, &search);
  if (search.entry == nullptr) return nullptr;
  const auto page_size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  auto* page =
      reinterpret_cast<void*>(reinterpret_cast<uint64_t>(search.entry) / page_size * page_size);
  if (search.read_only && mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0) return nullptr;
  void* former = *search.entry;
  *search.entry = replacement;
  // Only a precaution: should it stay writable, that harms nothing.
  if (search.read_only) static_cast<void>(mprotect(page, page_size, PROT_READ));
  return former;
}

}  // namespace flowback::emulate
