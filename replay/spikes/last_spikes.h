// SPDX-License-Identifier: MIT
// The slow instances that the last `spikes` of a recording found, for commands that go to one of
// them (`--at spike:N`, `--instance N`).
//
// The file is found by the recording's path and holds the recording's key: so a later command can
// distinguish a changed recording from one without a search for spikes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"
#include "flowback/model/recording.h"
#include "flowback/replay/flow_index.h"
#include "flowback/replay/threads.h"
#include "replay/spikes/spikes.h"

namespace flowback {

struct SlowInstance {
  int32_t pid = -1;  // of the thread
  int32_t tid = -1;
  uint64_t stream = 0;  // the first one that the thread wrote to, by number
  TimePoint begin;
  TimePoint end;
  uint64_t first_instruction = 0;  // instructions of the thread before it
  uint64_t end_instruction = 0;    // and before its end

  uint64_t instructions() const { return end_instruction - first_instruction; }

  bool IsOf(const ThreadFlow& flow) const {
    const bool same = flow.pid == pid && flow.tid == tid && !flow.pieces.empty();
    return same && flow.pieces.front().stream->index == stream;
  }
};

struct LastSpikes {
  std::string region;              // the instances' name for people
  std::vector<SlowInstance> slow;  // the slowest first, as SpikeReport::outliers; kMost at most

  static constexpr size_t kMost = 10'000;
};

LastSpikes LastSpikesOf(const SpikeReport& report, const std::vector<const ThreadFlow*>& flows,
                        const std::string& region);

// Does nothing if the cache has no folder or no key.
void KeepLastSpikes(const Recording& recording, const IndexCache& cache, const LastSpikes& spikes);
// Errors: kUsage if no command has kept any, or if the recording, its code or the options that it
// is decoded with have changed since.
Result<LastSpikes> LoadLastSpikes(const Recording& recording, const IndexCache& cache);

// As bytes, and back. Empty: these are no such bytes.
std::vector<uint8_t> LastSpikesToBytes(const LastSpikes& spikes);
std::optional<LastSpikes> LastSpikesFromBytes(Bytes bytes, const Recording& recording);

}  // namespace flowback
