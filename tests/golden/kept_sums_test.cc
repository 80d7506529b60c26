// SPDX-License-Identifier: MIT
// Sums that were kept are those that were made, with every loss and what it says; bytes that are
// no sums of these streams are none.
#include "replay/flow/kept_sums.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/code/temporary_folder.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/random.h"

namespace flowback::golden {
namespace {

using Sums = std::vector<FlowSummary>;

auto Fields(const DataLoss& loss) {
  return std::tuple(loss.cause, loss.begin, loss.end, loss.tsc, loss.bounds.lo, loss.bounds.hi,
                    loss.end_tsc, loss.end_bounds.lo, loss.end_bounds.hi, loss.last_ip, loss.detail,
                    loss.stay, loss.code, loss.count, loss.between, loss.after);
}

void ExpectSame(const FlowTotals& got, const FlowTotals& made) {
  EXPECT_EQ(got.digest.count, made.digest.count);
  EXPECT_EQ(got.digest.hash, made.digest.hash);
  for (const auto number : {&FlowTotals::blocks, &FlowTotals::taken, &FlowTotals::not_taken,
                            &FlowTotals::jumps, &FlowTotals::indirect_jumps, &FlowTotals::calls,
                            &FlowTotals::indirect_calls, &FlowTotals::returns, &FlowTotals::far,
                            &FlowTotals::bytes_decoded, &FlowTotals::bytes_padding,
                            &FlowTotals::bytes_lost, &FlowTotals::first_tsc, &FlowTotals::last_tsc})
    EXPECT_EQ(got.*number, made.*number);
  ASSERT_EQ(got.losses.size(), made.losses.size());
  for (size_t i = 0; i < made.losses.size(); ++i)
    EXPECT_TRUE(Fields(got.losses[i]) == Fields(made.losses[i])) << "loss " << i;
}

void ExpectSame(const Sums& got, const Sums& made) {
  ASSERT_EQ(got.size(), made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    ExpectSame(got[i], made[i]);
    ASSERT_EQ(got[i].parts.size(), made[i].parts.size());
    for (size_t part = 0; part < made[i].parts.size(); ++part) {
      EXPECT_EQ(got[i].parts[part].stay, made[i].parts[part].stay);
      EXPECT_EQ(got[i].parts[part].begin, made[i].parts[part].begin);
      EXPECT_EQ(got[i].parts[part].end, made[i].parts[part].end);
      ExpectSame(got[i].parts[part].totals, made[i].parts[part].totals);
    }
  }
}

Sums MadeOf(const OpenedPerf& opened) {
  const std::unique_ptr<Decoder> decoder = Engine("native");
  Sums sums;
  for (const Stream& stream : opened.recording.streams) {
    Result<FlowSummary> sum = decoder->Summarize(opened.inputs->For(stream));
    EXPECT_TRUE(sum);
    sums.push_back(std::move(*sum));
  }
  return sums;
}

class KeptSumsTest : public ::testing::TestWithParam<PerfRecording> {};

TEST_P(KeptSumsTest, AreThoseThatWereMade) {
  for (const Change& change : {Change(), Damaged(1 << 16)}) {
    OpenedPerf opened;
    ASSERT_NO_FATAL_FAILURE(OpenPerf(GetParam(), change, opened));
    const Sums made = MadeOf(opened);
    const auto bytes = SumsToBytes(made, opened.recording, *opened.inputs);
    ASSERT_FALSE(bytes.empty());
    const auto kept = SumsFromBytes(bytes, opened.recording, *opened.inputs);
    ASSERT_TRUE(kept);
    ExpectSame(*kept, made);
  }
}

// A decoder that is asked in vain, so that what was kept must do.
class NoDecoder final : public Decoder {
  Result<ByteAccount> Decode(const DecodeInput&, ExecutionConsumer&) override {
    return Fail(ErrorCode::kSystem, "nothing is decoded");
  }
};

class KeptSumsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    for (const PerfRecording& recording : PerfRecordings()) {
      if (recording.name == "spin-cyc") OpenPerf(recording, {}, opened_);
      if (recording.name == "switch-cyc") OpenPerf(recording, {}, other_);
    }
  }
  static KeptSums Open(const OpenedPerf& opened, const std::string& folder) {
    return KeptSums(opened.recording, *opened.inputs, {.folder = folder, .key = "test"});
  }
  static void Keep(const OpenedPerf& opened, const std::string& folder, size_t streams = SIZE_MAX) {
    KeptSums sums = Open(opened, folder);
    const std::unique_ptr<Decoder> decoder = Engine("native");
    for (const Stream& stream : opened.recording.streams)
      if (stream.index < streams) {
        EXPECT_TRUE(sums.Of(stream, *decoder));
      }
    sums.Keep();
  }
  bool AreKept() const { return Open(opened_, folder_.path()).were_kept(); }
  std::string file() const { return folder_ / "sums-test.cache"; }

  const TemporaryFolder folder_;
  OpenedPerf opened_;
  OpenedPerf other_;
};

TEST_F(KeptSumsFile, SavesDecoding) {
  EXPECT_FALSE(AreKept());
  Keep(opened_, folder_.path());
  KeptSums kept = Open(opened_, folder_.path());
  ASSERT_TRUE(kept.were_kept());
  NoDecoder none;
  Sums sums;
  for (const Stream& stream : opened_.recording.streams) {
    const Result<FlowSummary> sum = kept.Of(stream, none);
    ASSERT_TRUE(sum);
    sums.push_back(*sum);
  }
  ExpectSame(sums, MadeOf(opened_));
}

TEST_F(KeptSumsFile, IsOfAllStreamsOrNone) {
  ASSERT_GT(opened_.recording.streams.size(), 1u);
  Keep(opened_, folder_.path(), 1);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(KeptSumsFile, CutOrDamagedIsNone) {
  Keep(opened_, folder_.path());
  ASSERT_TRUE(AreKept());
  std::ifstream in(file(), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  ASSERT_GT(whole.size(), 100u);
  const auto write = [&](const std::string& bytes) {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
  };
  for (size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    ASSERT_FALSE(AreKept()) << size << " bytes of " << whole.size();
    std::string damaged = whole;
    damaged[size] = static_cast<char>(damaged[size] ^ 0x20);
    write(damaged);
    ASSERT_FALSE(AreKept()) << "byte " << size << " of " << whole.size();
  }
  write(whole);
  EXPECT_TRUE(AreKept());
}

// Under this recording's name: its bytes do not add up to these streams'.
TEST_F(KeptSumsFile, OfAnotherRecordingIsNone) {
  Keep(other_, folder_.path());
  ASSERT_TRUE(Open(other_, folder_.path()).were_kept());
  EXPECT_FALSE(AreKept());
}

// Bytes behind a right checksum that are nothing do no harm.
TEST_F(KeptSumsFile, MayHoldAnything) {
  const auto whole = SumsToBytes(MadeOf(opened_), opened_.recording, *opened_.inputs);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(SumsFromBytes(Bytes(whole).first(size), opened_.recording, *opened_.inputs));
  flowback::testing::Random random(3);
  for (int i = 0; i < 3'000; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (uint64_t changes = 1 + random.Below(3); changes != 0; --changes)
      bytes[random.Below(bytes.size())] = static_cast<uint8_t>(random.Below(256));
    SumsFromBytes(bytes, opened_.recording, *opened_.inputs);
  }
}

std::vector<PerfRecording> Recordings() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  for (const PerfRecording& overflown : OverflownPerfRecordings()) recordings.push_back(overflown);
  return recordings;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KeptSumsTest);
INSTANTIATE_TEST_SUITE_P(Recordings, KeptSumsTest, ::testing::ValuesIn(Recordings()),
                         [](const ::testing::TestParamInfo<PerfRecording>& which) {
                           return TestName(which.param.name);
                         });

}  // namespace
}  // namespace flowback::golden
