// SPDX-License-Identifier: MIT
#include "cli/record/native_run.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/child_process.h"
#include "base/descriptor.h"

namespace flowback::cli {
namespace {

using Clock = std::chrono::steady_clock;

Error Failure(const std::string& what, int error) {
  return Error(ErrorCode::kSystem, fmt::format("--compare: {}: {}", what, std::strerror(error)));
}

std::chrono::nanoseconds Time(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

// Standard output and error are thrown away: the user has seen them already.
Result<pid_t> Start(const std::vector<std::string>& command, int input) {
  // The recorder ignores requests for snapshots that come too late.
  const pid_t pid = StartChild(command, {.input = input, .default_signals = {SIGUSR2}});
  if (pid < 0) return Fail(Failure("can't run " + command[0], errno));
  return pid;
}

// Whether the child ended in time. Kernels before 5.3 cannot say, so there is no limit.
bool EndsWithin(pid_t pid, std::chrono::nanoseconds limit) {
  const Descriptor child(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (*child < 0) return true;
  const auto end = Clock::now() + limit;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    pollfd waited{.fd = *child, .events = POLLIN, .revents = 0};
    const int step = static_cast<int>(std::min<int64_t>(left.count(), 1'000'000));
    if (poll(&waited, 1, step) > 0) return true;
  }
}

}  // namespace

RepeatableInput::RepeatableInput() {
  struct stat file;
  if (fstat(STDIN_FILENO, &file) != 0 || !S_ISREG(file.st_mode)) return;
  if (const off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR); at >= 0) offset_ = at;
}

// A duplicate would share the place that the first run has moved, so the file is opened anew.
int RepeatableInput::Open() const {
  if (offset_) {
    const int file = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
    if (file >= 0 && lseek(file, *offset_, SEEK_SET) == *offset_) return file;
    if (file >= 0) close(file);
  }
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

Result<NativeRun> RunNatively(const std::vector<std::string>& command, const RepeatableInput& input,
                              std::chrono::nanoseconds limit) {
  const Descriptor standard_input(input.Open());
  if (*standard_input < 0) return Fail(Failure("/dev/null", errno));
  const auto start = Clock::now();
  const auto pid = Start(command, *standard_input);
  if (!pid) return Fail(pid.error());
  const bool in_time = EndsWithin(*pid, limit);
  if (!in_time) kill(*pid, SIGKILL);
  NativeRun run;
  rusage used{};
  while (wait4(*pid, &run.command_status, 0, &used) < 0)
    if (errno != EINTR) return Fail(Failure("wait4", errno));
  run.elapsed = Clock::now() - start;
  run.cpu_time = Time(used.ru_utime) + Time(used.ru_stime);
  if (!in_time)
    return Fail(Error(ErrorCode::kSystem,
                      "--compare: the program alone ran longer than it did recorded, and was ended "
                      "(its standard input is empty then, unless that is a file)"));
  return run;
}

}  // namespace flowback::cli
