// SPDX-License-Identifier: MIT
// What an emulator's file says of it, without running it.
#include "capture/record/emulate/emulator_file.h"

#include <algorithm>
#include <set>

#include "base/mapped_file.h"
#include "capture/record/emulate/plugin_interface.h"
#include "capture/record/image/elf_tables.h"
#include "flowback/capture/record.h"

namespace flowback {

using record::ElfTables;

namespace {

// Plugins find the functions they call by these names.
std::set<std::string_view> ExportedNames(const ElfTables& file) {
  std::set<std::string_view> result;
  for (const Elf64_Shdr& table : file.sections())
    if (table.sh_type == SHT_DYNSYM)
      file.VisitSymbols(table, [&](const Elf64_Sym& symbol, std::string_view name) {
        if (symbol.st_shndx != SHN_UNDEF) result.insert(name);
      });
  return result;
}

}  // namespace

EmulatorPlugins PluginsOf(const std::string& emulator) {
  EmulatorPlugins result;
  const auto file = MappedFile::Open(emulator);
  if (!file) return result;
  const ElfTables tables((*file)->bytes());
  // What loads the plugin is the dynamic linker.
  result.linked_statically = !tables.segments().empty() &&
                             std::ranges::none_of(tables.segments(), [](const Elf64_Phdr& segment) {
                               return segment.p_type == PT_INTERP;
                             });
  if (result.linked_statically) return result;
  const auto names = ExportedNames(tables);
  result.interface_version =
      record::PluginInterface([&](const char* function) { return names.contains(function); });
  return result;
}

Error NoPlugins(const std::string& emulator, const EmulatorPlugins& plugins) {
  return Error(ErrorCode::kNoHardware,
               "the emulator " + emulator +
                   (plugins.linked_statically ? " is linked statically: it can't load plugins"
                                              : " was built without support for plugins"))
      .Remedy(
          "use Debian 12's qemu-user (7.2) or a QEMU built with --enable-plugins: Debian 13's and "
          "the backports' load none; --engine step needs none");
}

}  // namespace flowback
