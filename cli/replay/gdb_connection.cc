// SPDX-License-Identifier: MIT
#include "cli/replay/gdb_connection.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>

namespace flowback::cli {

using Kind = gdb::Received::Kind;

void GdbConnection::Serve(gdb::ServerInput input) {
  input.keep_on = [this] { return MayGoOn(); };
  gdb::GdbServer server(input);
  while (!gone_ && !server.is_over()) {
    const auto received = reader_.Next();
    if (!received) {
      if (ended_ || !WaitForBytes()) return;
      continue;
    }
    if (!Answer(server, *received)) return;
  }
}

// False: the client has gone, or serving is to end.
bool GdbConnection::WaitForBytes() {
  for (;;) {
    std::array<pollfd, 3> waited = {{{.fd = *client_, .events = POLLIN, .revents = 0},
                                     {.fd = listener_.descriptor(), .events = POLLIN, .revents = 0},
                                     {.fd = until_, .events = POLLIN, .revents = 0}}};
    if (poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) return false;
    if (waited[1].revents != 0) listener_.RefuseOthers();
    if (waited[0].revents != 0) return Receive();
    if (waited[2].revents != 0) return false;
  }
}

bool GdbConnection::Receive() {
  std::array<char, 65536> bytes;
  const ssize_t size = recv(*client_, bytes.data(), bytes.size(), 0);
  if (size < 0 && errno == EINTR) return true;
  if (size <= 0) {
    // Requests that have come are still answered.
    gone_ = reader_.size() == 0;
    ended_ = true;
    return !gone_;
  }
  reader_.Add({bytes.data(), static_cast<size_t>(size)});
  return true;
}

bool GdbConnection::Send(const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t size = send(*client_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      gone_ = true;
      return false;
    }
    sent += static_cast<size_t>(size);
  }
  return true;
}

bool GdbConnection::Answer(gdb::GdbServer& server, const gdb::Received& received) {
  switch (received.kind) {
    case Kind::kInterrupt:  // between two runs
      server.Interrupt();
      return true;
    case Kind::kAgain:
      return !acknowledges_ || Send(last_sent_);
    case Kind::kBadChecksum:
      return !acknowledges_ || Send("-");
    case Kind::kTooLong:
      if (acknowledges_ && !Send("+")) return false;
      return Send(last_sent_ = gdb::Framed(gdb::kRefused));
    case Kind::kPacket:
      break;
  }
  if (acknowledges_ && !Send("+")) return false;
  for (const std::string& reply : server.Answer(received.packet))
    if (!Send(last_sent_ = gdb::Framed(reply))) return false;
  acknowledges_ = !server.no_acknowledgements();
  reader_.set_checks(acknowledges_);
  return true;
}

// During a run nothing but Ctrl-C is to come. Asking the kernel takes longer than a step.
bool GdbConnection::MayGoOn() {
  constexpr std::chrono::milliseconds kBetween(10);
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kBetween) return true;
  looked_ = now;
  std::array<pollfd, 2> waited = {{{.fd = *client_, .events = POLLIN, .revents = 0},
                                   {.fd = until_, .events = POLLIN, .revents = 0}}};
  listener_.RefuseOthers();
  if (ended_) waited[0].events = 0;
  if (poll(waited.data(), waited.size(), 0) > 0) {
    if (waited[1].revents != 0) return false;
    if (!ended_ && waited[0].revents != 0 && !Receive()) return false;
    if (reader_.size() > 2 * gdb::kMostPacketBytes) return false;  // no gdb sends that meanwhile
  }
  return !reader_.HasInterrupt();
}

}  // namespace flowback::cli
