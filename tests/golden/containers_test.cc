// SPDX-License-Identifier: MIT
// One recording in every container that perf knows: the same sideband, streams and digest as the
// file it was made from. Debian's perf opens what we make, so that we test against the real thing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/recorded/pt_config.h"
#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "tests/golden/engines.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/perf_data_converter.h"

namespace flowback::golden {
namespace {

namespace fs = std::filesystem;
using support::FileBytes;
using support::PerfDataParts;

class Containers : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    folder_ = fs::temp_directory_path() / ("flowback-containers-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    original_ = TracesFolder() / "generated" / GetParam() / "perf.data";
    std::ifstream file(original_, std::ios::binary);
    parts_ = support::TakeApart({std::istreambuf_iterator<char>(file), {}});
    ASSERT_FALSE(parts_.records.empty());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const FileBytes& bytes) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }

  fs::path folder_;
  fs::path original_;
  PerfDataParts parts_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Containers);

Recording Open(const std::string& path) {
  OpenOptions options;
  options.input = path;
  auto recording = OpenRecording(options);
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
}

std::vector<FlowDigest> Digests(const Recording& recording) {
  ImageSearch search;
  search.symfs = TracesFolder() / "generated" / "images";
  const auto code = RecordingCode::Load(recording, search);
  EXPECT_TRUE(code);
  const auto decoder = Engine("native");
  std::vector<FlowDigest> digests;
  for (const Stream& stream : recording.streams) {
    DecodeInput input;
    input.bytes = stream.bytes;
    input.code = &code->ForStream(stream);
    input.config = recording.config;
    input.time = recording.time;
    input.gaps = stream.gaps;
    const auto summary = decoder->Summarize(input);
    EXPECT_TRUE(summary);
    digests.push_back(summary->digest);
  }
  return digests;
}

uint64_t TimeOf(const SidebandRecord& record) {
  return std::visit([](const SidebandBase& base) { return base.time; }, record);
}

// One line for each record, so that a difference shows what differs.
std::vector<std::string> SidebandLines(const Recording& recording) {
  std::vector<std::string> lines;
  for (const SidebandRecord& record : recording.sideband) {
    const auto& base = std::visit([](const auto& r) -> const SidebandBase& { return r; }, record);
    std::string line = std::to_string(record.index()) + " time " + std::to_string(base.time) +
                       " pid " + std::to_string(base.pid) + " tid " + std::to_string(base.tid) +
                       " cpu " + std::to_string(base.cpu);
    if (const auto* map = std::get_if<MmapRecord>(&record)) {
      line += " " + std::to_string(map->address) + " " + std::to_string(map->size) + " " +
              map->path + " " + map->build_id.ToHex();
    }
    if (const auto* comm = std::get_if<CommRecord>(&record)) line += " " + comm->comm;
    lines.push_back(line);
  }
  return lines;
}

void ExpectSame(const Recording& converted, const Recording& original) {
  std::vector<std::string> lines = SidebandLines(converted);
  std::vector<std::string> expected = SidebandLines(original);
  if (converted.format != original.format) {  // records of one time may change places
    std::ranges::stable_sort(lines);
    std::ranges::stable_sort(expected);
  }
  EXPECT_EQ(lines, expected);
  EXPECT_TRUE(std::ranges::is_sorted(converted.sideband, {}, TimeOf));
  ASSERT_EQ(converted.streams.size(), original.streams.size());
  for (size_t i = 0; i < original.streams.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(converted.streams[i].bytes, original.streams[i].bytes));
    EXPECT_EQ(converted.streams[i].tid, original.streams[i].tid);
    EXPECT_EQ(converted.streams[i].pid, original.streams[i].pid);
    EXPECT_EQ(converted.streams[i].cpu, original.streams[i].cpu);
  }
  EXPECT_EQ(converted.warnings, original.warnings);
  EXPECT_EQ(converted.events, original.events);
  EXPECT_EQ(converted.build_ids, original.build_ids);
  EXPECT_EQ(converted.machine.cpuid, original.machine.cpuid);
  EXPECT_EQ(converted.machine.command_line, original.machine.command_line);
  EXPECT_EQ(converted.machine.hostname, original.machine.hostname);
  EXPECT_EQ(converted.machine.cpus_online, original.machine.cpus_online);
  EXPECT_EQ(PtConfigOf(converted.config).mtc_shift, PtConfigOf(original.config).mtc_shift);
  EXPECT_EQ(converted.time.zero, original.time.zero);
  EXPECT_EQ(PtConfigOf(converted.config).return_compression,
            PtConfigOf(original.config).return_compression);
  EXPECT_EQ(Digests(converted), Digests(original));
}

TEST_P(Containers, TheOriginalDecodes) {
  const Recording original = Open(original_);
  const std::vector<FlowDigest> digests = Digests(original);
  ASSERT_FALSE(digests.empty());
  for (const FlowDigest& digest : digests) EXPECT_NE(digest.count, 0u);
  ExpectSame(Open(Write("plain", support::ToFile(parts_))), original);
}

TEST_P(Containers, PipeMode) {
  ExpectSame(Open(Write("pipe", support::ToPipe(parts_))), Open(original_));
}

TEST_P(Containers, CompressedRecords) {
  // Pieces smaller than a record, of odd sizes, and one of everything.
  for (const size_t piece : {1u, 37u, 4096u, 30000u}) {
    SCOPED_TRACE(piece);
    ExpectSame(Open(Write("zstd", support::ToCompressed(parts_, piece))), Open(original_));
    ExpectSame(Open(Write("zstd2", support::ToCompressed(parts_, piece, true))), Open(original_));
  }
}

TEST_P(Containers, ForeignByteOrder) {
  ExpectSame(Open(Write("foreign", support::ToForeign(parts_))), Open(original_));
}

TEST_P(Containers, ForeignPipe) {
  ExpectSame(Open(Write("foreign-pipe", support::ToForeignPipe(parts_))), Open(original_));
}

TEST_P(Containers, Directory) {
  for (const auto& [name, bytes] : support::ToDirectory(parts_)) Write("dir/" + name, bytes);
  fs::create_directories(folder_ / "dir/kcore_dir");
  const Recording recording = Open(folder_ / "dir");
  ExpectSame(recording, Open(original_));
  EXPECT_EQ(recording.kcore_dir, folder_ / "dir/kcore_dir");
}

// The kernel's word that the buffer is overwritten, and snapshots of it that overlap. Their offsets
// are places in the buffer, so they are nonsense here.
PerfDataParts AsSnapshots(const PerfDataParts& parts, size_t length, size_t step) {
  constexpr uint32_t kAux = 11;
  constexpr uint32_t kAuxtrace = 71;
  constexpr size_t kSizeAt = 8;
  constexpr size_t kFlagsAt = 24;  // in AUX
  PerfDataParts snapshots = parts;
  snapshots.records.clear();
  for (const PerfDataParts::Record& record : parts.records) {
    PerfDataParts::Record piece = record;
    if (record.type == kAux) piece.bytes[kFlagsAt] |= 2;
    if (record.type != kAuxtrace) {
      snapshots.records.push_back(piece);
      continue;
    }
    const FileBytes& all = record.data_behind;
    for (size_t begin = 0; begin + length - step < all.size(); begin += step) {
      const size_t end = std::min(begin + length, all.size());
      piece.data_behind.assign(all.begin() + static_cast<ptrdiff_t>(begin),
                               all.begin() + static_cast<ptrdiff_t>(end));
      for (size_t i = 0; i < 8; ++i)
        piece.bytes[kSizeAt + i] = static_cast<uint8_t>(piece.data_behind.size() >> (8 * i));
      snapshots.records.push_back(piece);
    }
  }
  return snapshots;
}

// Many sync points, so that an overlap of two pages holds some.
TEST(Snapshots, OverlapIsDecodedOnce) {
  FLOWBACK_NEEDS_TRACES();
  const fs::path path = TracesFolder() / "generated/recursion-noretcomp/perf.data";
  std::ifstream file(path, std::ios::binary);
  const PerfDataParts parts = support::TakeApart({std::istreambuf_iterator<char>(file), {}});
  ASSERT_FALSE(parts.records.empty());
  const fs::path copy =
      fs::temp_directory_path() / ("flowback-snapshots-" + std::to_string(getpid()));
  for (const size_t step : {8192u, 20001u}) {
    SCOPED_TRACE(step);
    const FileBytes bytes = support::ToFile(AsSnapshots(parts, 32768, step));
    std::ofstream(copy, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const Recording recording = Open(copy);
    const Recording original = Open(path);
    ASSERT_EQ(recording.streams.size(), 1u);
    EXPECT_GT(recording.streams[0].repeated_bytes, 0u);
    EXPECT_TRUE(recording.streams[0].gaps.empty());
    const std::vector<FlowDigest> digests = Digests(recording);
    EXPECT_EQ(digests, Digests(original));
    EXPECT_EQ(digests.at(0).count, 517093u);
    EXPECT_EQ(digests.at(0).hash, 0xf13165e3ebe2e8f5u);
  }
  fs::remove(copy);
}

std::string PerfOutput(const std::string& command, int& status) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return text;
  std::array<char, 4096> buffer;
  for (size_t size; (size = fread(buffer.data(), 1, buffer.size(), pipe)) != 0;) {
    text.append(buffer.data(), size);
  }
  status = pclose(pipe);
  return text;
}

// How many records of each kind that is not a container's own perf lists.
std::map<std::string, int> RecordsPerfSees(const std::string& path) {
  int status = -1;
  const std::string text = PerfOutput("perf script -D -i " + path, status);
  EXPECT_EQ(status, 0) << text.substr(0, 2000);
  std::map<std::string, int> counts;
  for (const char* kind : {"MMAP2", "COMM", "EXIT", "FORK", "SWITCH", "ITRACE_START", "AUX ",
                           "AUXTRACE ", "AUXTRACE_INFO", "TIME_CONV"}) {
    const std::string wanted = std::string("PERF_RECORD_") + kind;
    for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
      ++counts[kind];
    }
  }
  return counts;
}

TEST_P(Containers, PerfOpensThem) {
  if (std::system("perf --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "perf is not installed (Debian: linux-perf)";
  }
  for (const auto& [name, bytes] : support::ToDirectory(parts_)) {
    if (name == "data") Write("dir/data", support::ToFile(parts_));  // perf refuses data.N with AUX
  }
  const std::map<std::string, int> expected = RecordsPerfSees(original_);
  ASSERT_GT(expected.at("AUXTRACE "), 0);
  std::vector<std::string> paths = {Write("zstd", support::ToCompressed(parts_, 100)),
                                    folder_ / "dir"};
  // In pipe mode perf 6.1 loses its place behind the first of several AUX areas.
  if (expected.at("AUXTRACE ") == 1) paths.push_back(Write("pipe", support::ToPipe(parts_)));
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    EXPECT_EQ(RecordsPerfSees(path), expected);
    int status = -1;
    const std::string header = PerfOutput("perf report --header-only -i " + path, status);
    EXPECT_EQ(status, 0) << header;
    EXPECT_NE(header.find("GenuineIntel,6"), std::string::npos) << header;
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, Containers,
                         ::testing::Values("hello", "pool-perthread", "recursion"),
                         [](const auto& test) { return TestName(test.param); });

}  // namespace
}  // namespace flowback::golden
