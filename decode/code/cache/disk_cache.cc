// SPDX-License-Identifier: MIT
#include "decode/code/cache/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "decode/code/cache/own_folder.h"

namespace flowback {
namespace {

constexpr std::string_view kSuffix = ".cache";
constexpr std::string_view kUnfinished = "new-";  // names of files that are being written
constexpr time_t kHour = 3600;

// The first bytes of a file, written as in memory: the magic number shows whether another byte
// order wrote it. A file whose length or checksum is not what the header says is damaged.
struct Header {
  static constexpr uint64_t kMagic = 0x656863616362'6c66;

  uint64_t magic = kMagic;
  uint64_t version = 0;
  uint64_t name = 0;  // hash of it
  uint64_t size = 0;  // of the content behind the header
  uint64_t unused[3] = {};
  uint64_t checksum = 0;  // of all before it, and the content

  bool IsOf(const std::string& of, uint64_t its_version) const {
    return magic == kMagic && version == its_version && name == HashOf(of);
  }
  static uint64_t HashOf(const std::string& name) {
    return ContentHash({reinterpret_cast<const uint8_t*>(name.data()), name.size()});
  }
  uint64_t Sum(Bytes content) const {
    const auto* begin = reinterpret_cast<const uint8_t*>(this);
    return ContentHash(content, ContentHash({begin, offsetof(Header, checksum)}));
  }
};
static_assert(sizeof(Header) == 64);

// Notes that the file was used just now. Where the cache is too big, files that were not used for
// longer are removed first.
void MarkUsed(int fd, const struct stat& info) {
  if (info.st_mtime + kHour < time(nullptr)) futimens(fd, nullptr);
}

struct KeptFile {
  std::string path;
  uint64_t size;
  struct timespec used;
};

// The files in the folder whose names are the cache's. Unfinished ones that were left behind long
// ago are removed on the way.
std::vector<KeptFile> ListFinished(const std::string& folder) {
  std::vector<KeptFile> files;
  DIR* const entries = opendir(folder.c_str());
  if (entries == nullptr) return files;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    const bool unfinished = name.starts_with(kUnfinished);
    if (!unfinished && !name.ends_with(kSuffix)) continue;
    KeptFile file{folder + "/" + entry->d_name, 0, {}};
    struct stat info{};
    if (lstat(file.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (unfinished) {
      if (info.st_mtime + kHour < time(nullptr)) unlink(file.path.c_str());
      continue;
    }
    file.size = static_cast<uint64_t>(info.st_size);
    file.used = info.st_mtim;
    files.push_back(std::move(file));
  }
  closedir(entries);
  return files;
}

}  // namespace

uint64_t ContentHash(Bytes bytes, uint64_t seed) {
  constexpr uint64_t kFactor = 0x9fb21c651e98df25;  // odd: a word's change changes its lane
  constexpr size_t kLanes = 8;
  constexpr size_t kStep = kLanes * sizeof(uint64_t);
  std::array<uint64_t, kLanes> lanes;
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = seed + i * kFactor;
  const auto mix = [&](const uint8_t* at) {
    for (size_t i = 0; i < kLanes; ++i) {
      uint64_t word;
      std::memcpy(&word, at + i * sizeof word, sizeof word);
      lanes[i] = (lanes[i] ^ word) * kFactor;
      lanes[i] ^= lanes[i] >> 29;
    }
  };
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= kStep; at += kStep, left -= kStep) mix(at);
  std::array<uint8_t, kStep> tail{};
  if (left != 0) std::memcpy(tail.data(), at, left);
  mix(tail.data());
  uint64_t all = bytes.size();
  for (const uint64_t lane : lanes) {
    all = (all ^ lane) * kFactor;
    all ^= all >> 32;
  }
  return all;
}

CachedBytes::~CachedBytes() { munmap(const_cast<uint8_t*>(file_.data()), file_.size()); }

std::string DiskCache::PathOf(const std::string& name) const {
  return settings_.folder + "/" + name + std::string(kSuffix);
}

void DiskCache::Refuse(const std::string& path, const std::string& why) const {
  const std::scoped_lock lock(mutex_);
  if (refusal_) return;
  const bool folder = path == settings_.folder;
  refusal_ = Error(ErrorCode::kPermission, path + ": not used as a cache of decoded code: " + why +
                                               "; code is decoded anew instead")
                 .Remedy(folder ? "make the folder your own and writable by nobody else (chown, "
                                  "chmod go-w), name another in FLOWBACK_CACHE, or --no-cache"
                                : "remove it: a new one takes its place");
}

std::optional<Error> DiskCache::Refusal() const {
  const std::scoped_lock lock(mutex_);
  return refusal_;
}

bool DiskCache::Accept(const std::string& path, const struct stat& info) const {
  const std::string why = WhyNotOwn(info);
  if (!why.empty()) Refuse(path, why);
  return why.empty();
}

// A link may lead to a folder elsewhere, but no other user may set it.
bool DiskCache::IsOwn() const {
  bool exists = false;
  const std::string why = WhyFolderNotOwn(settings_.folder, exists);
  if (!why.empty()) Refuse(settings_.folder, why);
  return exists && why.empty();
}

std::unique_ptr<const CachedBytes> DiskCache::Load(const std::string& name) const {
  if (!IsOwn()) return nullptr;
  const std::string path = PathOf(name);
  const Descriptor fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (*fd < 0 && errno == ELOOP) Refuse(path, "it is a link");
  struct stat info{};
  if (*fd < 0 || fstat(*fd, &info) != 0) return nullptr;
  if (!S_ISREG(info.st_mode)) Refuse(path, "it is no regular file");
  if (!S_ISREG(info.st_mode) || !Accept(path, info)) return nullptr;
  // Reads the header before the file is mapped: a file whose size is not the written one, or
  // exceeds the limit, is not mapped.
  Header header;
  if (pread(*fd, &header, sizeof header, 0) != sizeof header || !header.IsOf(name, version_) ||
      header.size > settings_.most_bytes / 2 ||
      header.size + sizeof header != static_cast<uint64_t>(info.st_size))
    return nullptr;
  const auto size = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, *fd, 0);
  if (data == MAP_FAILED) return nullptr;
  const Bytes file(static_cast<const uint8_t*>(data), size);
  auto result = std::make_unique<const CachedBytes>(file, file.subspan(sizeof(Header)));
  if (header.checksum != header.Sum(result->content())) return nullptr;
  MarkUsed(*fd, info);
  return result;
}

// One file shall not drive out all others. And a write beyond the limit that the process has for
// files would kill it.
bool DiskCache::HasRoomFor(size_t size) const {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
  return sizeof(Header) + size <= std::min<uint64_t>(settings_.most_bytes / 2, limit.rlim_cur);
}

bool DiskCache::HasFolder() const {
  return !settings_.folder.empty() && MakeOwnFolders(settings_.folder) && IsOwn();
}

bool DiskCache::MayStore() const {
  return HasRoomFor(0) && HasFolder() && access(settings_.folder.c_str(), W_OK | X_OK) == 0;
}

bool DiskCache::Store(const std::string& name, Bytes content) const {
  return HasRoomFor(content.size()) && HasFolder() && Write(name, content);
}

bool DiskCache::Store(const std::string& name, size_t least,
                      const std::function<std::vector<uint8_t>()>& make) const {
  if (!HasRoomFor(least) || !HasFolder()) return false;
  const std::vector<uint8_t> content = make();
  return HasRoomFor(content.size()) && Write(name, content);
}

bool DiskCache::Write(const std::string& name, Bytes content) const {
  std::string path = settings_.folder + "/" + std::string(kUnfinished) + "XXXXXX";
  const Descriptor fd(mkostemp(path.data(), O_CLOEXEC));  // for the user alone
  if (*fd < 0) return false;
  Header header{.version = version_, .name = Header::HashOf(name), .size = content.size()};
  header.checksum = header.Sum(content);
  const bool stored = WriteAll(*fd, {reinterpret_cast<const uint8_t*>(&header), sizeof header}) &&
                      WriteAll(*fd, content) && rename(path.c_str(), PathOf(name).c_str()) == 0;
  if (!stored) unlink(path.c_str());
  return stored;
}

void DiskCache::Trim() const {
  if (!IsOwn()) return;
  std::vector<KeptFile> files = ListFinished(settings_.folder);
  uint64_t sum = 0;
  for (const KeptFile& file : files) sum += file.size;
  if (sum <= settings_.most_bytes) return;
  std::ranges::sort(files, {}, [](const KeptFile& file) {
    return std::pair(file.used.tv_sec, file.used.tv_nsec);
  });
  for (const KeptFile& file : files) {
    if (sum <= settings_.most_bytes) return;
    unlink(file.path.c_str());
    sum -= file.size;
  }
}

}  // namespace flowback
