// SPDX-License-Identifier: MIT
#include "capture/record/image/shared_images.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/code/cache/own_folder.h"
#include "decode/code/images/kept_images.h"

namespace flowback::record {
namespace {

constexpr std::string_view kSuffix = ".image";
constexpr std::string_view kUnfinished = "new-";
constexpr mode_t kReadOnly = 0400;  // what ran may be secret, as traces may
constexpr size_t kPart = size_t{256} << 10;
constexpr time_t kHour = 3600;

using Part = std::function<bool(Bytes)>;

// All of the file's bytes in order; false where reading fails, or `take` does.
bool ForEachPart(int file, const Part& take) {
  std::vector<uint8_t> buffer(kPart);
  for (off_t at = 0;;) {
    const ssize_t got = pread(file, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    if (!take(Bytes(buffer).first(static_cast<size_t>(got)))) return false;
    at += got;
  }
}

// Size and hash of what the file holds.
std::optional<SharedImages::Copy> Measure(int file) {
  SharedImages::Copy copy;
  ImageHash hash;
  const bool read = ForEachPart(file, [&](Bytes part) {
    hash.Add(part);
    copy.size += part.size();
    return true;
  });
  copy.hash = hash.Finish();
  return read ? std::optional(copy) : std::nullopt;
}

bool HaveSameBytes(int file, int other) {
  std::vector<uint8_t> buffer(kPart);
  off_t at = 0;
  return ForEachPart(file, [&](Bytes part) {
    size_t done = 0;
    while (done < part.size()) {
      const ssize_t got =
          pread(other, buffer.data() + done, part.size() - done, at + static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      done += static_cast<size_t>(got);
    }
    at += static_cast<off_t>(part.size());
    return std::equal(part.begin(), part.end(), buffer.begin());
  });
}

bool CopyInto(int file, int target) {
  if (ioctl(target, FICLONE, file) == 0) return true;
  return ForEachPart(file, [&](Bytes part) { return WriteAll(target, part); });
}

Error Failed(int error) { return Error(ErrorCode::kSystem, std::strerror(error)); }

// A file without a fixed name in the folder, with the open file's content. `path` gets its name.
// Empty: the copy failed, and errno says why.
std::optional<SharedImages::Copy> CopyToNew(int file, const std::string& folder,
                                            std::string& path) {
  path = folder + "/" + std::string(kUnfinished) + "XXXXXX";
  const Descriptor target(mkostemp(path.data(), O_CLOEXEC));
  std::optional<SharedImages::Copy> copy;
  if (*target >= 0 && CopyInto(file, *target)) copy = Measure(*target);
  const int error = errno;
  if (copy) fchmod(*target, kReadOnly);
  if (!copy && *target >= 0) unlink(path.c_str());
  if (!copy) path.clear();
  errno = error;
  return copy;
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

struct Unused {
  std::string path;
  uint64_t size;
  struct timespec used;
};

// Returns the folder's copies that no recording uses; removes old unfinished ones.
std::vector<Unused> ListUnused(const std::string& folder) {
  std::vector<Unused> unused;
  DIR* const entries = opendir(folder.c_str());
  if (entries == nullptr) return unused;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    const std::string path = folder + "/" + entry->d_name;
    struct stat info{};
    if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (name.starts_with(kUnfinished) && info.st_mtime + kHour < time(nullptr))
      unlink(path.c_str());
    if (name.ends_with(kSuffix) && info.st_nlink == 1)
      unused.push_back({path, static_cast<uint64_t>(info.st_size), info.st_atim});
  }
  closedir(entries);
  return unused;
}

}  // namespace

std::string SharedImages::PathOf(uint64_t size, uint64_t hash) const {
  char name[64];
  std::snprintf(name, sizeof name, "/%016llx-%llu", static_cast<unsigned long long>(hash),
                static_cast<unsigned long long>(size));
  return folder_ + name + std::string(kSuffix);
}

// On another file system nothing could be shared.
bool SharedImages::IsUsable(const std::string& target) {
  if (folder_.empty() || !refusal_.empty() || !MakeOwnFolders(folder_)) return false;
  bool exists = false;
  refusal_ = WhyFolderNotOwn(folder_, exists);
  struct stat own{};
  struct stat other{};
  return exists && refusal_.empty() && stat(folder_.c_str(), &own) == 0 &&
         stat(FolderOf(target).c_str(), &other) == 0 && own.st_dev == other.st_dev;
}

// The copy that is there, if it is one.
bool SharedImages::Take(int file, const Copy& copy, const std::string& target) {
  const std::string path = PathOf(copy.size, copy.hash);
  const Descriptor kept(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (*kept < 0 || fstat(*kept, &info) != 0 || !S_ISREG(info.st_mode) || !WhyNotOwn(info).empty() ||
      static_cast<uint64_t>(info.st_size) != copy.size || !HaveSameBytes(file, *kept))
    return false;
  // It is in use: others go before it. The time of its last change stays, by which what was kept of
  // other recordings with this copy is known again.
  const struct timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                                   {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  futimens(*kept, times);
  return link(path.c_str(), target.c_str()) == 0;
}

Result<SharedImages::Copy> SharedImages::Add(int file, const std::string& target) {
  std::string made;
  const auto copy = CopyToNew(file, folder_, made);
  if (!copy) return Fail(Failed(errno));
  const std::string path = PathOf(copy->size, copy->hash);
  const bool linked = link(made.c_str(), target.c_str()) == 0;
  const int error = errno;
  // What stood there was not the same, or was no copy of ours.
  if (rename(made.c_str(), path.c_str()) != 0) unlink(made.c_str());
  if (!linked) return Fail(Failed(error));
  return *copy;
}

Result<SharedImages::Copy> SharedImages::Put(int file, const std::string& target) {
  if (IsUsable(target)) {
    auto copy = Measure(file);
    if (!copy) return Fail(Failed(errno));
    if (Take(file, *copy, target)) {
      copy->shared = true;
      return *copy;
    }
    if (auto added = Add(file, target); added) return added;
  }
  std::string made;
  const auto copy = CopyToNew(file, FolderOf(target), made);
  if (!copy) return Fail(Failed(errno));
  if (rename(made.c_str(), target.c_str()) == 0) return *copy;
  const int error = errno;
  unlink(made.c_str());
  return Fail(Failed(error));
}

void SharedImages::Trim() const {
  bool exists = false;
  if (!WhyFolderNotOwn(folder_, exists).empty() || !exists) return;
  std::vector<Unused> unused = ListUnused(folder_);
  uint64_t sum = 0;
  for (const Unused& copy : unused) sum += copy.size;
  std::ranges::sort(unused, {}, [](const Unused& copy) {
    return std::pair(copy.used.tv_sec, copy.used.tv_nsec);
  });
  for (const Unused& copy : unused) {
    if (sum <= most_unused_bytes_) return;
    unlink(copy.path.c_str());
    sum -= copy.size;
  }
}

}  // namespace flowback::record
