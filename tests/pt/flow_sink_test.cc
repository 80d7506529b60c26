// SPDX-License-Identifier: MIT
// A sink that writes nothing but what it must, and sinks that promise what they do not keep.
#include "decode/pt/sinks/flow_sink.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "decode/effort.h"
#include "decode/flow/code_view.h"
#include "decode/null_consumer.h"
#include "decode/pt/engine/flow_bind.h"
#include "decode/pt/engine/flow_engine.h"
#include "decode/pt/engine/flow_hot.h"
#include "decode/pt/engine/flow_memo.h"
#include "decode/pt/engine/flow_packets.h"
#include "decode/pt/engine/flow_segments.h"
#include "decode/pt/engine/flow_sync.h"
#include "decode/pt/engine/flow_walk.h"
#include "decode/pt/memo/memo_cache.h"
#include "decode/pt/native_decoder.h"
#include "tests/support/generator/stream_generator.h"

namespace flowback::pt {
namespace {

// Counts instructions; all else is the defaults'.
class MinimalSink : public SinkDefaults<MinimalSink> {
 public:
  void Block(BlockGraph&, uint32_t, const Node& node, BlockExit, uint64_t, const Moment&) {
    retired_ += node.count;
  }
  void Part(BlockGraph&, uint32_t, unsigned count, const Moment&) { retired_ += count; }
  uint64_t retired() const { return retired_; }

 private:
  uint64_t retired_ = 0;
};
static_assert(FlowSink<MinimalSink>);

struct KeepsNothing : SinkDefaults<KeepsNothing> {};
static_assert(!FlowSink<KeepsNothing>, "a sink takes blocks");

struct HearsNoTimes : MinimalSink {
  static constexpr bool kWantsTimes = true;
};
static_assert(!FlowSink<HearsNoTimes>, "a sink that wants times takes marks");

struct HasNoFlow : MinimalSink {
  static constexpr bool kMemoises = true;
};
static_assert(!FlowSink<HasNoFlow>, "the engine adds the flow of paths");

struct ListsWithoutMemo : MinimalSink {
  static constexpr bool kListsBlocks = true;
};
static_assert(!FlowSink<ListsWithoutMemo>, "the lists are those of a memo's paths");

struct TellsNoLead : MinimalSink {
  static constexpr bool kTimesLeads = true;
};
static_assert(!FlowSink<TellsNoLead>, "only who takes paths, and times, can time how one begins");

// Where only events matter, a CYC need not make the engine walk the packet behind it.
TEST(EventSink, TakesThePathOfAPacketThatACycTimes) {
  testing::GeneratorOptions options;
  options.seed = 1;
  options.tsc = options.mtc = options.cyc = true;
  const testing::GeneratedStream stream = testing::GenerateStream(options);
  const AddressSpaceHistory history = testing::CodeOf(stream);
  DecodeInput input;
  input.bytes = stream.bytes;
  input.code = &history;
  input.config = stream.config;
  const std::unique_ptr<Decoder> decoder = MakeNativeDecoder();
  NullConsumer nobody;
  ASSERT_TRUE(decoder->SummarizeTimed(input, nobody));
  const Result<FlowSummary> again =
      decoder->SummarizeTimed(input, nobody);  // what is known by then
  ASSERT_TRUE(again);
  EXPECT_EQ(again->digest, stream.truth.digest);
  EXPECT_GT(again->effort->fast, 10 * again->effort->Of(SlowPacket::kTime));
}

TEST(FlowSink, TheDefaultsSufficeToCount) {
  for (const uint64_t seed : {1, 2, 3}) {
    testing::GeneratorOptions options;
    options.seed = seed;
    options.tsc = options.mtc = true;
    const testing::GeneratedStream stream = testing::GenerateStream(options);
    const AddressSpaceHistory history = testing::CodeOf(stream);
    DecodeInput input;
    input.bytes = stream.bytes;
    input.code = &history;
    input.config = stream.config;
    CodeMemory memory;
    CodeView code(history, memory.graphs);
    MinimalSink sink;
    const ByteAccount account = FlowEngine<MinimalSink>(input, code, memory.memos, sink).Run();
    EXPECT_EQ(account.decoded + account.padding + account.lost, stream.bytes.size());
    EXPECT_EQ(sink.retired(), stream.truth.digest.count) << "seed " << seed;
  }
}

}  // namespace
}  // namespace flowback::pt
