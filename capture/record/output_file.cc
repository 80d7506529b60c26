// SPDX-License-Identifier: MIT
#include "capture/record/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace flowback::record {
namespace {

constexpr mode_t kOwnerOnly = 0600;  // a trace may hold secrets; perf does the same

Error FileError(const std::string& doing, const std::string& path, int error) {
  const bool forbidden = error == EACCES || error == EPERM || error == EROFS;
  Error result(forbidden ? ErrorCode::kPermission : ErrorCode::kSystem,
               "can't " + doing + " '" + path + "': " + std::strerror(error));
  if (error == EFBIG)
    return result.Remedy(
        "this shell limits the size of files: ulimit -f unlimited, or end the recording in time: "
        "--max-size");
  if (error == ENOSPC) return result.Remedy("free some space, or give another file with -o FILE");
  return result.Remedy("give another file with -o FILE");
}

}  // namespace

Result<OutputFile> OutputFile::Create(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, kOwnerOnly);
  if (fd < 0) return Fail(FileError("create", path, errno));
  return OutputFile(path, fd);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      failure_(std::move(other.failure_)) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
}

Status OutputFile::Write(Bytes bytes) {
  const Status written = WriteAll(size_, bytes);
  if (written) size_ += bytes.size();
  return written;
}

Status OutputFile::WriteAt(uint64_t offset, Bytes bytes) { return WriteAll(offset, bytes); }

// After a failed write nothing more is written: it would stand in what the failed one left.
Status OutputFile::WriteAll(uint64_t offset, Bytes bytes) {
  if (failure_) return Fail(*failure_);
  while (!bytes.empty()) {
    const ssize_t done = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      failure_ = FileError("write to", path_, done < 0 ? errno : ENOSPC).At(offset);
      return Fail(*failure_);
    }
    bytes = bytes.subspan(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return {};
}

Result<std::string> KeepOlderFile(const std::string& path) {
  struct stat about{};
  if (path.empty() || stat(path.c_str(), &about) != 0) return std::string();
  if (!S_ISREG(about.st_mode) || about.st_size == 0) return std::string();
  const std::string older = path + ".old";
  if (rename(path.c_str(), older.c_str()) != 0)
    return Fail(FileError("rename an older recording to '" + older + "' from", path, errno));
  return "'" + path + "' was there already: kept as '" + older + "'";
}

}  // namespace flowback::record
