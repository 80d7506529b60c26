// SPDX-License-Identifier: MIT
#include "cli/replay/gdb_listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "cli/text/status.h"

namespace flowback::cli {
namespace {

constexpr int kWaiting = 4;  // clients

Error ListenFailure(const std::string& where) {
  return Error(ErrorCode::kSystem,
               fmt::format("cannot listen on {}: {}", where, std::strerror(errno)));
}

}  // namespace

Result<GdbListener> GdbListener::OnPath(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path)
    return Fail(Error(ErrorCode::kUsage, fmt::format("{}: the path of a socket has less than {} "
                                                     "characters",
                                                     path, sizeof address.sun_path))
                    .Remedy("a shorter path"));
  path.copy(address.sun_path, path.size());
  struct stat there;
  if (lstat(path.c_str(), &there) == 0)
    return Fail(Error(ErrorCode::kUsage, fmt::format("{} already exists", path))
                    .Remedy("another path, or remove it; the recording comes before --gdb-server"));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (*socket < 0) return Fail(ListenFailure(path));
  const mode_t mask = umask(0177);
  const int bound = bind(*socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(mask);
  if (bound != 0 || listen(*socket, kWaiting) != 0) return Fail(ListenFailure(path));
  return GdbListener(std::move(socket), path, path);
}

Result<GdbListener> GdbListener::OnPort(const std::string& address, uint16_t port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &place.sin_addr) != 1)
    return Fail(Error(ErrorCode::kUsage, fmt::format("--listen {}: no IPv4 address", address))
                    .Remedy("--listen 0.0.0.0 for all of this machine's"));
  const std::string where = fmt::format("{}:{}", address, port);
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (*socket < 0) return Fail(ListenFailure(where));
  const int yes = 1;
  setsockopt(*socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  socklen_t size = sizeof place;
  if (bind(*socket, reinterpret_cast<const sockaddr*>(&place), size) != 0 ||
      listen(*socket, kWaiting) != 0 ||
      getsockname(*socket, reinterpret_cast<sockaddr*>(&place), &size) != 0)
    return Fail(ListenFailure(where));
  return GdbListener(std::move(socket), fmt::format("{}:{}", address, ntohs(place.sin_port)), {});
}

GdbListener::~GdbListener() {
  if (*socket_ >= 0 && !path_.empty()) unlink(path_.c_str());
}

Descriptor GdbListener::Accept() const {
  Descriptor client(accept4(*socket_, nullptr, nullptr, SOCK_CLOEXEC));
  // A client that does not read is not waited for without end; small packets are not held back.
  const timeval limit{.tv_sec = 10, .tv_usec = 0};
  const int yes = 1;
  setsockopt(*client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  setsockopt(*client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return client;
}

void GdbListener::RefuseOthers() const {
  pollfd waiting{.fd = *socket_, .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, 0) <= 0) return;
  const Descriptor other(accept4(*socket_, nullptr, nullptr, SOCK_CLOEXEC));
  if (*other >= 0) Warn("a second gdb wanted to connect and was turned away: one at a time");
}

}  // namespace flowback::cli
