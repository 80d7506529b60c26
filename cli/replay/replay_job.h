// SPDX-License-Identifier: MIT
// One run of `flowback replay`: opens the recording, then serves it to gdb.
#pragma once

#include <utility>

#include "cli/replay/gdb_listener.h"
#include "cli/replay/opened_replay.h"
#include "cli/replay/replay_options.h"
#include "flowback/base/error.h"

namespace flowback::cli {

class ReplayJob {
 public:
  // `options` must outlive it.
  ReplayJob(const ReplayOptions& options, Recording recording)
      : options_(options), replay_(options, std::move(recording)) {}

  // From the opened file to the exit status.
  int Execute();

 private:
  Status Run();
  Status RunServer();
  Status RunGdb();
  // Serves one client after the other until the descriptor becomes readable.
  void Serve(const GdbListener& listener, int until);
  Result<GdbListener> Listen() const;
  CodeMode Mode();

  const ReplayOptions& options_;
  OpenedReplay replay_;
  int gdb_status_ = 0;
};

}  // namespace flowback::cli
