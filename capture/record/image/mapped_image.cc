// SPDX-License-Identifier: MIT
#include "capture/record/image/mapped_image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/proc_path.h"
#include "capture/record/image/file_build_id.h"

namespace flowback::record {
namespace {

// The path may lead to a pipe by now, which must not be waited for.
Descriptor OpenForReading(const std::string& path) {
  return Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

std::string KernelsName(const ExecutableMapping& mapping) {
  char name[48];
  std::snprintf(name, sizeof name, "map_files/%" PRIx64 "-%" PRIx64, mapping.begin, mapping.end);
  return name;
}

enum class Same : uint8_t { kYes, kNo, kUnknown };

// Some file systems show another device in the kernel's list than in stat: then the answer is
// unknown.
Same IsMapped(const Descriptor& file, const ExecutableMapping& mapping) {
  struct stat info{};
  if (*file < 0 || fstat(*file, &info) != 0) return Same::kNo;
  char device[32];
  std::snprintf(device, sizeof device, "%02x:%02x ", major(info.st_dev), minor(info.st_dev));
  if (!mapping.identity.starts_with(device)) return Same::kUnknown;
  return mapping.identity == device + std::to_string(info.st_ino) ? Same::kYes : Same::kNo;
}

Descriptor OpenMapped(pid_t pid, const ExecutableMapping& mapping) {
  Descriptor named = mapping.deleted ? Descriptor() : OpenForReading(mapping.path);
  const int error = mapping.deleted ? ENOENT : errno;
  const Same same = IsMapped(named, mapping);
  if (same == Same::kYes) return named;
  Descriptor mapped = OpenForReading(ProcPath(pid, KernelsName(mapping)));
  if (*mapped >= 0) return mapped;
  Descriptor program = OpenForReading(ProcPath(pid, "exe"));
  if (IsMapped(program, mapping) == Same::kYes) return program;
  errno = *named >= 0 ? ENOENT : error;
  return same == Same::kUnknown ? std::move(named) : Descriptor();
}

}  // namespace

std::shared_ptr<const MappedImage> MappedImage::Open(pid_t pid, const ExecutableMapping& mapping) {
  auto image = std::make_shared<MappedImage>();
  image->file = OpenMapped(pid, mapping);
  struct stat info{};
  if (*image->file < 0 || fstat(*image->file, &info) != 0) {
    image->problem = std::strerror(errno);
  } else if (!S_ISREG(info.st_mode)) {
    image->problem = "it is no regular file";
    image->file.Close();
  } else {
    image->build_id = BuildIdOfFile(ProcPath(getpid(), "fd/" + std::to_string(*image->file)));
  }
  return image;
}

bool MappedImage::IsAt(const std::string& path) const {
  struct stat own{};
  struct stat named{};
  return *file >= 0 && fstat(*file, &own) == 0 && stat(path.c_str(), &named) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

std::string MappedImage::Version() const {
  struct stat info{};
  if (*file < 0 || fstat(*file, &info) != 0) return {};
  std::string version;
  for (const auto number :
       {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino),
        static_cast<int64_t>(info.st_size), static_cast<int64_t>(info.st_mtim.tv_sec),
        static_cast<int64_t>(info.st_mtim.tv_nsec), static_cast<int64_t>(info.st_ctim.tv_sec),
        static_cast<int64_t>(info.st_ctim.tv_nsec)})
    version += std::to_string(number) + " ";
  return version;
}

}  // namespace flowback::record
