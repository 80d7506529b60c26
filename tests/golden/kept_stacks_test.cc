// SPDX-License-Identifier: MIT
// Stacks anywhere in the generated recordings, whole and damaged, from kept ones: what playing each
// thread from its begin tells.
#include "flowback/replay/kept_stacks.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/calls/stacks_anywhere.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/random.h"

namespace flowback::golden {
namespace {

using calls_test::AnywhereSums;

class KeptStacksTest : public ::testing::TestWithParam<PerfRecording> {
 protected:
  void Expect(const Change& change) {
    OpenedPerf opened;
    ASSERT_NO_FATAL_FAILURE(OpenPerf(GetParam(), change, opened));
    opened.inputs->set_times(true);
    uint64_t bytes = 0;
    for (const Stream& stream : opened.recording.streams) bytes += stream.bytes.size();
    const std::unique_ptr<Decoder> decoder = Engine("native");
    const AnywhereSums sums = calls_test::ExpectStacksAnywhere(
        opened.recording, *opened.inputs, *decoder,
        {.segment_bytes = std::max<uint64_t>(bytes / 60, 512), .places = 12});
    EXPECT_GT(sums.stacks, 0u);
    EXPECT_EQ(sums.kept, sums.shares);
  }
};

TEST_P(KeptStacksTest, TellWhatPlayingTells) { Expect({}); }

// With some bytes of each 32 KB as none were.
TEST_P(KeptStacksTest, TellWhatPlayingTellsBehindLosses) {
  Expect([](const Stream& stream) {
    std::vector<uint8_t> bytes(stream.bytes.begin(), stream.bytes.end());
    flowback::testing::Random random(bytes.size());
    for (size_t at = random.Below(4096); at < bytes.size(); at += random.Below(1 << 15))
      bytes[at] = static_cast<uint8_t>(random.Below(256));
    return bytes;
  });
}

std::vector<PerfRecording> Recordings() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  for (const PerfRecording& overflown : OverflownPerfRecordings()) recordings.push_back(overflown);
  return recordings;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KeptStacksTest);
INSTANTIATE_TEST_SUITE_P(Recordings, KeptStacksTest, ::testing::ValuesIn(Recordings()),
                         [](const ::testing::TestParamInfo<PerfRecording>& which) {
                           return TestName(which.param.name);
                         });

}  // namespace
}  // namespace flowback::golden
