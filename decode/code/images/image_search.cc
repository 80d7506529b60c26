// SPDX-License-Identifier: MIT
#include "decode/code/images/image_search.h"

#include <algorithm>
#include <cstdlib>

namespace flowback {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

std::string HomeFolder(const char* name) {
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string() : std::string(home) + "/" + name;
}

std::string CacheFolder(const ImageSearch& search) {
  return search.build_id_cache.empty() ? HomeFolder(".debug") : search.build_id_cache;
}

std::string DebuginfodFolder() { return HomeFolder(".cache/debuginfod_client"); }

// perf keeps a file as ~/.debug/PATH/xxyyyy/elf, with the link ~/.debug/.build-id/xx/yyyy to that
// folder; links may be lost when a cache is copied. Older versions made xx/yyyy itself the file.
void AddByBuildId(const ImageSearch& search, const std::string& path, const BuildId& build_id,
                  std::vector<std::string>& files) {
  const std::string hex = build_id.ToHex();
  const std::string split = "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2);
  if (const std::string cache = CacheFolder(search); !cache.empty()) {
    for (const char* tail : {"/elf", "/vdso", ""}) files.push_back(cache + split + tail);
    if (path == kVdso)
      files.push_back(cache + "/[vdso]/" + hex + "/vdso");
    else if (!IsPathless(path))
      files.push_back(UnderDirectory(cache, WithoutDeleted(path)) + "/" + hex + "/elf");
  }
  const std::string debuginfod = DebuginfodFolder();
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

std::string_view WithoutDeleted(std::string_view path) {
  return path.ends_with(kDeleted) ? path.substr(0, path.size() - kDeleted.size()) : path;
}

bool IsPathless(std::string_view path) {
  return path.empty() || path.starts_with('[') || path.starts_with("//") ||
         path.starts_with("anon_inode:") || path.starts_with("/memfd:") ||
         path.starts_with("/dev/zero") || path.starts_with("/SYSV") ||
         path.starts_with("/anon_hugepage");
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string UnderDirectory(const std::string& directory, std::string_view path) {
  std::string joined = directory;
  while (!joined.empty() && joined.back() == '/') joined.pop_back();
  return joined + (path.starts_with('/') ? "" : "/") + std::string(path);
}

CodeSource SourceOf(const ImageSearch& search, const std::string& file) {
  const auto below = [&](const std::string& folder) {
    return !folder.empty() && file.starts_with(folder + "/");
  };
  if (below(CacheFolder(search)) || below(DebuginfodFolder())) return CodeSource::kBuildIdCache;
  if (std::ranges::any_of(search.debug_dirs, below)) return CodeSource::kDebugFolder;
  return CodeSource::kFile;
}

std::vector<std::string> CandidateFiles(const ImageSearch& search, const std::string& path,
                                        const BuildId& build_id) {
  std::vector<std::string> files;
  if (build_id.bytes.size() > 1) AddByBuildId(search, path, build_id, files);
  if (IsPathless(path)) return files;
  // A deleted file's path names its successor, if anything: only a build-id can say it is the same.
  if (!path.ends_with(kDeleted))
    AddByPath(search, path, !build_id.empty(), files);
  else if (!build_id.empty())
    AddByPath(search, std::string(WithoutDeleted(path)), true, files);
  return files;
}

}  // namespace flowback
