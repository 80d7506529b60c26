// SPDX-License-Identifier: MIT
// The recorder's end: what a thread wrote into one slot after the other comes in that order.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "capture/emulate/slot_writer.h"
#include "capture/record/emulate/emulate_engine.h"

namespace flowback::emulate {
namespace {

using record::SlotState;

// Keeps the trace bytes.
class Collector : public record::RecordingSink {
 public:
  const std::string& trace() const { return trace_; }
  size_t streams() const { return streams_; }

  Status AddStream(const record::RecordedStream&) override { return ++streams_, Status(); }
  Status AddSideband(const SidebandRecord&) override { return {}; }
  Status AddTrace(const record::RecordedStream&, Bytes bytes, uint64_t) override {
    trace_.append(bytes.begin(), bytes.end());
    return {};
  }
  Status AddCode(const record::MemoryCode&) override { return {}; }
  Status Finish(const RecordSummary&) override { return {}; }

 private:
  std::string trace_;
  size_t streams_ = 0;
};

void WriteAndEnd(record::SharedArea& area, const std::string& text) {
  SlotWriter writer = SlotWriter::Take(area, getpid(), gettid());
  ASSERT_TRUE(writer.open());
  writer.SetFlow({}, {}, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, 0);
  writer.End();
}

// A thread that becomes another program takes a new slot, perhaps one in front of its old one.
TEST(SlotOrder, IsThatInWhichTheyWereTaken) {
  RecordOptions options;
  const auto owned = record::OwnedArea::Create(options);
  ASSERT_TRUE(owned) << owned.error().message();
  record::SharedArea& area = (*owned)->area();
  // Meanwhile others hold the slots in front.
  for (int i = 0; i < 3; ++i) area.slots[i].state.store(SlotState::kTaken);
  for (const uint32_t next_free : {2, 1, 0}) {
    WriteAndEnd(area, std::string(8, static_cast<char>('a' + 2 - next_free)));
    area.slots[next_free].state.store(SlotState::kFree);
  }
  WriteAndEnd(area, "dddddddd");

  const pid_t program = fork();
  if (program == 0) _exit(0);
  Collector sink;
  record::EmulateEngine engine(options, 0, **owned, sink);
  const auto summary = engine.Run(program);
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(sink.streams(), 1u);
  EXPECT_EQ(sink.trace(), "aaaaaaaabbbbbbbbccccccccdddddddd");
}

}  // namespace
}  // namespace flowback::emulate
