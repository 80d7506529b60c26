// SPDX-License-Identifier: MIT
// One run of `flowback replay`: opens the recording, then serves it to gdb.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/reading/opened_recording.h"
#include "cli/replay/gdb_listener.h"
#include "cli/replay/replay_options.h"
#include "flowback/base/error.h"
#include "replay/debug/end_core.h"
#include "replay/debug/machine.h"
#include "replay/debug/replayed_stacks.h"

namespace flowback::cli {

class ReplayJob {
 public:
  // `options` must outlive it.
  ReplayJob(const ReplayOptions& options, Recording recording)
      : options_(options), opened_(options.reader, std::move(recording)) {}

  // From the opened file to the exit status.
  int Execute();

 private:
  Status Prepare();
  Status OpenMachine();
  Status OpenCore();
  std::vector<size_t> ThreadsOfProcess() const;
  Status Run();
  Status RunServer();
  Status RunGdb();
  // Serves one client after the other until the descriptor becomes readable.
  void Serve(const GdbListener& listener, int until);
  Result<GdbListener> Listen() const;

  const ReplayOptions& options_;
  OpenedRecording opened_;
  std::unique_ptr<Decoder> decoder_;
  std::optional<FlowIndex> index_;
  std::optional<ReplayedMachine> machine_;
  std::optional<ReplayedStacks> stacks_;
  std::optional<EndCore> core_;
  int gdb_status_ = 0;
};

}  // namespace flowback::cli
