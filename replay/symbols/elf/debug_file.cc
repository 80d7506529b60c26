// SPDX-License-Identifier: MIT
// The order is gdb's: by build-id in the debug folders, then by name beside the program, in .debug
// there, and in the debug folders under the program's path. If both files have a build-id and the
// two differ, the file is excluded, even if its checksum is right.
#include "replay/symbols/elf/debug_file.h"

#include <zlib.h>

#include <cstring>

#include "decode/code/images/image_search.h"
#include "decode/code/images/kept_images.h"

namespace flowback::symbols {
namespace {

struct DebugLink {
  std::string name;
  uint32_t crc = 0;
};

// .gnu_debuglink: a name that ends in zero, padding up to a multiple of four, four bytes of CRC.
std::optional<DebugLink> ReadDebugLink(const SymbolFile& file) {
  const FileSection* section = file.Find(".gnu_debuglink");
  if (section == nullptr) return std::nullopt;
  const Bytes bytes = file.Contents(*section);
  const auto* end = bytes.empty()
                        ? nullptr
                        : static_cast<const uint8_t*>(std::memchr(bytes.data(), 0, bytes.size()));
  if (end == nullptr || end == bytes.data()) return std::nullopt;
  const auto length = static_cast<size_t>(end - bytes.data());
  const size_t at = (length + 4) & ~size_t{3};
  if (at + 4 > bytes.size()) return std::nullopt;
  return DebugLink{std::string(reinterpret_cast<const char*>(bytes.data()), length),
                   static_cast<uint32_t>(LoadLittleEndian(bytes.data() + at, 4))};
}

std::unique_ptr<SymbolFile> OpenByBuildId(const SymbolFile& file, const ImageSearch& search) {
  const BuildId id = file.build_id();
  const std::string hex = id.ToHex();
  if (hex.size() < 4) return nullptr;
  const std::string tail = "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug";
  for (const std::string& folder : DebugFolders(search)) {
    auto debug_file = SymbolFile::Open(folder + tail);
    if (debug_file != nullptr && debug_file->build_id() == id) return debug_file;
  }
  return nullptr;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// The program's folder as it was when it was recorded: without --symfs in front.
std::string InstalledFolder(const std::string& folder, const std::string& symfs) {
  return !symfs.empty() && folder.starts_with(symfs) ? folder.substr(symfs.size()) : folder;
}

std::unique_ptr<SymbolFile> OpenByLink(const SymbolFile& file, const ImageSearch& search) {
  const auto link = ReadDebugLink(file);
  if (!link || link->name.find('/') != std::string::npos) return nullptr;
  const std::string folder = FolderOf(OriginOf(file.path()));
  std::vector<std::string> places = {folder + "/" + link->name, folder + "/.debug/" + link->name};
  for (const std::string& root : DebugFolders(search)) {
    places.push_back(
        UnderDirectory(root, InstalledFolder(folder, search.symfs) + "/" + link->name));
    places.push_back(root + "/" + link->name);
  }
  for (const std::string& place : places) {
    auto debug_file = SymbolFile::Open(place);
    if (debug_file == nullptr || Crc32(debug_file->bytes()) != link->crc) continue;
    const bool both = !file.build_id().bytes.empty() && !debug_file->build_id().bytes.empty();
    if (!both || file.build_id() == debug_file->build_id()) return debug_file;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> DebugFolders(const ImageSearch& search) {
  std::vector<std::string> folders = search.debug_dirs;
  // Proof decides, so that this machine's debug files serve for recordings of others, too.
  folders.emplace_back("/usr/lib/debug");
  if (!search.symfs.empty()) folders.push_back(search.symfs + "/usr/lib/debug");
  return folders;
}

std::unique_ptr<SymbolFile> OpenDebugFile(const SymbolFile& file, const ImageSearch& search) {
  auto debug_file = OpenByBuildId(file, search);
  return debug_file != nullptr ? std::move(debug_file) : OpenByLink(file, search);
}

uint32_t Crc32(Bytes bytes) {
  return static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

}  // namespace flowback::symbols
