// SPDX-License-Identifier: MIT
//
// A bundle says where a module's lowest page was; the kernel would have said which parts of its
// file are mapped executable, and where. The file's program headers say the same. So each module
// becomes the maps that its process would have made, and everything behind treats it like a
// recording's.
#include <filesystem>

#include "base/mapped_file.h"
#include "capture/formats/input/text.h"
#include "capture/formats/lldb_bundle.h"
#include "decode/code/images/elf_file.h"

namespace flowback::lldb {
namespace {

constexpr uint64_t kPage = 0x1000;

// The module's file, where it exists: the copy that the bundle names goes before the original.
std::string FileOf(const Module& module, const std::string& folder) {
  return InBundle(folder, module.file.empty() ? module.system_path : module.file);
}

MmapRecord MapOf(const Module& module, int32_t pid, const std::string& file) {
  MmapRecord map;
  map.pid = pid;
  map.address = module.load_address;
  map.path = file;
  map.build_id = module.uuid;
  return map;
}

std::unexpected<Error> BadAddress(const Module& module, const std::string& path,
                                  const std::string& problem) {
  return Fail(Error(ErrorCode::kUnreadable, path + ": " + module.key + ".loadAddress is " +
                                                Hex(module.load_address) + " (" +
                                                Dec(module.load_address) + "), " + problem)
                  .Remedy("it should be the address of the module's lowest page, as "
                          "`image list` in LLDB shows it"));
}

// A damaged file is the image finder's to report; here only its place is known then.
Result<std::vector<MmapRecord>> MapElf(const Module& module, int32_t pid, const std::string& file,
                                       const ElfFile& elf, const std::string& path) {
  const uint64_t base = module.load_address - elf.first_page;
  if (base % kPage != 0) {
    return BadAddress(module, path, "where no page begins, so " + file + " can't have been there");
  }
  std::vector<MmapRecord> maps;
  for (const ElfSegment& segment : elf.code) {
    MmapRecord map = MapOf(module, pid, file);
    map.address = base + segment.address;
    map.size = segment.size;
    map.file_offset = segment.file_offset;
    if (map.size != 0 && map.address + (map.size - 1) < map.address) {
      return BadAddress(module, path, "so that its code would go past the last address");
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace

std::string InBundle(const std::string& folder, const std::string& name) {
  return std::filesystem::path(folder) / name;  // an absolute name stays as it is
}

Result<std::vector<MmapRecord>> MapModules(const Process& process, const std::string& folder,
                                           const std::string& path) {
  std::vector<MmapRecord> all;
  for (const Module& module : process.modules) {
    const std::string name = FileOf(module, folder);
    const auto file = MappedFile::Open(name);
    const auto elf = file ? ReadElf((*file)->bytes(), name) : Fail(file.error());
    if (!elf || elf->code.empty()) {
      all.push_back(MapOf(module, process.pid, name));
      continue;
    }
    auto maps = MapElf(module, process.pid, name, *elf, path);
    if (!maps) return Fail(maps.error());
    all.insert(all.end(), maps->begin(), maps->end());
  }
  return all;
}

}  // namespace flowback::lldb
