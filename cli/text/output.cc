// SPDX-License-Identifier: MIT
#include "cli/text/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "cli/text/status.h"
#include "cli/text/terminal_session.h"

namespace flowback::cli {

Output::Output() : Output(STDOUT_FILENO, "standard output") {}

Output::Output(int fd, std::string name) : fd_(fd), name_(std::move(name)) {
  std::signal(SIGPIPE, SIG_IGN);
  buffer().reserve(kMostWrite + kMostWrite / 8);
}

Output::Output(Output&& other) noexcept
    : TextSink(std::move(other)),
      fd_(std::exchange(other.fd_, -1)),
      name_(std::move(other.name_)),
      place_(std::exchange(other.place_, {})),
      error_(other.error_),
      wrote_(other.wrote_),
      met_terminal_(other.met_terminal_),
      colors_(other.colors_),
      check_(std::move(other.check_)),
      checked_(std::move(other.checked_)) {}

Output::~Output() {
  if (fd_ < 0) return;
  WriteOut({});
  // Results before an error are kept, unless the input has changed.
  if (checked_ && wrote_) Publish();
  if (fd_ > STDERR_FILENO) close(fd_);
}

// Once: the file without a name takes its place.
void Output::Publish() {
  const std::string place = std::exchange(place_, {});
  if (place.empty() || error_ != 0) return;
  const std::string name = place + ".part-" + std::to_string(getpid());
  const std::string link = "/proc/self/fd/" + std::to_string(fd_);
  if (linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    if (rename(name.c_str(), place.c_str()) == 0) return;
    error_ = errno;
    unlink(name.c_str());
  } else {
    error_ = errno;
  }
}

// The output in a file without a name, in the folder of `path`. `named`, where there can be none
// such, and where a link leads to the file.
Output Output::Unnamed(const std::string& path, const std::optional<unsigned>& mode, Output named) {
  struct stat about{};
  const bool exists = lstat(path.c_str(), &about) == 0;
  if (exists && (!S_ISREG(about.st_mode) || about.st_nlink != 1 || about.st_uid != geteuid()))
    return named;
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0) return named;
  Output output(fd, path);
  const bool can_be_linked = access(("/proc/self/fd/" + std::to_string(fd)).c_str(), F_OK) == 0;
  if (!can_be_linked || (mode && fchmod(fd, *mode) != 0)) return named;
  output.place_ = path;
  return output;
}

Result<Output> Output::Open(const std::string& path, const FileCheck& check) {
  if (path.empty() || path == "-") return Output();
  const auto failure = [&] {
    return Error(ErrorCode::kSystem, path + ": can't write: " + std::strerror(errno))
        .Remedy("name a file in an existing folder that you may write to, or leave -o out");
  };
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    Output output = Unnamed(path, std::nullopt, Output(-1, path));
    if (output.fd_ >= 0) return output;  // nothing else can be that file
  }
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return Fail(failure());
  Output output(fd, path);  // from here on it closes the file
  if (Status status = check("/proc/self/fd/" + std::to_string(fd)); !status)
    return Fail(status.error());
  // A pipe or a device has no length to take away.
  struct stat about{};
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return output;
  Output target = Unnamed(path, about.st_mode & 0777, std::move(output));
  if (target.place_.empty() && ftruncate(fd, 0) != 0) return Fail(failure());
  return target;
}

// With thousands of files the check may take as long as a good part of the text. Then it waits
// until it is a small part; unchecked text stays here meanwhile, at the cost of a copy.
bool Output::HasToWait(size_t more) {
  return check_ && buffer().size() + more < kMostHeld &&
         std::chrono::steady_clock::now() < next_check_;
}

bool Output::MayWrite() {
  if (closed() || !check_) return !closed();
  constexpr int kShare = 20;
  constexpr std::chrono::microseconds kCheap(200);
  const auto begin = std::chrono::steady_clock::now();
  checked_ = check_();
  const auto end = std::chrono::steady_clock::now();
  next_check_ = end - begin < kCheap ? end : end + kShare * (end - begin);
  set_closed(!checked_);
  return !closed();
}

void Output::WriteText(std::string_view text) {
  if (text.empty()) return;
  if (fd_ == STDOUT_FILENO && !met_terminal_) {
    met_terminal_ = true;
    BeforeOutput();
    if (HasColor(fd_)) colors_.emplace();
  }
  if (colors_)
    WriteAll(colors_->Colored(text));
  else
    WriteAll(text);
}

void Output::WriteAll(std::string_view text) {
  while (!text.empty() && !closed()) {
    const ssize_t written = write(fd_, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      set_closed(true);
      error_ = errno == EPIPE ? 0 : errno;
      break;
    }
    wrote_ = true;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void Output::WriteOut(std::string_view more) {
  if ((!buffer().empty() || !more.empty()) && MayWrite()) {
    WriteText(buffer());
    WriteText(more);
  }
  Taken();
}

void Output::Take(std::string_view more) {
  if (HasToWait(more.size()))
    buffer() += more;
  else
    WriteOut(more);
}

void Output::Discard() {
  buffer().clear();
  place_.clear();
  wrote_ = false;
}

Status Output::Finish(bool succeeded) {
  if (!succeeded && !wrote_ && buffer().empty()) return {};
  WriteOut({});
  // A command that printed nothing so far has read its input all the same.
  if (checked_ && !closed() && check_) checked_ = check_();
  if (!checked_) return checked_;
  Publish();
  if (error_ != 0)
    return Fail(Error(ErrorCode::kSystem, name_ + ": writing failed: " + std::strerror(error_))
                    .Remedy(error_ == ENOSPC
                                ? "free some space, or write to another disk with -o FILE"
                                : "write to another file with -o FILE"));
  return {};
}

int Print(const std::string& text) {
  Output output;
  output.Write(text);
  const Status written = output.Finish();
  return written ? int{kDone} : Report(written.error());
}

}  // namespace flowback::cli
