// SPDX-License-Identifier: MIT
#include "base/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

namespace flowback {
namespace {

// Which file the kernel says is mapped at the address; inode 0: none is known.
struct stat FileMappedAt(const uint8_t* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    unsigned device_major = 0;
    unsigned device_minor = 0;
    uintmax_t inode = 0;
    const int read = std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %*x %x:%x %ju",
                                 &begin, &end, &device_major, &device_minor, &inode);
    if (read != 5 || wanted < begin || wanted >= end) continue;
    struct stat found{};
    found.st_dev = makedev(device_major, device_minor);
    found.st_ino = inode;
    return found;
  }
  return {};
}

}  // namespace

FileReader::FileReader(const MappedFile& file) {
  if (file.bytes().empty()) return;
  constexpr int kHow = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  // To note the time at each of many reads takes time; only the owner may do without.
  Descriptor named(open(file.path().c_str(), kHow | O_NOATIME));
  if (*named < 0) named = Descriptor(open(file.path().c_str(), kHow));
  struct stat info{};
  if (*named < 0 || fstat(*named, &info) != 0) return;
  const struct stat mapped = FileMappedAt(file.bytes().data());
  if (mapped.st_ino != 0 && info.st_dev == mapped.st_dev && info.st_ino == mapped.st_ino)
    file_ = std::move(named);
}

size_t FileReader::Read(uint64_t offset, std::span<uint8_t> to) const {
  size_t done = 0;
  while (*file_ >= 0 && done < to.size()) {
    const ssize_t got =
        pread(*file_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace flowback
