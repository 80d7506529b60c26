// SPDX-License-Identifier: MIT
// Input for tests of a thread's calls: generated streams with cycles.
#pragma once

#include <cstdint>

#include "flowback/model/execution.h"
#include "replay/timeline/call_relay.h"
#include "tests/support/generator/stream_generator.h"

namespace flowback {

// Passes a flow on to a relay, batches as batches.
class RelayFeed final : public ExecutionConsumer {
 public:
  explicit RelayFeed(CallRelay& relay) : relay_(relay) {}
  void OnBlock(const BlockRun& run) override { relay_.OnBlock(run); }
  void OnBlocks(const BlockBatch& batch) override { relay_.OnBlocks(batch); }
  void OnEvent(const TraceEvent& event) override { relay_.OnEvent(event); }
  void OnLoss(const DataLoss& loss) override { relay_.OnLoss(loss); }

 private:
  CallRelay& relay_;
};

// Options of the seed's stream, with CYC packets and times.
inline testing::GeneratorOptions CycleOptions(uint64_t seed) {
  testing::GeneratorOptions options = testing::MixedOptions(seed);
  options.tsc = options.cyc = true;
  options.deferred_tips = false;
  options.instructions = 20'000;
  if (seed % 2 == 0) options.overflow_every = 0;
  if (seed % 3 == 0) options.interrupt_every = options.handler_every = 0;
  return options;
}

}  // namespace flowback
