// SPDX-License-Identifier: MIT
#include "capture/bundle/bundle_folders.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "decode/code/own_folder.h"

namespace flowback::bundle {
namespace {

namespace fs = std::filesystem;

Result<std::string> MakeNew(std::string name) {
  if (mkdtemp(name.data()) != nullptr) return name;
  return Fail(
      Error(ErrorCode::kSystem,
            name + ": a folder to unpack the bundle in can't be made: " + std::strerror(errno))
          .Remedy("make room there, or name another folder for temporary files: TMPDIR"));
}

// What a bundle's files take on the disk.
uint64_t BytesIn(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    struct stat info{};
    constexpr uint64_t kBlock = 512;
    if (lstat(at->path().c_str(), &info) == 0)
      bytes += static_cast<uint64_t>(info.st_blocks) * kBlock;
  }
  return bytes;
}

struct Kept {
  fs::path folder;
  fs::file_time_type used;
  uint64_t bytes = 0;
};

bool IsInUse(const fs::path& folder) {
  const Descriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return *lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) != 0;
}

}  // namespace

BundleFolders::BundleFolders(const std::string& cache, uint64_t most_bytes)
    : folder_(cache.empty() ? "" : cache + "/bundles"), most_bytes_(most_bytes) {}

bool BundleFolders::IsUsable() const {
  bool exists = false;
  return !folder_.empty() && MakeOwnFolders(folder_) && WhyFolderNotOwn(folder_, exists).empty() &&
         exists;
}

Result<std::string> BundleFolders::New() const { return MakeNew(folder_ + "/.new-XXXXXX"); }

Result<std::string> BundleFolders::NewTemporary() {
  const char* const folder = std::getenv("TMPDIR");
  return MakeNew(std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) +
                 "/flowback-bundle-XXXXXX");
}

Descriptor BundleFolders::LockForUse(const std::string& folder) {
  Descriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (*lock < 0) return lock;
  flock(*lock, LOCK_SH);
  futimens(*lock, nullptr);  // used now
  // What was removed before it was locked is not there.
  struct stat info{};
  return stat(folder.c_str(), &info) == 0 ? std::move(lock) : Descriptor();
}

void BundleFolders::Trim(const std::string& newest) const {
  if (folder_.empty()) return;
  std::vector<Kept> all;
  uint64_t bytes = 0;
  std::error_code failed;
  for (fs::directory_iterator at(folder_, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code gone;
    const Kept kept{at->path(), fs::last_write_time(at->path(), gone), BytesIn(at->path())};
    bytes += kept.bytes;
    if (at->path() != newest && !gone) all.push_back(kept);
  }
  std::ranges::sort(all, {}, &Kept::used);
  for (const Kept& kept : all) {
    if (bytes <= most_bytes_) return;
    if (IsInUse(kept.folder)) continue;
    fs::remove_all(kept.folder, failed);
    bytes -= kept.bytes;
  }
}

}  // namespace flowback::bundle
