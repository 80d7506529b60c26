// SPDX-License-Identifier: MIT
#include "capture/record/emulate/program_needs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/mapped_file.h"
#include "capture/record/image/elf_tables.h"
#include "decode/instruction/classify.h"
#include "decode/instruction/processor_extension.h"

namespace flowback::record {
namespace {

// What each calls first, whether its runtime is a library or in the program.
constexpr std::array<std::pair<std::string_view, const char*>, 5> kSanitizers = {
    {{"__asan_init", "AddressSanitizer"},
     {"__tsan_init", "ThreadSanitizer"},
     {"__hwasan_init", "HWAddressSanitizer"},
     {"__msan_init", "MemorySanitizer"},
     {"__lsan_init", "LeakSanitizer"}}};

// GCC's own of the last does not name it: the program names the library only.
constexpr std::string_view kLeakLibrary = "liblsan.so";

bool NeedsLibrary(const ElfTables& file, std::string_view library) {
  for (const Elf64_Shdr& section : file.sections()) {
    if (section.sh_type != SHT_DYNAMIC || section.sh_link >= file.sections().size()) continue;
    const Bytes names = file.Content(file.sections()[section.sh_link]);
    const Bytes entries = file.Content(section);
    for (uint64_t at = 0;; at += sizeof(Elf64_Dyn)) {
      const auto entry = ElfTables::Load<Elf64_Dyn>(entries, at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED &&
          ElfTables::Text(names, entry->d_un.d_val).starts_with(library))
        return true;
    }
  }
  return false;
}

// Whether the program has functions that the dynamic linker chooses by the processor, or asks GCC's
// runtime for what the processor can do.
bool ChoosesByProcessor(const ElfTables& file) {
  bool chooses = false;
  for (const Elf64_Shdr& table : file.sections())
    if (table.sh_type == SHT_DYNSYM || table.sh_type == SHT_SYMTAB)
      file.VisitSymbols(table, [&](const Elf64_Sym& symbol, std::string_view name) {
        chooses |=
            (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC && symbol.st_shndx != SHN_UNDEF) ||
            name.starts_with("__cpu_model") || name.starts_with("__cpu_indicator_init");
      });
  return chooses;
}

// CPUID or XGETBV.
bool AsksProcessor(Bytes code) {
  return (code.size() == 2 && code[0] == 0x0f && code[1] == 0xa2) ||
         (code.size() == 3 && code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xd0);
}

// The first extension in the code, from its begin to its end; nothing where it asks the processor.
std::optional<ProcessorExtension> FirstExtension(Bytes code, CodeMode mode, bool& asks) {
  std::optional<ProcessorExtension> found;
  for (uint64_t at = 0; at < code.size();) {
    const Bytes rest = code.subspan(at);
    Instruction instruction;
    if (!Classify(rest, mode, instruction) || instruction.length == 0) {
      ++at;  // data between functions
      continue;
    }
    const Bytes one = rest.first(std::min<size_t>(instruction.length, rest.size()));
    asks = asks || AsksProcessor(one);
    if (asks) return std::nullopt;
    if (!found) found = ExtensionBeyondQemu(one, mode);
    at += one.size();
  }
  return found;
}

}  // namespace

bool HostHasFlag(const std::string& flag) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (word == flag) return true;
    return false;
  }
  return false;
}

std::string SanitizerOf(const ProgramFile& program) {
  const auto file = MappedFile::Open(program.path);
  if (!file || program.mode != CodeMode::kX86_64) return {};
  const ElfTables tables((*file)->bytes());
  std::string found;
  for (const Elf64_Shdr& table : tables.sections())
    if (table.sh_type == SHT_DYNSYM || table.sh_type == SHT_SYMTAB)
      tables.VisitSymbols(table, [&](const Elf64_Sym&, std::string_view name) {
        if (!found.empty() || !name.starts_with("__")) return;
        for (const auto& [function, sanitizer] : kSanitizers)
          if (name == function) found = sanitizer;
      });
  if (found.empty() && NeedsLibrary(tables, kLeakLibrary)) found = "LeakSanitizer";
  return found;
}

std::string ObstacleInEmulator(const ProgramFile& program, int plugin_interface) {
  constexpr int kOldestWithoutTables = 2;  // QEMU 9.0: see capture/emulate/address_tables.h
  if (plugin_interface >= kOldestWithoutTables) return {};
  const std::string sanitizer = SanitizerOf(program);
  if (sanitizer.empty()) return {};
  return "'" + program.path + "' is built with " + sanitizer +
         ", which reserves terabytes of addresses: QEMU before 8.0 would fill the memory with "
         "tables of them";
}

std::string ExtensionOf(const ProgramFile& program) {
  constexpr uint64_t kMostCode = uint64_t{4} << 20;  // more takes longer than a short recording
  const auto file = MappedFile::Open(program.path);
  if (!file || program.mode != CodeMode::kX86_64) return {};
  const ElfTables tables((*file)->bytes());
  if (ChoosesByProcessor(tables)) return {};
  std::optional<ProcessorExtension> found;
  uint64_t size = 0;
  bool asks = false;
  for (const Elf64_Shdr& section : tables.sections()) {
    if ((section.sh_flags & SHF_EXECINSTR) == 0) continue;
    const Bytes code = tables.Content(section);
    if ((size += code.size()) > kMostCode) return {};
    const auto first = FirstExtension(code, program.mode, asks);
    if (!found) found = first;
  }
  return found && !asks && HostHasFlag(found->cpu_flag) ? found->name : "";
}

}  // namespace flowback::record
