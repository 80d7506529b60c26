// SPDX-License-Identifier: MIT
// One gdb that is connected: packets from its socket to a server, and back.
#pragma once

#include <chrono>
#include <string>

#include "base/descriptor.h"
#include "cli/replay/gdb_listener.h"
#include "replay/gdb/gdb_packets.h"
#include "replay/gdb/gdb_server.h"

namespace flowback::cli {

class GdbConnection {
 public:
  // `until`: a descriptor that becomes readable when serving is to end. Both must outlive it.
  GdbConnection(Descriptor client, const GdbListener& listener, int until)
      : client_(std::move(client)), listener_(listener), until_(until) {}

  // Answers until the client has gone or serving is to end. Sets the input's keep_on.
  void Serve(gdb::ServerInput input);

 private:
  bool WaitForBytes();
  bool Receive();
  bool Send(const std::string& text);
  bool Answer(gdb::GdbServer& server, const gdb::Received& received);
  bool MayGoOn();

  Descriptor client_;
  const GdbListener& listener_;
  int until_;
  gdb::GdbPacketReader reader_;
  std::string last_sent_;
  bool acknowledges_ = true;
  bool ended_ = false;  // nothing more comes
  bool gone_ = false;
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace flowback::cli
