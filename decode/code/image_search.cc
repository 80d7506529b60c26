// SPDX-License-Identifier: MIT
#include "decode/code/image_search.h"

#include <cstdlib>

namespace flowback {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

std::string HomeFolder(const char* name) {
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string() : std::string(home) + "/" + name;
}

// perf keeps a file as ~/.debug/.build-id/xx/yyyy/elf; older versions made xx/yyyy itself the file.
void AddByBuildId(const ImageSearch& search, const BuildId& build_id,
                  std::vector<std::string>& files) {
  const std::string hex = build_id.ToHex();
  const std::string split = "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2);
  const std::string cache =
      search.build_id_cache.empty() ? HomeFolder(".debug") : search.build_id_cache;
  if (!cache.empty())
    for (const char* tail : {"/elf", "/vdso", ""}) files.push_back(cache + split + tail);
  const std::string debuginfod = HomeFolder(".cache/debuginfod_client");
  if (!debuginfod.empty()) files.push_back(debuginfod + "/" + hex + "/executable");
  for (const std::string& directory : search.debug_dirs) {
    files.push_back(directory + split);
    files.push_back(directory + split + ".debug");
  }
}

void AddByPath(const ImageSearch& search, const std::string& path, bool verifiable,
               std::vector<std::string>& files) {
  if (!search.symfs.empty()) {
    files.push_back(UnderDirectory(search.symfs, path));
    files.push_back(UnderDirectory(search.symfs, BaseName(path)));
  }
  for (const std::string& directory : search.debug_dirs)
    files.push_back(UnderDirectory(directory, path));
  // With --symfs, the file of this machine is another system's: only a build-id can say it fits.
  if (search.symfs.empty() || verifiable) files.push_back(path);
}

}  // namespace

bool IsPathless(std::string_view path) {
  return path.empty() || path.starts_with('[') || path.starts_with("//") ||
         path.starts_with("anon_inode:") || path.starts_with("/memfd:") ||
         path.starts_with("/dev/zero") || path.starts_with("/SYSV");
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string UnderDirectory(const std::string& directory, std::string_view path) {
  std::string joined = directory;
  while (!joined.empty() && joined.back() == '/') joined.pop_back();
  return joined + (path.starts_with('/') ? "" : "/") + std::string(path);
}

std::vector<std::string> CandidateFiles(const ImageSearch& search, const std::string& path,
                                        const BuildId& build_id) {
  std::vector<std::string> files;
  if (build_id.bytes.size() > 1) AddByBuildId(search, build_id, files);
  if (IsPathless(path)) return files;
  // A deleted file's path names its successor, if anything: only a build-id can say it is the same.
  if (!path.ends_with(kDeleted))
    AddByPath(search, path, !build_id.empty(), files);
  else if (!build_id.empty())
    AddByPath(search, path.substr(0, path.size() - kDeleted.size()), true, files);
  return files;
}

}  // namespace flowback
