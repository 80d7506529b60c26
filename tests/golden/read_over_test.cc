// SPDX-License-Identifier: MIT
// What a reader says was executed in the flow that it has read over: that and no more, whenever it
// is asked, and whoever else reads over flow of the same decoder in between.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "flowback/decode/decoder.h"
#include "flowback/decode/flow_reader.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

constexpr uint64_t kStep = 6'000;  // bytes
constexpr unsigned kSteps = 8;

class Silent final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun&) override {}
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}
};

// The executed blocks by address, about how many instructions in all.
struct Uses {
  std::set<uint64_t> blocks;
  uint64_t instructions = 0;
  uint64_t read = 0;  // instructions from the reader
};

// Reads over a stream step by step.
class Reading {
 public:
  Reading(Decoder& decoder, const DecodeInput& input, uint64_t from) {
    Result<std::unique_ptr<FlowReader>> reader = decoder.Read(input);
    EXPECT_TRUE(reader);
    reader_ = std::move(*reader);
    reader_->ReadTo(from, silent_);
  }
  // False: it can't.
  bool Step() {
    const auto instructions = reader_->ReadOver(reader_->offset() + kStep, silent_);
    uses_.read += instructions.value_or(0);
    return instructions.has_value();
  }
  void Take() {
    reader_->TakeUses(
        [this](const BlockTable& table, uint32_t block, uint64_t instructions, uint8_t) {
          uses_.blocks.insert(table[block].address);
          uses_.instructions += instructions;
        });
  }
  const Uses& uses() const { return uses_; }

 private:
  Silent silent_;
  std::unique_ptr<FlowReader> reader_;
  Uses uses_;
};

// By a decoder of its own.
std::optional<Uses> Alone(const DecodeInput& input, uint64_t from, bool asks_often) {
  const std::unique_ptr<Decoder> decoder = Engine("native");
  Reading reading(*decoder, input, from);
  for (unsigned i = 0; i < kSteps; ++i) {
    if (!reading.Step()) return std::nullopt;
    if (asks_often) reading.Take();
  }
  reading.Take();
  return reading.uses();
}

// The instructions of one use of a path in seventeen are counted.
void ExpectAboutWhatWasRead(const Uses& uses) {
  EXPECT_GT(uses.instructions, uses.read * 9 / 10);
  EXPECT_LT(uses.instructions, uses.read * 11 / 10);
}

// Whether two places of the stream are of different code.
bool ExpectOwnUses(const DecodeInput& input, uint64_t one, uint64_t other) {
  const auto alone = Alone(input, one, false);
  const auto often = Alone(input, one, true);
  const auto elsewhere = Alone(input, other, false);
  if (!alone || !often || !elsewhere) return false;
  ExpectAboutWhatWasRead(*alone);
  ExpectAboutWhatWasRead(*often);
  EXPECT_TRUE(often->blocks == alone->blocks);
  const std::unique_ptr<Decoder> decoder = Engine("native");
  Reading first(*decoder, input, one);
  Reading second(*decoder, input, other);
  for (unsigned i = 0; i < kSteps; ++i) EXPECT_TRUE(first.Step() && second.Step());
  second.Take();
  first.Take();
  EXPECT_TRUE(first.uses().blocks == alone->blocks);
  EXPECT_TRUE(second.uses().blocks == elsewhere->blocks);
  ExpectAboutWhatWasRead(first.uses());
  ExpectAboutWhatWasRead(second.uses());
  return alone->blocks != elsewhere->blocks;
}

TEST(ReadOver, TellsWhatItsOwnFlowExecuted) {
  FLOWBACK_NEEDS_TRACES();
  size_t different = 0;
  for (const PerfRecording& recording : PerfRecordings()) {
    OpenedPerf opened;
    ASSERT_NO_FATAL_FAILURE(OpenPerf(recording, {}, opened));
    for (const Stream& stream : opened.recording.streams) {
      DecodeInput input = opened.inputs->For(stream);
      input.times = true;
      const uint64_t size = stream.bytes.size();
      if (size < 4 * kSteps * kStep || !input.gaps.empty() || input.changes.size() > 1) continue;
      SCOPED_TRACE(recording.name);
      different += ExpectOwnUses(input, size / 10, size / 2) ? 1 : 0;
    }
  }
  EXPECT_GT(different, 1u);
}

}  // namespace
}  // namespace flowback::golden
