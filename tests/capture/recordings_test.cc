// SPDX-License-Identifier: MIT
// Every recording with known results: streams byte for byte, sideband against what is known of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/mapped_file.h"
#include "base/recorded/branch_records.h"
#include "base/recorded/pt_config.h"
#include "flowback/capture/open.h"
#include "tests/golden/shared_traces.h"

namespace flowback {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Generated() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(golden::TracesFolder() / "generated", ignored)) {
    if (fs::exists(entry.path() / "perf.data")) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Recording Open(const fs::path& path) {
  OpenOptions options;
  options.input = path;
  auto recording = OpenRecording(options);
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
}

void ExpectBytes(const Stream& stream, const fs::path& file) {
  const auto expected = MappedFile::Open(file);
  ASSERT_TRUE(expected) << expected.error().message();
  const Bytes bytes = (*expected)->bytes();
  ASSERT_EQ(stream.bytes.size(), bytes.size()) << file;
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), stream.bytes.begin())) << file;
}

uint64_t Count(const Recording& recording, const std::string& kind) {
  for (const auto& [name, count] : recording.record_counts) {
    if (name == kind) return count;
  }
  return 0;
}

template <class T>
std::vector<T> All(const Recording& recording) {
  std::vector<T> records;
  for (const SidebandRecord& record : recording.sideband) {
    if (const T* wanted = std::get_if<T>(&record)) records.push_back(*wanted);
  }
  return records;
}

void ExpectTimeOrder(const Recording& recording) {
  uint64_t last = 0;
  for (const SidebandRecord& record : recording.sideband) {
    const uint64_t time = std::visit([](const SidebandBase& base) { return base.time; }, record);
    EXPECT_GE(time, last);
    last = time;
  }
}

class GeneratedRecording : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    folder_ = golden::TracesFolder() / "generated" / GetParam();
    recording_ = Open(folder_ / "perf.data");
  }

  fs::path folder_;
  Recording recording_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GeneratedRecording);

// pt-N.bin: N is the CPU, or the buffer's number where each thread has one of its own.
TEST_P(GeneratedRecording, StreamsAreTheRawOnes) {
  size_t raw_files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    raw_files += name.starts_with("pt-") && name.ends_with(".bin");
  }
  ASSERT_EQ(recording_.streams.size(), raw_files);
  for (const Stream& stream : recording_.streams) {
    const int32_t number = stream.cpu >= 0 ? stream.cpu : static_cast<int32_t>(stream.index);
    ExpectBytes(stream, folder_ / ("pt-" + std::to_string(number) + ".bin"));
    EXPECT_TRUE(stream.gaps.empty());
  }
  EXPECT_TRUE(recording_.warnings.empty());
}

// maps.txt lists the executable mappings in time order: start, length, offset, image, path, TSC.
TEST_P(GeneratedRecording, MapsAreTheTrueOnes) {
  std::vector<std::vector<std::string>> truth = golden::ReadTable(folder_ / "maps.txt");
  std::erase_if(truth, [](const auto& row) { return row[0] == "exec"; });
  const std::vector<MmapRecord> maps = All<MmapRecord>(recording_);
  ASSERT_EQ(maps.size(), truth.size());
  for (size_t i = 0; i < maps.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(maps[i].address, std::stoull(truth[i][0], nullptr, 16));
    EXPECT_EQ(maps[i].size, std::stoull(truth[i][1], nullptr, 16));
    EXPECT_EQ(maps[i].path, truth[i][4]);
    if (!maps[i].path.starts_with("//anon")) {
      EXPECT_EQ(maps[i].file_offset, std::stoull(truth[i][2], nullptr, 16));
    }
    EXPECT_EQ(maps[i].time, recording_.time.ToNanoseconds(std::stoull(truth[i][5])));
    EXPECT_TRUE(maps[i].executable);
    EXPECT_FALSE(maps[i].kernel);
  }
}

TEST_P(GeneratedRecording, EveryRecordBecomesSideband) {
  ExpectTimeOrder(recording_);
  EXPECT_EQ(All<MmapRecord>(recording_).size(), Count(recording_, "MMAP2"));
  EXPECT_EQ(All<CommRecord>(recording_).size(), Count(recording_, "COMM"));
  EXPECT_EQ(All<ForkRecord>(recording_).size(), Count(recording_, "FORK"));
  EXPECT_EQ(All<ExitRecord>(recording_).size(), Count(recording_, "EXIT"));
  EXPECT_EQ(All<AuxRecord>(recording_).size(), Count(recording_, "AUX"));
  EXPECT_EQ(All<ItraceStartRecord>(recording_).size(), Count(recording_, "ITRACE_START"));
  EXPECT_EQ(All<SwitchRecord>(recording_).size(),
            Count(recording_, "SWITCH") + Count(recording_, "SWITCH_CPU_WIDE"));
  uint64_t aux_bytes = 0;
  for (const AuxRecord& aux : All<AuxRecord>(recording_)) aux_bytes += aux.size;
  uint64_t stream_bytes = 0;
  for (const Stream& stream : recording_.streams) stream_bytes += stream.bytes.size();
  EXPECT_EQ(aux_bytes, stream_bytes);
}

TEST_P(GeneratedRecording, SettingsAreTheGenerators) {
  EXPECT_EQ(PtConfigOf(recording_.config).tsc_ctc_numerator, 200u);
  EXPECT_EQ(PtConfigOf(recording_.config).tsc_ctc_denominator, 2u);
  EXPECT_EQ(PtConfigOf(recording_.config).nominal_ratio, 24u);
  EXPECT_TRUE(PtConfigOf(recording_.config).mtc_shift.has_value());
  EXPECT_EQ(PtConfigOf(recording_.config).return_compression,
            GetParam().find("noretcomp") == std::string::npos);
  EXPECT_EQ(PtConfigOf(recording_.config).address_filter, false);
  EXPECT_EQ(recording_.machine.recorder, "ptgen");
  EXPECT_FALSE(recording_.machine.emulated);
  EXPECT_EQ(recording_.machine.architecture, "x86_64");
  EXPECT_TRUE(PtConfigOf(recording_.config).cpu.known());
  ASSERT_EQ(recording_.events.size(), 2u);
  EXPECT_EQ(recording_.events[0], "intel_pt//u");
}

TEST_P(GeneratedRecording, OwnerIsKnownWhereThereIsOnlyOne) {
  for (const Stream& stream : recording_.streams) {
    EXPECT_GT(stream.pid, 0);
    const bool one_thread = stream.cpu < 0 || Count(recording_, "FORK") == 0;
    EXPECT_EQ(stream.tid > 0, one_thread);
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, GeneratedRecording, testing::ValuesIn(Generated()),
                         [](const auto& test) { return golden::TestName(test.param); });

struct HaseCase {
  const char* perf;
  const char* aux;
  const char* comm;
  int32_t cpu;
  int32_t tid;
  uint64_t switches;
  uint64_t aux_records;
  uint64_t maps;
};

// The counts are those that perf 6.1 shows.
constexpr HaseCase kHase[] = {
    {"control_flow-20180404T163033.perf", "control_flow-20180404T163033.perf-aux-idx1.bin",
     "control_flow", 1, 19731, 182, 6, 2},
    {"loopy-20180404T162955.perf", "loopy-20180404T162955.perf-aux-idx2.bin", "loopy", 2, 19233,
     228, 7, 5},
};

class HaseRecording : public testing::TestWithParam<HaseCase> {};

TEST_P(HaseRecording, IsReadInFull) {
  FLOWBACK_NEEDS_TRACES();
  const HaseCase& known = GetParam();
  const fs::path folder = golden::TracesFolder() / "intel-pt" / "hase-2018-04-04";
  const Recording recording = Open(folder / known.perf);
  ASSERT_EQ(recording.streams.size(), 1u);
  const Stream& stream = recording.streams[0];
  ExpectBytes(stream, folder / known.aux);
  EXPECT_EQ(stream.cpu, known.cpu);
  EXPECT_EQ(stream.pid, known.tid);
  EXPECT_EQ(stream.tid, known.tid);
  EXPECT_TRUE(stream.gaps.empty());
  EXPECT_TRUE(recording.warnings.empty());
  EXPECT_EQ(PtConfigOf(recording.config).cpu, (CpuId{true, 6, 94, 3}));
  EXPECT_EQ(PtConfigOf(recording.config).tsc_ctc_numerator, 266u);
  EXPECT_EQ(PtConfigOf(recording.config).mtc_shift, 3);
  EXPECT_EQ(recording.time.mult, 672770566u);
  EXPECT_EQ(recording.machine.recorder, "perf 4.15.12");
  EXPECT_EQ(recording.machine.hostname, "eddie");
  EXPECT_EQ(Count(recording, "SWITCH_CPU_WIDE"), known.switches);
  EXPECT_EQ(All<SwitchRecord>(recording).size(), known.switches);
  EXPECT_EQ(All<AuxRecord>(recording).size(), known.aux_records);
  EXPECT_EQ(All<MmapRecord>(recording).size(), known.maps);
  EXPECT_EQ(recording.build_ids.front().first, "[kernel.kallsyms]");
  EXPECT_EQ(recording.build_ids.back().first, "[vdso]");
  ExpectTimeOrder(recording);
}

TEST_P(HaseRecording, ProgramIsMappedAfterItsExec) {
  FLOWBACK_NEEDS_TRACES();
  const HaseCase& known = GetParam();
  const Recording recording =
      Open(golden::TracesFolder() / "intel-pt" / "hase-2018-04-04" / known.perf);
  const std::vector<CommRecord> comms = All<CommRecord>(recording);
  ASSERT_EQ(comms.size(), 2u);
  EXPECT_EQ(comms[0].time, 0u);  // perf's own word on the process before it was traced
  EXPECT_FALSE(comms[0].exec);
  EXPECT_EQ(comms[1].comm, known.comm);
  EXPECT_TRUE(comms[1].exec);
  const std::vector<MmapRecord> maps = All<MmapRecord>(recording);
  const auto program = std::find_if(maps.begin(), maps.end(),
                                    [](const MmapRecord& map) { return map.address == 0x400000; });
  ASSERT_NE(program, maps.end());
  EXPECT_TRUE(program->path.ends_with(known.comm));
  EXPECT_GT(program->time, comms[1].time);
}

INSTANTIATE_TEST_SUITE_P(Traces, HaseRecording, testing::ValuesIn(kHase),
                         [](const auto& test) { return test.param.comm; });

struct KnownStacks {
  const char* file;
  uint64_t samples;  // that have branches
  uint64_t empty;
  uint64_t records;
  uint64_t wrong;  // predicted, if known
  uint64_t right;
};

// As the notes beside them say, and perf where it reads them.
constexpr KnownStacks kStacks[] = {
    {"autofdo-hierdisc-haswell/hierarchical_discriminator_test.x86_64.perf.data", 145, 0, 2320, 28,
     2292},
    {"autofdo-propeller-sample1-skx-a/propeller_sample_1.perfdata1", 3680, 8, 117760, 0, 0},
    {"quipper-branch/perf.data.branch-4.14", 13, 0, 416, 0, 0},
    {"quipper-branch/perf.data.branch_stack_spec", 8, 0, 128, 9, 119},
    {"simpleperf-lbr/perf_lbr.data", 13, 6, 386, 0, 0},
    {"simpleperf-perf_b/perf_b.data", 150, 0, 2400, 0, 2400},
};

class StackRecordings : public testing::TestWithParam<KnownStacks> {};

TEST_P(StackRecordings, HaveTheRecordsOfTheirNotes) {
  FLOWBACK_NEEDS_TRACES();
  const KnownStacks& known = GetParam();
  const Recording recording = Open(golden::TracesFolder() / "branch-stack" / known.file);
  EXPECT_EQ(recording.source, kBranchStacks);
  EXPECT_TRUE(recording.time.known());
  const auto& config = BranchStackConfigOf(recording.config);
  EXPECT_EQ(config.samples, known.samples + known.empty);
  EXPECT_EQ(config.empty_samples, known.empty);
  EXPECT_TRUE(config.all_kinds);
  uint64_t records = 0, samples = 0, wrong = 0, right = 0;
  for (const Stream& stream : recording.streams)
    for (uint64_t at = 0; at < stream.bytes.size(); at += kBranchRecordSize) {
      const BranchRecord record = BranchRecordAt(stream.bytes, at);
      ++records;
      samples += record.begins_stack;
      wrong += record.prediction == BranchFacts::Prediction::kWrong;
      right += record.prediction == BranchFacts::Prediction::kRight;
    }
  EXPECT_EQ(records, known.records);
  EXPECT_EQ(samples, known.samples);
  if (known.wrong + known.right == 0) return;
  EXPECT_EQ(wrong, known.wrong);
  EXPECT_EQ(right, known.right);
}

INSTANTIATE_TEST_SUITE_P(Traces, StackRecordings, testing::ValuesIn(kStacks),
                         [](const auto& test) { return golden::TestName(test.param.file); });

}  // namespace
}  // namespace flowback
