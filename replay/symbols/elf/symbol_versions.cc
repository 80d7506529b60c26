// SPDX-License-Identifier: MIT
#include "replay/symbols/elf/symbol_versions.h"

namespace flowback::symbols {
namespace {

// Libraries have a few dozen; damage can make one of every byte.
constexpr int kMost = 4096;
constexpr uint16_t kNumber = 0x7fff;  // the other bit hides a version that is not the usual one

}  // namespace

SymbolVersions::SymbolVersions(const SymbolFile& file, const FileSection& table) {
  if (table.header.sh_type != SHT_DYNSYM) return;
  for (const FileSection& section : file.sections()) {
    if (section.header.sh_type == SHT_GNU_verdef && names_.empty()) ReadDefinitions(file, section);
    if (section.header.sh_type == SHT_GNU_versym && file.At(section.header.sh_link) == &table)
      numbers_ = file.Data(section);
  }
}

void SymbolVersions::ReadDefinitions(const SymbolFile& file, const FileSection& section) {
  Elf_Data* data = file.Data(section);
  if (data == nullptr) return;
  GElf_Verdef definition;
  size_t at = 0;
  for (int i = 0; i < kMost && at < data->d_size; ++i, at += definition.vd_next) {
    GElf_Verdaux name;
    if (gelf_getverdef(data, static_cast<int>(at), &definition) == nullptr ||
        gelf_getverdaux(data, static_cast<int>(at + definition.vd_aux), &name) == nullptr)
      return;
    // The first one is the file's own name.
    if ((definition.vd_flags & VER_FLG_BASE) == 0)
      names_.emplace(definition.vd_ndx & kNumber,
                     file.String(section.header.sh_link, name.vda_name));
    if (definition.vd_next == 0) return;
  }
}

std::string_view SymbolVersions::Of(int symbol) const {
  GElf_Versym number = 0;
  if (numbers_ == nullptr || gelf_getversym(numbers_, symbol, &number) == nullptr) return {};
  const auto name = names_.find(number & kNumber);
  return name == names_.end() ? std::string_view() : name->second;
}

}  // namespace flowback::symbols
