// SPDX-License-Identifier: MIT
// The generated recordings as a recorder with a small buffer would have written them, in many
// pieces, read with little of them in memory: all sums as with all of it there.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "decode/stream_index.h"
#include "flowback/capture/open.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/time_account.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/flow_consumers.h"
#include "tests/support/perf_data_converter.h"

namespace flowback::golden {
namespace {

namespace fs = std::filesystem;
using support::FileBytes;
using support::PerfDataParts;

void Put64(FileBytes& bytes, size_t at, uint64_t value) {
  for (size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}
uint64_t Get64(const FileBytes& bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= uint64_t{bytes[at + i]} << (8 * i);
  return value;
}

// Each AUXTRACE record becomes several, of `size` bytes of data.
PerfDataParts InPieces(const PerfDataParts& parts, size_t size) {
  constexpr uint32_t kAuxtrace = 71;
  constexpr size_t kSizeAt = 8;
  constexpr size_t kOffsetAt = 16;
  PerfDataParts cut = parts;
  cut.records.clear();
  for (const PerfDataParts::Record& record : parts.records) {
    if (record.type != kAuxtrace) {
      cut.records.push_back(record);
      continue;
    }
    const FileBytes& all = record.data_behind;
    for (size_t begin = 0; begin < all.size(); begin += size) {
      PerfDataParts::Record piece = record;
      const size_t end = std::min(begin + size, all.size());
      piece.data_behind.assign(all.begin() + static_cast<ptrdiff_t>(begin),
                               all.begin() + static_cast<ptrdiff_t>(end));
      Put64(piece.bytes, kSizeAt, end - begin);
      Put64(piece.bytes, kOffsetAt, Get64(record.bytes, kOffsetAt) + begin);
      cut.records.push_back(piece);
    }
  }
  return cut;
}

class Windows : public ::testing::TestWithParam<PerfRecording> {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    const fs::path folder = TracesFolder() / "generated" / GetParam().name;
    std::ifstream file(folder / "perf.data", std::ios::binary);
    const PerfDataParts parts = support::TakeApart({std::istreambuf_iterator<char>(file), {}});
    ASSERT_FALSE(parts.records.empty());
    // Beside the recording's own name: tests run at the same time.
    path_ = fs::temp_directory_path() /
            ("flowback-windows-" + GetParam().name + "-" + std::to_string(getpid()));
    const FileBytes bytes = support::ToFile(InPieces(parts, 1000));
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void TearDown() override { fs::remove(path_); }

  static size_t Granule() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

  void Open(bool whole, OpenedPerf& opened, size_t idle = 0) const {
    OpenOptions options;
    options.input = path_;
    options.whole_streams = whole;
    options.join = {.granule = Granule(), .idle = idle};
    OpenPerf(GetParam(), options, {}, opened);
  }

  fs::path path_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Windows);

// Each piece by itself.
std::vector<FlowDigest> PieceDigests(const OpenedPerf& opened) {
  const auto decoder = Engine("native");
  std::vector<FlowDigest> digests;
  for (const ThreadFlow& flow : ThreadFlows(opened.recording, *opened.inputs))
    for (const FlowPiece& piece : flow.pieces) {
      FlowDigester digester;
      EXPECT_TRUE(DecodePiece(piece, *opened.inputs, *decoder, digester));
      digests.push_back(digester.digest());
    }
  return digests;
}

std::vector<uint64_t> TimesOf(const OpenedPerf& opened) {
  const auto decoder = Engine("native");
  const auto accounts = AccountFlow(opened.recording, *opened.inputs, *decoder);
  EXPECT_TRUE(accounts);
  std::vector<uint64_t> times;
  for (const TimeAccount& account : accounts->times.threads) {
    times.insert(times.end(), {account.begin, account.end, account.instructions, account.bytes});
    for (const TimeShare& share : account.shares) times.push_back(share.time);
  }
  return times;
}

TEST_P(Windows, EverySumIsTheSame) {
  OpenedPerf whole;
  ASSERT_NO_FATAL_FAILURE(Open(true, whole));
  OpenedPerf opened;
  ASSERT_NO_FATAL_FAILURE(Open(false, opened));
  ASSERT_EQ(opened.recording.streams.size(), whole.recording.streams.size());
  size_t joined = 0;
  for (size_t i = 0; i < whole.recording.streams.size(); ++i) {
    const Stream& stream = opened.recording.streams[i];
    EXPECT_EQ(whole.recording.streams[i].joined, nullptr);
    EXPECT_EQ(stream.bytes.size(), whole.recording.streams[i].bytes.size());
    EXPECT_EQ(opened.inputs->For(stream).changes.size(),
              whole.inputs->For(whole.recording.streams[i]).changes.size());
    joined += stream.joined != nullptr;
    if (stream.joined != nullptr) {
      EXPECT_LE(stream.joined->most_present(), 4u);
    }
  }
  EXPECT_NE(joined, 0u);
  const auto decoder = Engine("native");
  EXPECT_EQ(SummedDigests(opened, *decoder), DigestsOf(GetParam()));
  EXPECT_EQ(PieceDigests(opened), PieceDigests(whole));
  EXPECT_EQ(TimesOf(opened), TimesOf(whole));
  for (const Stream& stream : opened.recording.streams) {
    if (stream.joined != nullptr) {
      EXPECT_EQ(stream.joined->present(), 0u);
    }
  }
}

// What `info` does: packets, pauses and times in one pass, sums and the threads' time in another.
TEST_P(Windows, AreReadTwice) {
  OpenedPerf opened;
  ASSERT_NO_FATAL_FAILURE(Open(false, opened, 4));
  std::vector<size_t> before;
  for (const Stream& stream : opened.recording.streams)
    before.push_back(stream.joined != nullptr ? stream.joined->brought() : 0);
  const auto source = KeepIndexes(*OpenSource(opened.recording));
  const StreamInputs inputs(opened.recording, *opened.code, Resync::kEarliest, source);
  for (const Stream& stream : opened.recording.streams) source->Index(stream);
  ASSERT_TRUE(AccountFlow(opened.recording, inputs, *Engine("native")));
  for (const Stream& stream : opened.recording.streams) {
    if (stream.joined == nullptr) continue;
    // One more at either end, and some that are looked at again.
    const size_t once = stream.bytes.size() / Granule() + 2;
    const size_t brought = stream.joined->brought() - before[stream.index];
    EXPECT_LE(brought, 2 * once + 4) << stream.index;
    // The idle granules of a short one are not brought again.
    if (once > 20) {
      EXPECT_GE(brought, 2 * (once - 6)) << stream.index;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, Windows, ::testing::ValuesIn(PerfRecordings()),
                         [](const auto& test) { return TestName(test.param.name); });

}  // namespace
}  // namespace flowback::golden
