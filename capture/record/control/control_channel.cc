// SPDX-License-Identifier: MIT
#include "capture/record/control/control_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

namespace flowback::record {
namespace {

constexpr size_t kLongestLine = 4096;
constexpr const char* kExample = "mkfifo ctl ack; --control fifo:ctl,ack";

Error Wrong(const std::string& words, const std::string& why) {
  return Error(ErrorCode::kUsage, "--control " + words + ": " + why).Remedy(kExample);
}

// Both ends are open, so that it neither waits for who writes nor ends with the first that did.
Result<Descriptor> OpenFifo(const std::string& words, const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (*file < 0)
    return Fail(Error(errno == EACCES ? ErrorCode::kPermission : ErrorCode::kUsage,
                      "--control " + words + ": can't open '" + path + "': " + std::strerror(errno))
                    .Remedy("mkfifo " + path));
  struct stat about{};
  if (fstat(*file, &about) == 0 && S_ISFIFO(about.st_mode)) return file;
  return Fail(Wrong(words, "'" + path + "' is no FIFO"));
}

// One of our own: the program must not inherit it, nor is the caller's to be closed.
Result<Descriptor> CopyDescriptor(const std::string& words, const std::string& text) {
  int number = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || stop != end || number < 0)
    return Fail(Wrong(words, "'" + text + "' is no number of a descriptor"));
  Descriptor copy(fcntl(number, F_DUPFD_CLOEXEC, 3));
  if (*copy >= 0) return copy;
  return Fail(Wrong(words, "descriptor " + text + " is not open"));
}

bool IsReady(int descriptor, short events) {
  pollfd ready{descriptor, events, 0};
  return descriptor >= 0 && poll(&ready, 1, 0) > 0;
}

}  // namespace

Result<ControlChannel> ControlChannel::Open(const std::string& words) {
  using Opener = Result<Descriptor> (*)(const std::string& words, const std::string& place);
  const bool fifo = words.starts_with("fifo:");
  if (!fifo && !words.starts_with("fd:")) return Fail(Wrong(words, "neither fifo: nor fd:"));
  const Opener open_place = fifo ? OpenFifo : CopyDescriptor;
  const std::string places = words.substr(words.find(':') + 1);
  const size_t comma = places.find(',');
  auto commands = open_place(words, places.substr(0, comma));
  if (!commands) return Fail(std::move(commands.error()));
  Descriptor answers;
  if (comma != std::string::npos) {
    auto opened = open_place(words, places.substr(comma + 1));
    if (!opened) return Fail(std::move(opened.error()));
    answers = std::move(*opened);
  }
  return ControlChannel(std::move(*commands), std::move(answers));
}

std::vector<ControlRequest> ControlChannel::Take() {
  std::vector<ControlRequest> requests;
  char bytes[kLongestLine];
  // As much as is there now; who writes without end waits for the next round.
  for (int times = 0; times < 16 && IsReady(*commands_, POLLIN | POLLHUP); ++times) {
    const ssize_t got = read(*commands_, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      commands_ = Descriptor();
      break;
    }
    TakeBytes({bytes, static_cast<size_t>(got)}, requests);
  }
  return requests;
}

void ControlChannel::TakeBytes(std::string_view bytes, std::vector<ControlRequest>& requests) {
  for (const char byte : bytes) {
    if (byte == '\n') {
      const size_t space = line_.find(' ');
      ControlRequest request{.command = line_.substr(0, space), .argument = {}};
      if (space != std::string::npos) request.argument = line_.substr(space + 1);
      if (too_long_ || !line_.empty()) requests.push_back(std::move(request));
      line_.clear();
      too_long_ = false;
      continue;
    }
    if (byte == '\0' || too_long_) continue;  // perf's own answers end with a NUL
    line_ += byte;
    if (line_.size() <= kLongestLine) continue;
    too_long_ = true;
    line_.resize(16);
  }
}

void ControlChannel::Answer(std::string_view text) const {
  if (!IsReady(*answers_, POLLOUT)) return;
  const std::string line = std::string(text) + "\n";
  static_cast<void>(!write(*answers_, line.data(), line.size()));
}

}  // namespace flowback::record
