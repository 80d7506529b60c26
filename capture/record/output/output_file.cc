// SPDX-License-Identifier: MIT
#include "capture/record/output/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "capture/record/output/image_keeper.h"
#include "capture/record/output/recording_folder.h"
#include "decode/code/images/kept_images.h"

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
  if (error == EPIPE)
    return result.Remedy(
        "what read the recording ended before it was complete: see what that says");
  if (error == ENOSPC) return result.Remedy("free some space, or give another file with -o FILE");
  return result.Remedy("give another file with -o FILE");
}

// A file, and not an empty one.
bool HasContent(const std::string& path) {
  struct stat about{};
  return !path.empty() && stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         about.st_size != 0;
}

// rename replaces neither a file by a folder, nor a folder by a file, nor a folder that is not
// empty.
void MakeWay(const std::string& path, const std::string& older) {
  if (IsRecordingFolder(older)) RemoveRecordingFolder(older);
  if (IsRecordingFolder(path)) unlink(older.c_str());
}

Status Rename(const std::string& path, const std::string& older) {
  if (rename(path.c_str(), older.c_str()) == 0) return {};
  return Fail(FileError("rename an older recording to '" + older + "' from", path, errno));
}

}  // namespace

Result<OutputFile> OutputFile::Create(const std::string& path) {
  Descriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, kOwnerOnly));
  if (*fd < 0) return Fail(FileError("create", path, errno));
  if (lseek(*fd, 0, SEEK_CUR) >= 0) return OutputFile(path, std::move(fd), false);
  return Fail(Error(ErrorCode::kUsage,
                    "can't write to '" + path + "': it is no file but a terminal or a pipe")
                  .Remedy("give a file with -o FILE"));
}

Result<OutputFile> OutputFile::OfPipe(const std::string& name, int descriptor) {
  return OutputFile(name, Descriptor(descriptor), true);
}

Status OutputFile::Write(Bytes bytes) {
  const Status written = WriteAll(size_, bytes);
  if (written) size_ += bytes.size();
  return written;
}

Status OutputFile::WriteAt(uint64_t offset, Bytes bytes) { return WriteAll(offset, bytes); }

// The process that opened the pipe may have set it so that a write does not wait.
ssize_t OutputFile::WriteSome(uint64_t offset, Bytes bytes) const {
  if (!pipe_) return pwrite(*fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  pollfd ready{*fd_, POLLOUT, 0};
  if (*fd_ >= 0 && poll(&ready, 1, -1) < 0) return -1;
  const ssize_t done = write(*fd_, bytes.data(), bytes.size());
  if (done < 0 && errno == EAGAIN) errno = EINTR;  // again
  return done;
}

Status OutputFile::CheckSize() {
  struct stat about{};
  if (pipe_ || *fd_ < 0 || fstat(*fd_, &about) != 0 || !S_ISREG(about.st_mode)) return {};
  const auto size = static_cast<uint64_t>(about.st_size);
  if (about.st_nlink == 0) {
    failure_ = Error(ErrorCode::kSystem, "'" + path_ + "' was removed while it was being recorded")
                   .Remedy("give a file with -o FILE that everybody leaves alone");
    return Fail(*failure_);
  }
  if (size == size_) return {};
  failure_ = Error(ErrorCode::kSystem, "'" + path_ +
                                           "' was changed by another program while it was being "
                                           "recorded: it has " +
                                           std::to_string(size) + " bytes, and " +
                                           std::to_string(size_) + " were written")
                 .Remedy("give a file with -o FILE that the recorded program leaves alone");
  return Fail(*failure_);
}

Status OutputFile::Close() {
  Status result = failure_ ? Fail(*failure_) : CheckSize();
  struct stat made{};
  struct stat named{};
  if (result && !pipe_ && *fd_ >= 0 && fstat(*fd_, &made) == 0 &&
      (stat(path_.c_str(), &named) != 0 || named.st_dev != made.st_dev ||
       named.st_ino != made.st_ino))
    result = Fail(Error(ErrorCode::kSystem, "'" + path_ +
                                                "' was removed, renamed or replaced while it was "
                                                "being recorded: the recording is not there")
                      .Remedy("give a file with -o FILE that the recorded program leaves alone"));
  fd_.Close();
  return result;
}

// After a failed write nothing more is written: it would stand in what the failed one left.
Status OutputFile::WriteAll(uint64_t offset, Bytes bytes) {
  if (failure_) return Fail(*failure_);
  if (Status own = CheckSize(); !own) return own;
  while (!bytes.empty()) {
    const ssize_t done = WriteSome(offset, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      failure_ = FileError("write to", path_, done < 0 ? errno : ENOSPC).At(offset);
      // A record that is there in part would only be in the way. Should that fail, it stays.
      if (!pipe_) static_cast<void>(!ftruncate(*fd_, static_cast<off_t>(size_)));
      return Fail(*failure_);
    }
    bytes = bytes.subspan(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return {};
}

std::string CodePathOf(const std::string& recording) { return recording + ".code"; }

Result<std::string> KeepOlderFile(const std::string& path) {
  if (!HasContent(path) && !IsRecordingFolder(path)) return std::string();
  const std::string older = path + ".old";
  MakeWay(path, older);
  if (Status renamed = Rename(path, older); !renamed) return Fail(std::move(renamed.error()));
  if (Status moved = MoveImages(ImagesFolderOf(path), ImagesFolderOf(older)); !moved)
    return Fail(std::move(moved.error()));
  std::string text = "'" + path + "' was there already: kept as '" + older + "'";
  if (!HasContent(CodePathOf(path))) return text;
  if (Status renamed = Rename(CodePathOf(path), CodePathOf(older)); !renamed)
    return Fail(std::move(renamed.error()));
  return text + ", its code as '" + CodePathOf(older) + "'";
}

// Nothing better can be done where it fails: the older file is still there then, as PATH.old.
void BringOlderFileBack(const std::string& path, bool kept) {
  struct stat about{};
  if (lstat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode)) unlink(path.c_str());
  if (!kept) return;
  const std::string older = path + ".old";
  static_cast<void>(Rename(older, path));
  static_cast<void>(MoveImages(ImagesFolderOf(older), ImagesFolderOf(path)));
  if (HasContent(CodePathOf(older))) static_cast<void>(Rename(CodePathOf(older), CodePathOf(path)));
}

}  // namespace flowback::record
