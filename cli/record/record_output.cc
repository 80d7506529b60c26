// SPDX-License-Identifier: MIT
#include "cli/record/record_output.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "cli/reading/file_head.h"
#include "cli/text/status.h"

namespace flowback::cli {
namespace {

constexpr std::string_view kStandardOutput = "-";

Error CannotOpen(const std::string& path, int error) {
  return Error(error == EACCES ? ErrorCode::kPermission : ErrorCode::kSystem,
               fmt::format("can't open '{}': {}", path, std::strerror(error)))
      .Remedy("give another file with -o FILE");
}

// Also by another name: CMD's own output must not get among the recording.
bool IsStandardOutput(const std::string& path) {
  if (path == kStandardOutput) return true;
  struct stat named{};
  struct stat standard{};
  if (stat(path.c_str(), &named) != 0 || fstat(STDOUT_FILENO, &standard) != 0) return false;
  return (S_ISFIFO(named.st_mode) || S_ISREG(named.st_mode)) && named.st_dev == standard.st_dev &&
         named.st_ino == standard.st_ino;
}

bool IsFifo(const std::string& path) {
  struct stat about{};
  return stat(path.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
}

Status TakeStandardOutput(RecordOptions& options, bool json) {
  if (json)
    return Fail(Error(ErrorCode::kUsage,
                      "record: --json prints to standard output, where the recording is to go")
                    .Remedy("-o FILE, or leave --json out"));
  if (isatty(STDOUT_FILENO) == 1)
    return Fail(Error(ErrorCode::kUsage,
                      "record: the recording is to go to standard output, which is a terminal")
                    .Remedy("-o FILE, or pipe it: flowback record -o - -- CMD | flowback info -"));
  options.files.output = kStandardOutput;
  options.files.pipe = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (options.files.pipe < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return Fail(CannotOpen("standard output", errno));
  return {};
}

Status OpenFifo(RecordOptions& options) {
  const char* path = options.files.output.c_str();
  options.files.pipe = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (options.files.pipe < 0 && errno == ENXIO) {
    Warn(fmt::format("record: waiting until someone reads '{}'", options.files.output));
    options.files.pipe = open(path, O_WRONLY | O_CLOEXEC);
  }
  return options.files.pipe < 0 ? Fail(CannotOpen(options.files.output, errno)) : Status();
}

}  // namespace

Status OpenOutputPipe(RecordOptions& options, bool json) {
  if (IsStandardOutput(options.files.output)) return TakeStandardOutput(options, json);
  return IsFifo(options.files.output) ? OpenFifo(options) : Status();
}

Status CheckOlderFile(const RecordOptions& options, bool force) {
  const std::string& path = options.files.output;
  struct stat about{};
  const bool makes_way = options.files.pipe >= 0 || stat(path.c_str(), &about) != 0 ||
                         !S_ISREG(about.st_mode) || about.st_size == 0;
  if (force || makes_way || IsRecording(path)) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("record: -o {}: the file that is there is no recording", path))
                  .Remedy("give another file with -o FILE, or --force: the old one becomes " +
                          path + ".old"));
}

void KeepStandardStreams() {
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDWR | O_CLOEXEC));
}

std::string OutputName(const RecordOptions& options) {
  return options.files.output == kStandardOutput ? "standard output" : options.files.output;
}

}  // namespace flowback::cli
