// SPDX-License-Identifier: MIT
// One run of `flowback replay --dap`: an editor's messages from a descriptor to a server, and back.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "cli/replay/gdb_listener.h"
#include "cli/replay/opened_replay.h"
#include "cli/replay/replay_options.h"
#include "replay/dap/dap_server.h"
#include "replay/dap/messages.h"

namespace flowback::cli {

class DapJob {
 public:
  // Messages come from `in` and go to `out`. `listener`: where others may want to connect, who are
  // turned away; null: nowhere. The session ends when `until` becomes readable (-1: never).
  DapJob(const ReplayOptions& options, int in, int out, const GdbListener* listener = nullptr,
         int until = -1)
      : given_(options),
        options_(options),
        in_(in),
        out_(out),
        listener_(listener),
        until_(until) {}

  // Answers until the client has gone or is done. Returns the exit status.
  int Execute();

 private:
  Result<const gdb::ServerInput*> Open(const dap::Wanted& wanted);
  bool WaitForBytes(int milliseconds);
  bool Receive();
  void Send(const dap::Json& message);
  bool ClientListens();
  void RefuseOthers() const;
  bool IsCancelled(const dap::Json& message) const;
  bool IsEnded() const;
  bool MayGoOn();

  const ReplayOptions given_;
  ReplayOptions options_;  // with what the client wants
  const int in_;
  const int out_;
  const GdbListener* const listener_;
  const int until_;
  std::optional<OpenedReplay> replay_;
  std::optional<gdb::ServerInput> input_;
  std::optional<dap::DapServer> server_;
  dap::MessageReader reader_;
  std::deque<dap::ReceivedMessage> waiting_;
  std::chrono::steady_clock::time_point looked_{};
  bool ended_ = false;  // nothing more comes; what has come is still answered
  bool gone_ = false;
};

// Serves the one client that the options say. Returns the exit status.
int ServeEditor(const ReplayOptions& options);

}  // namespace flowback::cli
