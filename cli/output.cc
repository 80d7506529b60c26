// SPDX-License-Identifier: MIT
#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace flowback::cli {

Output::Output() : Output(STDOUT_FILENO, "standard output") {}

Output::Output(int fd, std::string name) : fd_(fd), name_(std::move(name)) {
  std::signal(SIGPIPE, SIG_IGN);
  buffer_.reserve(kWriteSize + kWriteSize / 8);
}

Output::Output(Output&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      name_(std::move(other.name_)),
      buffer_(std::move(other.buffer_)),
      write_size_(other.write_size_),
      commits_(other.commits_),
      written_(other.written_),
      closed_(other.closed_),
      error_(other.error_),
      check_(std::move(other.check_)),
      checked_(std::move(other.checked_)) {
  other.buffer_.clear();
}

Output::~Output() {
  if (fd_ < 0) return;
  Flush();
  if (fd_ > STDERR_FILENO) close(fd_);
}

Result<Output> Output::Open(const std::string& path) {
  if (path.empty() || path == "-") return Output();
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return Fail(
        Error(ErrorCode::kSystem, path + ": can't write: " + std::strerror(errno))
            .Remedy("name a file in an existing folder that you may write to, or leave -o out"));
  return Output(fd, path);
}

bool Output::Waited() const {
  constexpr std::chrono::milliseconds kPatience(50);
  return std::chrono::steady_clock::now() - written_ > kPatience;
}

bool Output::MayWrite() {
  if (closed_ || !check_) return !closed_;
  checked_ = check_();
  closed_ = !checked_;
  return !closed_;
}

void Output::WriteAll(std::string_view text) {
  if (text.empty() || !MayWrite()) return;
  while (!text.empty() && !closed_) {
    const ssize_t written = write(fd_, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      closed_ = true;
      error_ = errno == EPIPE ? 0 : errno;
      break;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void Output::Flush() {
  WriteAll(buffer_);
  buffer_.clear();
  write_size_ = std::min(2 * write_size_, kWriteSize);
  written_ = std::chrono::steady_clock::now();
}

void Output::WriteThrough(std::string_view text) {
  Flush();
  WriteAll(text);
}

Status Output::Finish() {
  Flush();
  // A command that printed nothing so far has read its input all the same.
  if (checked_ && !closed_ && check_) checked_ = check_();
  if (!checked_) return checked_;
  if (error_ != 0)
    return Fail(Error(ErrorCode::kSystem, name_ + ": writing failed: " + std::strerror(error_))
                    .Remedy(error_ == ENOSPC
                                ? "free some space, or write to another disk with -o FILE"
                                : "write to another file with -o FILE"));
  return {};
}

}  // namespace flowback::cli
