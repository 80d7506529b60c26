// SPDX-License-Identifier: MIT
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/descriptor.h"
#include "base/temporary_file.h"

namespace flowback {
namespace {

Error OpenError(const std::string& path, int error_number) {
  const ErrorCode code = error_number == EACCES || error_number == EPERM ? ErrorCode::kPermission
                                                                         : ErrorCode::kUnreadable;
  return Error(code, path + ": " + std::strerror(error_number));
}

// As many bytes as there are, but no more than fit. Negative when reading failed.
ssize_t ReadUp(int fd, std::span<uint8_t> buffer) {
  size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t got = read(fd, buffer.data() + done, buffer.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

Error CopyError(const std::string& path, const std::string& folder) {
  return Error(ErrorCode::kSystem, path + ": its copy in " + folder + ": " + std::strerror(errno))
      .Remedy("name a folder with room in TMPDIR, or save the input as a file and name that");
}

// The size of what was copied.
Result<size_t> CopyToEnd(int from, int to, const std::string& path, const std::string& folder,
                         const MappedFile::HeadCheck& check) {
  constexpr size_t kPart = size_t{1} << 20;
  std::vector<uint8_t> buffer(kPart);
  size_t size = 0;
  for (size_t want = MappedFile::kSpoolHead;; want = kPart) {
    const ssize_t got = ReadUp(from, std::span(buffer).first(want));
    if (got < 0) return Fail(OpenError(path, errno));
    const Bytes part(buffer.data(), static_cast<size_t>(got));
    if (size == 0)
      if (Status status = check(part); !status) return Fail(status.error());
    if (!WriteAll(to, part)) return Fail(CopyError(path, folder));
    size += part.size();
    if (part.size() < want) return size;
  }
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Spool(const std::string& path,
                                                            const HeadCheck& check) {
  // Standard input may be a socket, which can't be opened again by its name.
  const bool is_stdin = path == "/dev/stdin";
  const Descriptor from(is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                 : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (*from < 0) return Fail(OpenError(path, errno));
  const std::string folder = TemporaryFolder();
  const Descriptor copy(OpenNameless(folder));
  if (*copy < 0) return Fail(CopyError(path, folder));
  const Result<size_t> size = CopyToEnd(*from, *copy, path, folder, check);
  if (!size) return Fail(size.error());
  if (*size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(path, {}, {}));
  void* data = mmap(nullptr, *size, PROT_READ, MAP_PRIVATE, *copy, 0);
  if (data == MAP_FAILED) return Fail(CopyError(path, folder));
  const Bytes bytes(static_cast<const uint8_t*>(data), *size);
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes, {}));
}

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (*fd < 0 || fstat(*fd, &info) != 0) return Fail(OpenError(path, errno));
  if (!S_ISREG(info.st_mode))
    return Fail(ErrorCode::kUnreadable,
                path + (S_ISDIR(info.st_mode) ? ": is a directory" : ": is not a regular file"));
  Bytes bytes;
  if (info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, *fd, 0);
    if (data == MAP_FAILED) return Fail(OpenError(path, errno));
    bytes = Bytes(static_cast<const uint8_t*>(data), size);
  }
  const Identity identity{.device = info.st_dev, .inode = info.st_ino};
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes, identity));
}

Status MappedFile::CheckWhole() const {
  struct stat info{};
  if (identity_.inode == 0 || stat(path_.c_str(), &info) != 0) return {};
  if (info.st_dev != identity_.device || info.st_ino != identity_.inode) return {};
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size >= bytes_.size()) return {};
  return Fail(CutWhileRead(path_, size));
}

Status CheckWhole(std::span<const std::shared_ptr<const MappedFile>> files) {
  for (const auto& file : files)
    if (Status status = file->CheckWhole(); !status) return status;
  return {};
}

Error CutWhileRead(const std::string& path, uint64_t end) {
  return Error(ErrorCode::kUnreadable,
               path + ": was cut while it was read: what lay behind this place is gone")
      .At(end)
      .Remedy(
          "wait until whoever writes the file has finished, or read a copy; what was printed "
          "before is right");
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace flowback
