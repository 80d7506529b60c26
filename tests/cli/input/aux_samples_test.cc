// SPDX-License-Identifier: MIT
// `perf record --aux-sample`: the trace comes in samples, each with the last bytes of its buffer.
#include <gtest/gtest.h>

#include <fstream>

#include "capture/formats/perf_records/perf_layout.h"
#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/perf_data_converter.h"

namespace flowback::test {
namespace {

using namespace perf;
using support::FieldWriter;
using support::FileBytes;
using support::PerfDataParts;

constexpr char kDigest[] = "4661 121899 05f92d9e03eb0afb\n";
constexpr uint64_t kEvent = 104;  // the event's id that is sampled
constexpr uint64_t kUsualSample =
    kSampleIdentifier | kSampleIp | kSampleTid | kSampleTime | kSampleCpu | kSamplePeriod;

// Fields of all sizes before the AUX data.
constexpr uint64_t kAllFields =
    kUsualSample | kSampleAddr | kSampleId | kSampleStreamId | kSampleRead | kSampleCallchain |
    kSampleRaw | kSampleBranchStack | kSampleRegsUser | kSampleStackUser | kSampleWeight |
    kSampleDataSource | kSampleTransaction | kSampleRegsIntr | kSamplePhysicalAddress |
    kSampleCgroup | kSampleDataPageSize | kSampleCodePageSize;

void Patch(FileBytes& bytes, size_t at, uint64_t value) {
  for (unsigned i = 0; i < 8; ++i) bytes.at(at + i) = static_cast<uint8_t>(value >> (8 * i));
}

FileBytes SampleRecord(uint64_t type, uint64_t time, const FileBytes& aux) {
  FieldWriter body;
  body.U64(kEvent).U64(0x401000).U32(4661).U32(4661).U64(time);
  if (type & kSampleAddr) body.U64(0);
  if (type & kSampleId) body.U64(kEvent);
  if (type & kSampleStreamId) body.U64(kEvent);
  body.U32(1).U32(0).U64(1000);
  if (type & kSampleRead) body.U64(5).U64(kEvent);  // value, id
  if (type & kSampleCallchain) body.U64(2).U64(1).U64(2);
  if (type & kSampleRaw) body.U32(12).Raw(FileBytes(12, 7));
  if (type & kSampleBranchStack) body.U64(2).U64(0).Raw(FileBytes(48, 7));
  if (type & kSampleRegsUser) body.U64(2).U64(1).U64(2);  // 64 bit, two registers
  if (type & kSampleStackUser) body.U64(16).Raw(FileBytes(16, 7)).U64(16);
  if (type & kSampleWeight) body.U64(1).U64(2).U64(3);  // with data source, transaction
  if (type & kSampleRegsIntr) body.U64(0);              // none
  if (type & kSamplePhysicalAddress) body.U64(1).U64(2).U64(3).U64(4);
  const size_t padding = (8 - aux.size() % 8) % 8;
  body.U64(aux.size() + padding).Raw(aux).Raw(FileBytes(padding));
  FieldWriter record;
  record.U32(kRecordSample).U16(2).U16(static_cast<uint16_t>(8 + body.bytes.size()));
  return record.Raw(body.bytes).bytes;
}

class AuxSamples : public ::testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    const auto folder = golden::TracesFolder() / "generated";
    std::ifstream file(folder / "hello/perf.data", std::ios::binary);
    parts_ = support::TakeApart({std::istreambuf_iterator<char>(file), {}});
    std::ifstream raw(folder / "hello/pt-1.bin", std::ios::binary);
    trace_.assign(std::istreambuf_iterator<char>(raw), {});
    ASSERT_GT(trace_.size(), 6000u);
    std::erase_if(parts_.records, [](const PerfDataParts::Record& record) {
      return record.type == kRecordAuxtrace || record.type == kRecordAux;
    });
  }

  // One sample after each `step` bytes of trace, of the last `size` ones.
  PerfDataParts Sampled(size_t step, size_t size, uint64_t type) const {
    PerfDataParts parts = parts_;
    PerfDataParts::Event event = parts.events.at(1);
    Patch(event.attr, 24, type | kSampleAux);
    Patch(event.attr, 32, kReadId);
    Patch(event.attr, kBranchSampleTypeAt, kBranchHardwareIndex);
    Patch(event.attr, kRegsUserAt, 3);
    Patch(event.attr, kRegsIntrAt, 7);
    event.ids = {kEvent};
    parts.events.push_back(event);
    for (size_t end = step;; end += step) {
      end = std::min(end, trace_.size());
      const size_t begin = end - std::min(end, size);
      const FileBytes aux(trace_.begin() + static_cast<ptrdiff_t>(begin),
                          trace_.begin() + static_cast<ptrdiff_t>(end));
      const uint64_t time = 9339999317633 + 10 * end;
      parts.records.push_back({kRecordSample, SampleRecord(type, time, aux), {}});
      if (end == trace_.size()) return parts;
    }
  }

  ProgramResult Run(std::vector<std::string> words, const FileBytes& file) const {
    words.push_back(folder_.Write("perf.data", std::string(file.begin(), file.end())));
    words.insert(words.end(), {"--symfs", golden::TracesFolder() / "generated/images"});
    return RunFlowback(words);
  }
  ProgramResult Digest(const FileBytes& file) const {
    return Run({"decode", "--as", "digest"}, file);
  }

  ScratchFolder folder_;
  PerfDataParts parts_;
  FileBytes trace_;
};

// Each holds the end of the one before: nothing is lost, and nothing is there twice.
TEST_F(AuxSamples, ThatOverlapAreTheWholeTrace) {
  for (const size_t step : {501, 1000, 3000}) {
    const ProgramResult result = Digest(support::ToFile(Sampled(step, 6000, kUsualSample)));
    EXPECT_EQ(result.out, kDigest) << step;
    EXPECT_TRUE(result.err.contains("overlap: ")) << result.err;
  }
}

TEST_F(AuxSamples, WithAllOtherFields) {
  const ProgramResult result = Digest(support::ToFile(Sampled(2000, 6000, kAllFields)));
  EXPECT_EQ(result.out, kDigest) << result.err;
}

TEST_F(AuxSamples, InOtherContainers) {
  const PerfDataParts parts = Sampled(2000, 6000, kUsualSample);
  EXPECT_EQ(Digest(support::ToPipe(parts)).out, kDigest);
  EXPECT_EQ(Digest(support::ToCompressed(parts, 900)).out, kDigest);
  EXPECT_EQ(Digest(support::ToForeign(parts)).out, kDigest);
}

// Samples that are taken rarely: what is between them is lost, and said so.
TEST_F(AuxSamples, WithGaps) {
  const FileBytes file = support::ToFile(Sampled(3000, 2600, kUsualSample));
  const ProgramResult result = Digest(file);
  EXPECT_EQ(result.status, 0);
  ASSERT_TRUE(result.out.starts_with("4661 ")) << result.out;
  const int count = std::stoi(Words(result.out).at(1));
  EXPECT_GT(count, 10000);
  EXPECT_LT(count, 121899);
  EXPECT_TRUE(result.err.contains("AUX data lost")) << result.err;
  const ProgramResult listed = Run({"decode", "-F", "ip"}, file);
  EXPECT_EQ(Lines(listed.out).size(), static_cast<size_t>(count));
  EXPECT_TRUE(listed.out.contains("between two samples: nothing was recorded")) << listed.err;
}

// The size of the AUX data says more than the record holds.
TEST_F(AuxSamples, ThatLie) {
  PerfDataParts parts = Sampled(3000, 6000, kUsualSample);
  FileBytes& record = parts.records.back().bytes;
  Patch(record, 8 + 6 * 8, ~uint64_t{0});
  const ProgramResult result = Digest(support::ToFile(parts));
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(result.out.starts_with("4661 ")) << result.out;
  EXPECT_TRUE(result.err.contains("1 records are too short for their fields")) << result.err;
}

}  // namespace
}  // namespace flowback::test
