// SPDX-License-Identifier: MIT
// Facts that raw streams lack: their threads, from the kernel's switch records beside them, and
// their filter, from --filter.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "capture/formats/perf_records/perf_layout.h"
#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"
#include "tests/support/host.h"
#include "tests/support/perf_data_converter.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

constexpr uint32_t kFirstOfTheRecorder = 64;

// A generated recording of five threads on two CPUs, as perf.data and as raw files.
class RawThreads : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    from_ = golden::TracesFolder() / "generated" / GetParam();
    std::ifstream file(from_ / "perf.data", std::ios::binary);
    std::string records;
    for (const auto& record :
         support::TakeApart({std::istreambuf_iterator<char>(file), {}}).records)
      if (record.type < kFirstOfTheRecorder || record.type == perf::kRecordTimeConv)
        records.append(record.bytes.begin(), record.bytes.end());
    sideband_ = folder_.Write("sideband", records);
  }
  Arguments Code() const {
    Arguments words = {"--symfs", golden::TracesFolder() / "generated/images", "--no-cache"};
    for (const auto& entry : fs::directory_iterator(from_ / "images"))
      if (const std::string name = entry.path().filename(); name.starts_with("vdso-"))
        words.insert(words.end(),
                     {"--section", entry.path().string() + ":0:0x1000:0x" + name.substr(5)});
    return words;
  }
  ProgramResult Raw(const Arguments& streams, const std::string& sample_type = "0x10087") const {
    Arguments words = {"decode",        "--as",       "digest", "--pevent",       sideband_,
                       "--sample-type", sample_type,  "--cpu",  "6/85/7",         "--tsc-ctc",
                       "200/2",         "--mtc-freq", "3",      "--nominal-freq", "24"};
    for (const std::string& stream : streams)
      words.insert(words.end(), {"--raw-pt", from_ / stream});
    const Arguments code = Code();
    words.insert(words.end(), code.begin(), code.end());
    return RunFlowback(words);
  }

  fs::path from_;
  ScratchFolder folder_;
  std::string sideband_;
};

TEST_P(RawThreads, EachThreadHasWhatPerfDataGivesIt) {
  Arguments words = {"decode", "--as", "digest", from_ / "perf.data"};
  const Arguments code = Code();
  words.insert(words.end(), code.begin(), code.end());
  const ProgramResult whole = RunFlowback(words);
  ASSERT_EQ(whole.status, 0) << whole.err;
  const ProgramResult raw = Raw({"pt-0.bin", "pt-1.bin"});
  EXPECT_EQ(raw.status, 0) << raw.err;
  EXPECT_EQ(raw.out, whole.out);
  EXPECT_EQ(Raw({"pt-1.bin", "pt-0.bin"}).out, whole.out) << "in any order";
}

// One byte less: no size shows which CPU's buffer it was, and the records name two.
TEST_P(RawThreads, OfAnUnknownCpuTheTraceIsNobodys) {
  std::ifstream file(from_ / "pt-1.bin", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.pop_back();
  from_ = fs::path(folder_.Write("cut.bin", bytes)).parent_path();
  fs::copy(golden::TracesFolder() / "generated" / GetParam() / "images", from_ / "images");
  const ProgramResult raw = Raw({"cut.bin"});
  EXPECT_EQ(raw.status, 0) << raw.err;
  EXPECT_TRUE(raw.err.contains("its trace belongs to no thread")) << raw.err;
  EXPECT_TRUE(raw.out.starts_with("0 ")) << "by the stream's number: " << raw.out;
  EXPECT_EQ(std::ranges::count(raw.out, '\n'), 1) << raw.out;
}

INSTANTIATE_TEST_SUITE_P(Recordings, RawThreads,
                         ::testing::Values("spin-cyc", "spin-switchwide-power"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

// PSB+ at 1000, then a TIP.PGD without an address: the taken branch at 1001 leaves a filter.
TEST(RawFilter, IsTakenForSetUnlessTheUserSaysOtherwise) {
  const ScratchFolder folder;
  std::string trace;
  for (int i = 0; i < 8; ++i) trace += "\x02\x82";
  trace += std::string("\x99\x01\x7d\x00\x10\x00\x00\x00\x00\x02\x23\x01", 12);
  const std::string raw = folder.Write("pt.bin", trace);
  const std::string code = folder.Write("code", "\x90\x74\x02\x90\x90\x90");
  const auto run = [&](const Arguments& more) {
    Arguments words = {"decode",   "--no-cache", "-F",        "ip",
                       "--raw-pt", raw,          "--section", code + ":0:6:0x1000"};
    words.insert(words.end(), more.begin(), more.end());
    return RunFlowback(words);
  };
  EXPECT_EQ(run({}).out, "1000\n1001\n");
  EXPECT_EQ(run({}).err, "");
  EXPECT_EQ(run({"--filter", "filter 0x1000/3"}).out, "1000\n1001\n");
  const ProgramResult unfiltered = run({"--filter", "none"});
  EXPECT_TRUE(unfiltered.out.starts_with("1000\n#")) << unfiltered.out;
  EXPECT_TRUE(unfiltered.err.contains("packets contradict the code")) << unfiltered.err;
  const ProgramResult wrong = run({"--filter", "main"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_TRUE(wrong.err.contains("`main` is not an address filter")) << wrong.err;
}

}  // namespace
}  // namespace flowback::test
