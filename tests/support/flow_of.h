// SPDX-License-Identifier: MIT
// A decoder's flow of a stream, kept as a segment, and ways to look at it.
#pragma once

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/model/flow_segment.h"

namespace flowback {

// Fails the running test where the decoder can't be set up. The decoder and the input's code must
// outlive the segment.
inline FlowSegment FlowOf(Decoder& decoder, const DecodeInput& input) {
  FlowSegment flow;
  SegmentRecorder recorder(flow);
  EXPECT_TRUE(decoder.Decode(input, recorder));
  return flow;
}

// Calls the visitor that takes such an item, with the number of instructions before it if it takes
// that, too. Items that it does not take are passed over.
template <class Visitor, class Item>
void VisitItem(Visitor& visitor, const Item& item, uint64_t before) {
  if constexpr (std::invocable<Visitor&, const Item&, uint64_t>)
    visitor(item, before);
  else if constexpr (std::invocable<Visitor&, const Item&>)
    visitor(item);
}

template <class... Visitors>
struct Visitor : Visitors... {
  using Visitors::operator()...;
};

// In order; each block of a batch is a run by itself:
//   ForEachItem(flow, [](const BlockRun& run) {...}, [](const DataLoss& loss, uint64_t before)
//   {...})
template <class... Visitors>
void ForEachItem(const FlowSegment& flow, Visitors... visitors) {
  Visitor<Visitors...> visitor{visitors...};
  for (size_t item = 0; item < flow.size(); ++item) {
    uint64_t before = flow[item].first;
    switch (flow[item].kind) {
      case FlowSegment::Kind::kBlocks: {
        const BlockBatch batch = flow.Batch(item);
        for (BlockRuns runs(batch); runs.Next(); before += runs.block().count)
          VisitItem(visitor, runs.run(), before);
        break;
      }
      case FlowSegment::Kind::kBlock:
        VisitItem(visitor, flow.Run(item), before);
        break;
      case FlowSegment::Kind::kEvent:
        VisitItem(visitor, flow.Event(item), before);
        break;
      case FlowSegment::Kind::kLoss:
        VisitItem(visitor, flow.Loss(item), before);
        break;
      case FlowSegment::Kind::kUnknown:
        VisitItem(visitor, flow.Unknown(item), before);
        break;
    }
  }
}

// Calls visit(run, i, address) for each executed instruction, which is the run's number `i`.
template <class Visit>
void ForEachInstruction(const FlowSegment& flow, Visit visit) {
  ForEachItem(flow, [&visit](const BlockRun& run) {
    uint64_t address = run.address;
    for (size_t i = 0; i < run.lengths.size(); address += run.lengths[i++]) visit(run, i, address);
  });
}

// Returns the addresses of all executed instructions.
inline std::vector<uint64_t> AddressesOf(const FlowSegment& flow) {
  std::vector<uint64_t> addresses;
  addresses.reserve(flow.instructions());
  ForEachInstruction(
      flow, [&](const BlockRun&, size_t, uint64_t address) { addresses.push_back(address); });
  return addresses;
}

// A control transfer, as `perf script` lists them; 0 stands for an untraced address.
struct ListedBranch {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t tsc = 0;
  TscInterval bounds;
};

inline std::vector<ListedBranch> BranchesOf(const FlowSegment& flow) {
  std::vector<ListedBranch> branches;
  ForEachItem(
      flow,
      [&](const BlockRun& run) {
        if (run.exit != BlockExit::kTaken && run.exit != BlockExit::kStopped) return;
        branches.push_back({run.LastAddress(), run.exit == BlockExit::kTaken ? run.next : 0,
                            run.tsc, run.BoundsOf(run.lengths.size() - 1)});
      },
      [&](const TraceEvent& event) {
        if (event.kind == EventKind::kStarted)
          branches.push_back({0, event.ip, event.tsc, event.bounds});
        if (event.kind == EventKind::kStoppedAsync)
          branches.push_back({event.ip, 0, event.tsc, event.bounds});
        if (event.kind == EventKind::kInterrupted)
          branches.push_back({event.ip, event.target, event.tsc, event.bounds});
      });
  return branches;
}

}  // namespace flowback
