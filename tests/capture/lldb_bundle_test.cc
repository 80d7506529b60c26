// SPDX-License-Identifier: MIT
// LLDB trace bundles: what they say, and what is wrong with them.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/recorded/pt_config.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "flowback/capture/open.h"
#include "tests/capture/temporary_file.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/perf_data_builder.h"

namespace flowback {
namespace {

using support::FieldWriter;
using support::TemporaryFolder;
using support::Warns;

constexpr char kCpuInfo[] =
    R"("type": "intel-pt", "cpuInfo": {"vendor": "GenuineIntel", "family": 6, "model": 79, "stepping": 1})";

Result<Recording> Open(const std::string& path) {
  OpenOptions options;
  options.input = path;
  return OpenRecording(options);
}

std::string LldbTrace(const std::string& name) {
  return golden::TracesFolder() / "intel-pt/lldb" / name;
}

template <class T>
std::vector<T> All(const Recording& recording) {
  std::vector<T> records;
  for (const SidebandRecord& record : recording.sideband) {
    if (const T* wanted = std::get_if<T>(&record)) records.push_back(*wanted);
  }
  return records;
}

void ExpectRefused(const Result<Recording>& result, const std::string& text) {
  ASSERT_FALSE(result) << text;
  EXPECT_EQ(result.error().code(), ErrorCode::kUnreadable);
  EXPECT_NE(result.error().message().find(text), std::string::npos) << result.error().message();
  EXPECT_FALSE(result.error().remedy().empty());
}

TEST(LldbBundle, OfOneThread) {
  FLOWBACK_NEEDS_TRACES();
  const auto recording = Open(LldbTrace("intelpt-trace/trace.json"));
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_TRUE(recording->warnings.empty());
  EXPECT_EQ(PtConfigOf(recording->config).cpu, (CpuId{true, 6, 79, 1}));
  ASSERT_EQ(recording->streams.size(), 1u);
  EXPECT_EQ(recording->streams[0].pid, 1234);
  EXPECT_EQ(recording->streams[0].tid, 3842849);
  EXPECT_EQ(recording->streams[0].bytes.size(), 4096u);
  const auto maps = All<MmapRecord>(*recording);
  ASSERT_EQ(maps.size(), 1u);  // a.out has one executable segment
  EXPECT_EQ(maps[0].pid, 1234);
  EXPECT_EQ(maps[0].time, 0u);
  EXPECT_EQ(maps[0].address, 0x400000u);
  EXPECT_EQ(maps[0].file_offset, 0u);
  EXPECT_EQ(maps[0].build_id.ToHex(), "6aa9a4e26f282f33377d59fece874c715b41261a");
  EXPECT_TRUE(maps[0].path.ends_with("intelpt-trace/a.out"));
}

TEST(LldbBundle, OfSeveralModules) {
  FLOWBACK_NEEDS_TRACES();
  const auto recording = Open(LldbTrace("intelpt-trace-multi-file/multi-file-no-ld.json"));
  ASSERT_TRUE(recording) << recording.error().message();
  const auto maps = All<MmapRecord>(*recording);
  ASSERT_EQ(maps.size(), 3u);
  EXPECT_EQ(maps[1].address, 0x7ffff7bd9000u);
}

TEST(LldbBundle, TwoThreadsAreTwoStreams) {
  FLOWBACK_NEEDS_TRACES();
  const auto recording = Open(LldbTrace("intelpt-trace/trace_2threads.json"));
  ASSERT_TRUE(recording) << recording.error().message();
  ASSERT_EQ(recording->streams.size(), 2u);
  EXPECT_EQ(recording->streams[1].tid, 3842850);
  EXPECT_EQ(recording->streams[1].pid, 1234);
}

TEST(LldbBundle, WrongOnesNameTheKey) {
  FLOWBACK_NEEDS_TRACES();
  const std::string folder = "intelpt-trace/";
  const auto refused = [&](const std::string& name, const std::string& text) {
    ExpectRefused(Open(LldbTrace(folder + name)), name + ": " + text);
  };
  refused("trace_bad.json", "processes[0] is the number 123");
  refused("trace_bad2.json", "cpuInfo.family is the string \"123\"");
  refused("trace_bad3.json", "processes[1].pid is missing");
  refused("trace_bad4.json", "cpuInfo.family is missing");
  refused("trace_bad5.json", "processes[1].pid is missing");
  refused("trace_bad_image.json", "processes[0].modules[0].loadAddress is 0xfffff0 (16777200)");
  refused("trace_wrong_cpu.json", "cpuInfo.family is the number 2123123");
}

class OwnBundle : public testing::Test {
 protected:
  // A description of which `rest` follows the CPU's.
  Result<Recording> OpenWith(const std::string& rest) {
    return Open(folder_.Write("trace.json", std::string("{") + kCpuInfo + rest + "}"));
  }

  TemporaryFolder folder_;
};

// One CPU each; LLDB asks for TID and TIME in the switch records.
TEST_F(OwnBundle, OfCpus) {
  for (const uint32_t cpu : {0, 1}) {
    folder_.Write("pt" + std::to_string(cpu), "trace");
    FieldWriter switches;
    switches.U32(perf::kRecordSwitchCpuWide).U16(perf::kMiscSwitchOut).U16(32);
    switches.U32(50).U32(51).U32(42).U32(43 + cpu).U64(2000 - 500 * cpu);
    folder_.Write("switches" + std::to_string(cpu), switches.bytes);
  }
  const auto recording = OpenWith(R"(, "processes": [{"pid": 42, "threads": [], "modules": []}],
    "cpus": [{"id": 3, "iptTrace": "pt0", "contextSwitchTrace": "switches0"},
             {"id": 5, "iptTrace": "pt1", "contextSwitchTrace": "switches1"}],
    "tscPerfZeroConversion": {"timeMult": 1076264588, "timeShift": 31,
                              "timeZero": "18433473881008870804"})");
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_TRUE(recording->warnings.empty());
  ASSERT_EQ(recording->streams.size(), 2u);
  EXPECT_EQ(recording->streams[0].cpu, 3);
  EXPECT_EQ(recording->streams[1].cpu, 5);
  EXPECT_EQ(recording->streams[1].tid, -1);
  EXPECT_EQ(recording->time.zero, 18433473881008870804u);
  EXPECT_EQ(recording->time.shift, 31);
  const auto switches = All<SwitchRecord>(*recording);
  ASSERT_EQ(switches.size(), 2u);
  EXPECT_EQ(switches[0].time, 1500u);
  EXPECT_EQ(switches[0].cpu, 5);
  EXPECT_EQ(switches[0].tid, 44);
  EXPECT_EQ(switches[0].other_tid, 51);
  EXPECT_TRUE(switches[0].out);
  EXPECT_EQ(switches[1].cpu, 3);
}

TEST_F(OwnBundle, OfTheKernel) {
  folder_.Write("pt", "trace");
  folder_.Write("switches", "");
  const std::string cpus =
      R"("cpus": [{"id": 0, "iptTrace": "pt", "contextSwitchTrace": "switches"}],
      "tscPerfZeroConversion": {"timeMult": 1, "timeShift": 31, "timeZero": 0})";
  const auto recording = OpenWith(", " + cpus + R"(, "kernel": {"file": "vmlinux"})");
  ASSERT_TRUE(recording) << recording.error().message();
  ASSERT_EQ(recording->images.size(), 1u);
  EXPECT_EQ(recording->images[0].file, folder_.path() / "vmlinux");
  EXPECT_EQ(recording->images[0].load_address, 0xffffffff81000000u);
  const auto moved = OpenWith(
      ", " + cpus + R"(, "kernel": {"file": "/vmlinux", "loadAddress": "0xffffffff9a000000"})");
  EXPECT_EQ(moved->images.at(0).load_address, 0xffffffff9a000000u);
  EXPECT_EQ(moved->images[0].file, "/vmlinux");
}

TEST_F(OwnBundle, MissingFilesAreNamed) {
  ExpectRefused(OpenWith(R"(, "processes": [{"pid": 1, "modules": [],
                         "threads": [{"tid": 2, "iptTrace": "absent.trace"}]}])"),
                "processes[0].threads[0].iptTrace: " + (folder_.path() / "absent.trace").string());
  folder_.Write("pt", "trace");
  ExpectRefused(OpenWith(R"(, "processes": [],
                         "cpus": [{"id": 0, "iptTrace": "pt", "contextSwitchTrace": "absent"}],
                         "tscPerfZeroConversion": {"timeMult": 1, "timeShift": 1, "timeZero": 0})"),
                "cpus[0].contextSwitchTrace: ");
}

// A module's file may be gone: only what ran in it is lost.
TEST_F(OwnBundle, AMissingModuleIsAnImageThatIsMissing) {
  folder_.Write("pt", "trace");
  const auto recording =
      OpenWith(R"(, "processes": [{"pid": 1, "threads": [{"tid": 2, "iptTrace": "pt"}],
      "modules": [{"systemPath": "/lib/absent.so", "loadAddress": "0x7f0000000000"}]}])");
  ASSERT_TRUE(recording) << recording.error().message();
  const auto maps = All<MmapRecord>(*recording);
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_EQ(maps[0].path, "/lib/absent.so");
  EXPECT_EQ(maps[0].address, 0x7f0000000000u);
  EXPECT_EQ(maps[0].size, 0u);
}

TEST_F(OwnBundle, WhatDoesNotGoTogether) {
  folder_.Write("pt", "trace");
  const std::string process =
      R"("processes": [{"pid": 1, "modules": [], "threads": [{"tid": 2, "iptTrace": "pt"}]}])";
  const std::string cpus = R"("cpus": [{"id": 0, "iptTrace": "pt", "contextSwitchTrace": "pt"}])";
  const std::string time =
      R"("tscPerfZeroConversion": {"timeMult": 1, "timeShift": 1, "timeZero": 0})";
  ExpectRefused(OpenWith(""), "processes is missing");
  ExpectRefused(OpenWith(R"(, "processes": [], )" + cpus), "tscPerfZeroConversion is missing");
  ExpectRefused(OpenWith(", " + process + ", " + cpus + ", " + time),
                "processes[0].threads[0].iptTrace is there although there are cpus");
  ExpectRefused(OpenWith(R"(, "kernel": {"file": "k"})"), "cpus is missing although");
  ExpectRefused(OpenWith(", " + process + R"(, "kernel": {"file": "k"})"),
                "processes is not empty");
  ExpectRefused(OpenWith(R"(, "processes": [{"pid": 4294967296, "threads": [], "modules": []}])"),
                "processes[0].pid is the number 4294967296");
  ExpectRefused(OpenWith(R"(, "processes": [{"pid": 1, "threads": [], "modules":
                         [{"systemPath": "a", "loadAddress": "0xzz"}]}])"),
                "processes[0].modules[0].loadAddress is the string \"0xzz\"");
  ExpectRefused(OpenWith(R"(, "processes": [{"pid": 1, "threads": [], "modules":
                         [{"systemPath": "a", "loadAddress": 1, "uuid": "xyz"}]}])"),
                "processes[0].modules[0].uuid is \"xyz\"");
}

// It would be decoded twice, and its instructions added up.
TEST_F(OwnBundle, WhatIsThereTwice) {
  folder_.Write("pt", "trace");
  const std::string thread = R"({"tid": 2, "iptTrace": "pt"})";
  const auto process = [](const std::string& pid, const std::string& threads) {
    return R"({"pid": )" + pid + R"(, "modules": [], "threads": [)" + threads + "]}";
  };
  ExpectRefused(OpenWith(R"(, "processes": [)" + process("1", thread + ", " + thread) + "]"),
                "processes[0].threads[1].tid is 2 again");
  ExpectRefused(
      OpenWith(R"(, "processes": [)" + process("1", thread) + ", " + process("3", thread) + "]"),
      "processes[1].threads[0].tid is 2 again");
  ExpectRefused(
      OpenWith(R"(, "processes": [)" + process("1", thread) + ", " + process("1", "") + "]"),
      "processes[1].pid is 1 again");
  const std::string cpu = R"({"id": 7, "iptTrace": "pt", "contextSwitchTrace": "pt"})";
  ExpectRefused(OpenWith(R"(, "processes": [], "cpus": [)" + cpu + ", " + cpu + "]" +
                         R"(, "tscPerfZeroConversion":
                         {"timeMult": 1, "timeShift": 1, "timeZero": 0})"),
                "cpus[1].id is 7 again");
}

TEST_F(OwnBundle, OfAnotherVendorsProcessor) {
  const auto of = [&](const std::string& vendor) {
    return Open(folder_.Write("trace.json", R"({"type": "intel-pt", "cpuInfo": {"vendor": ")" +
                                                vendor +
                                                R"(", "family": 6, "model": 79, "stepping": 1},
                                                "processes": []})"));
  };
  ExpectRefused(of("AuthenticAMD"), "cpuInfo.vendor is \"AuthenticAMD\"");
  EXPECT_TRUE(of("unknown"));  // as LLDB writes it where it does not know
}

// A JSON file is taken for a bundle's description, and the message says how one begins.
TEST_F(OwnBundle, JsonThatIsNoBundle) {
  for (const std::string text : {R"({"cpuInfo": {}})", R"({"type": "arm-etm"})", " {}",
                                 "\xef\xbb\xbf{\"type\": \"intel-pt\"}"}) {
    SCOPED_TRACE(text);
    const auto recording = Open(folder_.Write("trace.json", text));
    ASSERT_FALSE(recording);
    EXPECT_EQ(recording.error().code(), ErrorCode::kUnreadable);
    EXPECT_NE(recording.error().remedy().find("\"type\": \"intel-pt\""), std::string::npos)
        << recording.error().remedy();
  }
}

TEST_F(OwnBundle, CutAtEveryByteAndNestedTooDeep) {
  const std::string whole = std::string("{") + kCpuInfo + R"(, "processes": []})";
  EXPECT_TRUE(Open(folder_.Write("trace.json", whole)));
  for (size_t size = 1; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const auto cut = Open(folder_.Write("trace.json", whole.substr(0, size)));
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code(), ErrorCode::kUnreadable);
  }
  ExpectRefused(OpenWith(", \"x\": " + std::string(100000, '[')), "nested deeper");
}

}  // namespace
}  // namespace flowback
