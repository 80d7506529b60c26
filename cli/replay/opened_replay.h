// SPDX-License-Identifier: MIT
// A recording that is opened to be replayed: the machine at the moment that --at names.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/reading/opened_recording.h"
#include "cli/replay/replay_options.h"
#include "flowback/base/error.h"
#include "replay/crash/dump/living_dump.h"
#include "replay/debug/machine/machine.h"
#include "replay/debug/source/replayed_stacks.h"
#include "replay/debug/values/dumped_ends.h"
#include "replay/debug/values/end_core.h"
#include "replay/gdb/machine_view.h"
#include "replay/timeline/kept_times.h"

namespace flowback::cli {

class OpenedReplay {
 public:
  // `options` must outlive it.
  OpenedReplay(const ReplayOptions& options, Recording recording)
      : options_(options),
        opened_(options.reader, WithDumpedEnds(std::move(recording), options.reader.search.cores)) {
  }

  // Whether a recording may be of samples, between which it is unknown what ran.
  enum class Samples : uint8_t { kReplayed, kRefused };
  // Opens trace, code, threads. Errors: as OpenedRecording's steps; kUnsupported for samples that
  // are refused.
  Status Prepare(Samples samples = Samples::kReplayed);
  // Then the machine. Errors: as the index's and EndCore's; kUsage where nothing is left to replay
  // or --at names no place.
  Status OpenMachine();
  // Returns where the threads stood in the dump of a process that ran on; null: no such dump.
  const LivingDump* living() const { return living_ ? &*living_ : nullptr; }
  // What a server is given. REQUIRES: OpenMachine has succeeded.
  gdb::ServerInput Input();
  // As OpenedRecording's.
  Result<Output> OpenOutput() const { return opened_.OpenOutput(); }
  // Warns of losses and keeps what later commands can use. Returns the exit status. REQUIRES: as
  // Input.
  int End();
  // Ends without a machine, because of the error. Returns the exit status.
  int EndWithout(const Error& error) { return opened_.EndWithout(error); }

 private:
  std::vector<size_t> ThreadsOfProcess() const;
  std::string NamesOf(const std::map<int32_t, uint64_t>& executed) const;
  Status OpenCore();
  Status OpenLivingCore(const std::string& path, EndCore core);
  Status AddLosses();

  const ReplayOptions& options_;
  OpenedRecording opened_;
  std::unique_ptr<Decoder> decoder_;
  std::optional<FlowTimes> times_;  // known from making the index
  std::optional<FlowIndex> index_;
  std::optional<ReplayedMachine> machine_;
  std::optional<ReplayedStacks> stacks_;
  std::optional<EndCore> core_;
  std::optional<LivingDump> living_;
  ImageMemory images_;
};

}  // namespace flowback::cli
