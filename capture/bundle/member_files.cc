// SPDX-License-Identifier: MIT
#include "capture/bundle/member_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace flowback::bundle {
namespace {

constexpr mode_t kFileMode = S_IRUSR | S_IWUSR;
constexpr size_t kPage = 4096;

bool IsZero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

// Returns how many bytes, from `offset` in a file on, are of pages that are zero, or are not.
size_t RunOf(Bytes content, uint64_t offset, bool zero) {
  size_t run = 0;
  while (run < content.size()) {
    const size_t size = std::min(content.size() - run, kPage - (offset + run) % kPage);
    if (IsZero(content.subspan(run, size)) != zero) break;
    run += size;
  }
  return run;
}

bool WriteAt(int file, uint64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return true;
}

}  // namespace

MemberFiles::~MemberFiles() = default;

Error MemberFiles::CannotWrite() const {
  const std::string problem = std::strerror(errno);
  const std::string name = members_.empty() ? folder_ : folder_ + "/" + members_.back().name;
  return Error(ErrorCode::kSystem, name + ": the bundle cannot be unpacked there: " + problem)
      .Remedy(
          "make room there, or name a folder with room: --cache-dir FOLDER; with --no-cache "
          "TMPDIR=FOLDER");
}

Status MemberFiles::OnMember(const Member& member, int64_t seconds) {
  if (Status status = Finish(); !status) return status;
  members_.push_back(member);
  const std::string path = folder_ + "/" + member.name;
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  errno = failed.value();
  if (failed) return Fail(CannotWrite());
  file_ = Descriptor(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  seconds_ = seconds;
  return *file_ >= 0 ? Status() : Fail(CannotWrite());
}

Status MemberFiles::OnContent(uint64_t offset, Bytes content) {
  while (!content.empty()) {
    const size_t zeros = RunOf(content, offset, true);
    const size_t others = RunOf(content.subspan(zeros), offset + zeros, false);
    if (!WriteAt(*file_, offset + zeros, content.subspan(zeros, others)))
      return Fail(CannotWrite());
    offset += zeros + others;
    content = content.subspan(zeros + others);
  }
  // A cut member is as long as its existing part.
  if (ftruncate(*file_, static_cast<off_t>(offset)) != 0) return Fail(CannotWrite());
  return {};
}

Status MemberFiles::Finish() {
  if (*file_ < 0) return {};
  const timespec times[2] = {{.tv_sec = seconds_, .tv_nsec = 0},
                             {.tv_sec = seconds_, .tv_nsec = 0}};
  futimens(*file_, times);
  file_.Close();
  return {};
}

}  // namespace flowback::bundle
