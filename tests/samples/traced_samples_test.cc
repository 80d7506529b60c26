// SPDX-License-Identifier: MIT
// Samples in the trace of a recording of which the truth is known: each comes where the flow stands
// at its instruction, after so many instructions, and at its time.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flowback/model/flow_segment.h"
#include "replay/samples/sample_assembler.h"
#include "tests/golden/generated.h"
#include "tests/golden/shared_traces.h"
#include "tests/golden/time_truth.h"

namespace flowback::golden {
namespace {

struct Joined {
  EventSample sample;
  uint64_t index = 0;  // instructions of the stream before it
  FlowPlace place;     // where the flow stands
};

// Counts instructions, and gives events to the assembler.
class Joiner final : public ExecutionConsumer {
 public:
  Joiner()
      : assembler_(
            [this](const EventSample& sample) { joined_.push_back({sample, index_, place_}); }) {}

  void OnBlock(const BlockRun& run) override {
    index_ += run.lengths.size();
    place_ = Behind(run);
  }
  void OnEvent(const TraceEvent& event) override {
    assembler_.OnEvent(event);
    place_ = Behind(event, place_);
  }
  void OnLoss(const DataLoss&) override {
    assembler_.OnLoss();
    place_ = {};
  }
  const std::vector<Joined>& joined() const { return joined_; }

 private:
  uint64_t index_ = 0;
  FlowPlace place_;
  std::vector<Joined> joined_;
  SampleAssembler assembler_;
};

struct TrueSample {
  uint64_t tsc, index, ip;
};

std::vector<TrueSample> TrueSamples(const std::string& folder) {
  std::vector<TrueSample> samples;
  for (const std::vector<std::string>& row : ReadCompressedTable(folder + "/events.txt.gz"))
    if (row.size() >= 10 && row[8] == "pebs")
      samples.push_back(
          {std::stoull(row[0]), std::stoull(row[7]), std::stoull(row[9], nullptr, 16)});
  return samples;
}

class TracedSamplesTest : public testing::Test {
 protected:
  void SetUp() override { FLOWBACK_NEEDS_TRACES(); }

  static std::vector<Joined> Decode(const DecodeInput& input) {
    Joiner joiner;
    Result<std::unique_ptr<Decoder>> decoder = MakeDecoder("native");
    EXPECT_TRUE(decoder && (*decoder)->Decode(input, joiner));
    return joiner.joined();
  }
};

TEST_F(TracedSamplesTest, EachIsAtItsTrueInstruction) {
  Result<GeneratedStream> stream = LoadGenerated("vcalls-pebs", 1);
  ASSERT_TRUE(stream) << stream.error().message();
  const std::vector<TrueSample> truth = TrueSamples(stream->folder);
  ASSERT_EQ(truth.size(), 2276u);
  for (const bool times : {false, true}) {
    DecodeInput input = stream->Input();
    input.times = times;
    const std::vector<Joined> joined = Decode(input);
    ASSERT_EQ(joined.size(), truth.size());
    for (size_t i = 0; i < truth.size(); ++i) {
      const EventSample& sample = joined[i].sample;
      ASSERT_EQ(sample.ip, truth[i].ip) << i;
      ASSERT_EQ(sample.place, EventSample::Place::kExact) << i;
      ASSERT_EQ(joined[i].index, truth[i].index) << i;
      ASSERT_EQ(joined[i].place, (FlowPlace{FlowPlace::Kind::kAt, truth[i].ip})) << i;
      ASSERT_EQ(sample.tsc, truth[i].tsc) << i;
      ASSERT_FALSE(sample.cut) << i;
      ASSERT_EQ(sample.unread, 0u) << i;
      ASSERT_EQ(sample.counters, 1u) << i;
      ASSERT_NE(sample.context, nullptr) << i;
      EXPECT_EQ(sample.context->registers.told(), (uint32_t{1} << 18) - 1) << i;
    }
  }
}

// Bytes taken away: a sample after them is one of the true ones, whole, and at its place.
TEST_F(TracedSamplesTest, BehindALossEachIsTrue) {
  Result<GeneratedStream> stream = LoadGenerated("vcalls-pebs", 1);
  ASSERT_TRUE(stream) << stream.error().message();
  std::map<uint64_t, uint64_t> truth;  // ip by time
  for (const TrueSample& sample : TrueSamples(stream->folder)) truth[sample.tsc] = sample.ip;
  const Bytes whole = stream->file->bytes();
  for (size_t cut = 0x68; cut < 0x68 + 0x1000; cut += 37) {
    std::vector<uint8_t> bytes(whole.begin(), whole.begin() + 0x8000);
    bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(cut),
                bytes.begin() + static_cast<ptrdiff_t>(cut) + 29);
    DecodeInput input = stream->Input();
    input.bytes = bytes;
    input.gaps = {{.offset = cut, .reason = "taken away"}};
    size_t good = 0;
    for (const Joined& joined : Decode(input)) {
      if (joined.sample.cut) continue;
      const auto known = truth.find(joined.sample.tsc);
      ASSERT_NE(known, truth.end()) << "cut at " << cut;
      EXPECT_EQ(joined.sample.ip, known->second);
      EXPECT_EQ(joined.sample.place, EventSample::Place::kExact);
      ++good;
    }
    EXPECT_GT(good, 10u) << cut;
  }
}

}  // namespace
}  // namespace flowback::golden
