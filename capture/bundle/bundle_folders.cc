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
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/code/cache/own_folder.h"

namespace flowback::bundle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNew = ".new-";
constexpr std::string_view kOld = ".old-";
constexpr std::string_view kTemporary = "flowback-bundle-";

Error CannotMake(const std::string& name) {
  return Error(ErrorCode::kSystem, name +
                                       ": the bundle cannot be unpacked, because no folder can be "
                                       "made there: " +
                                       std::strerror(errno))
      .Remedy("make room there, or name another folder for temporary files: TMPDIR");
}

Descriptor LockOf(const std::string& folder, int how) {
  Descriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (*lock >= 0 && flock(*lock, how) != 0) lock.Close();
  return lock;
}

bool IsThere(const std::string& folder) {
  struct stat info{};
  return stat(folder.c_str(), &info) == 0;
}

Result<BundleFolders::Locked> MakeNew(const std::string& begin) {
  constexpr int kTries = 3;  // another program may find it unused
  for (int i = 0; i < kTries; ++i) {
    std::string name = begin + "XXXXXX";
    if (mkdtemp(name.data()) == nullptr) return Fail(CannotMake(begin));
    Descriptor lock = LockOf(name, LOCK_SH);
    if (*lock >= 0 && IsThere(name)) return BundleFolders::Locked{name, std::move(lock)};
  }
  return Fail(CannotMake(begin));
}

// Removes the folder if no process uses it; none can begin to use it meanwhile.
bool RemoveUnused(const fs::path& folder) {
  const Descriptor lock = LockOf(folder, LOCK_EX | LOCK_NB);
  if (*lock < 0) return false;
  const std::string name = folder.filename().string();
  const fs::path old =
      name.starts_with(kOld) || name.starts_with(kTemporary)
          ? folder
          : folder.parent_path() / (std::string(kOld) + name + "-" + std::to_string(getpid()));
  std::error_code failed;
  fs::rename(folder, old, failed);
  fs::remove_all(old, failed);
  return true;
}

// What programs left that were killed.
void RemoveLeft(const std::string& folder, std::initializer_list<std::string_view> beginnings) {
  std::vector<fs::path> left;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    struct stat info{};
    const bool is_own = lstat(at->path().c_str(), &info) == 0 && info.st_uid == geteuid();
    for (const std::string_view beginning : beginnings)
      if (is_own && name.starts_with(beginning)) left.push_back(at->path());
  }
  for (const fs::path& each : left) RemoveUnused(each);
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

}  // namespace

BundleFolders::BundleFolders(const std::string& cache, uint64_t most_bytes)
    : folder_(cache.empty() ? "" : cache + "/bundles"), most_bytes_(most_bytes) {}

bool BundleFolders::IsUsable() const {
  bool exists = false;
  return !folder_.empty() && MakeOwnFolders(folder_) && WhyFolderNotOwn(folder_, exists).empty() &&
         exists;
}

Result<BundleFolders::Locked> BundleFolders::New() const {
  RemoveLeft(folder_, {kNew, kOld});
  return MakeNew(folder_ + "/" + std::string(kNew));
}

Result<BundleFolders::Locked> BundleFolders::NewTemporary() {
  const char* const given = std::getenv("TMPDIR");
  const std::string folder = given == nullptr || *given == '\0' ? "/tmp" : given;
  RemoveLeft(folder, {kTemporary});
  return MakeNew(folder + "/" + std::string(kTemporary));
}

Descriptor BundleFolders::LockForUse(const std::string& folder) {
  Descriptor lock = LockOf(folder, LOCK_SH);
  if (*lock < 0) return lock;
  futimens(*lock, nullptr);  // used now
  // The folder may have been removed before it was locked.
  return IsThere(folder) ? std::move(lock) : Descriptor();
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
    if (RemoveUnused(kept.folder)) bytes -= kept.bytes;
  }
}

}  // namespace flowback::bundle
