// SPDX-License-Identifier: MIT
#include "flowback/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace flowback {
namespace {

Error OpenError(const std::string& path, int error_number) {
  const ErrorCode code = error_number == EACCES || error_number == EPERM ? ErrorCode::kPermission
                                                                         : ErrorCode::kUnreadable;
  return Error(code, path + ": " + std::strerror(error_number));
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Fail(OpenError(path, errno));
  struct stat info{};
  if (fstat(fd, &info) != 0) {
    const int error_number = errno;
    close(fd);
    return Fail(OpenError(path, error_number));
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return Fail(ErrorCode::kUnreadable,
                path + (S_ISDIR(info.st_mode) ? ": is a directory" : ": is not a regular file"));
  }
  Bytes bytes;
  if (info.st_size > 0) {
    void* data = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      const int error_number = errno;
      close(fd);
      return Fail(OpenError(path, error_number));
    }
    bytes = Bytes(static_cast<const uint8_t*>(data), static_cast<size_t>(info.st_size));
  }
  close(fd);
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace flowback
