// SPDX-License-Identifier: MIT
#include "tests/bench/graph_walk.h"

#include <utility>

#include "decode/flow/code_view.h"
#include "decode/pt/engine/flow_bind.h"
#include "decode/pt/engine/flow_engine.h"
#include "decode/pt/engine/flow_hot.h"
#include "decode/pt/engine/flow_memo.h"
#include "decode/pt/engine/flow_packets.h"
#include "decode/pt/engine/flow_segments.h"
#include "decode/pt/engine/flow_sync.h"
#include "decode/pt/engine/flow_walk.h"
#include "decode/pt/memo/memo_cache.h"
#include "decode/pt/sinks/sinks.h"

namespace flowback::bench {
namespace {

class WalkingSink : public pt::CountingSink {
 public:
  static constexpr bool kMemoises = false;
  static constexpr bool kCountsUses = false;  // of paths, and there are none
};

}  // namespace

struct GraphWalk::Graphs {
  pt::CodeMemory memory;
};

GraphWalk::GraphWalk() : graphs_(std::make_unique<Graphs>()) {}
GraphWalk::~GraphWalk() = default;

uint64_t GraphWalk::Count(const DecodeInput& input) {
  pt::CodeView code(*input.code, graphs_->memory.graphs);
  WalkingSink sink;
  pt::FlowEngine<WalkingSink>(input, code, graphs_->memory.memos, sink).Run();
  return std::move(sink).Summary().digest.count;
}

}  // namespace flowback::bench
