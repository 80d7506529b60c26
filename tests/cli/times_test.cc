// SPDX-License-Identifier: MIT
// Losses are reported in bytes, records and time: `info`'s account and --strict.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "capture/formats/perf_records/perf_layout.h"
#include "decode/pt/packets/packet_writer.h"
#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"
#include "tests/support/perf_data_builder.h"

namespace flowback::test {
namespace {

using nlohmann::json;
using perf::RecordType;
using support::FieldWriter;
using support::PerfDataBuilder;
using support::Trailer;

// Tracing is off all the time: no code is needed.
std::vector<uint8_t> Trace(uint64_t first_tsc = 2400, uint64_t last_tsc = 240000) {
  pt::PacketWriter writer;
  writer.Psb();
  writer.Write(pt::Tsc{first_tsc});
  writer.Write(pt::PsbEnd{});
  writer.Write(pt::Tsc{last_tsc});
  return writer.Take();
}

Trailer At(uint64_t time, int32_t tid = 42, int32_t cpu = 1) {
  return {.time = 1000000000000 + time, .pid = 42, .tid = tid, .cpu = cpu, .id = 100};
}

class TimesTest : public ::testing::Test {
 protected:
  TimesTest() { file_.ItraceStart(42, 42, At(1000)); }

  void AddTrace() { file_.Auxtrace(0, 0, -1, 1, Trace()); }
  std::string Name() {
    const std::vector<uint8_t> bytes = file_.Build();
    return folder_.Write("perf.data", std::string(bytes.begin(), bytes.end()));
  }
  void Record(uint32_t type, FieldWriter body) {
    file_.KernelRecord(type, 0, std::move(body), At(2000));
  }
  static int Strict(const std::string& file, std::vector<std::string> words) {
    words.insert(words.end(), {"--strict", file});
    return RunFlowback(words).status;
  }
  static void ExpectStrict(const std::string& file, int status) {
    EXPECT_EQ(Strict(file, {"info"}), status);
    EXPECT_EQ(Strict(file, {"decode", "--as", "digest"}), status);
  }
  static json Info(const std::string& file) {
    const ProgramResult result = RunFlowback({"info", "--json", file});
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out, nullptr, false);
  }
  static uint64_t CountOf(const json& info, const char* cause) {
    for (const json& loss : info["losses"])
      if (loss["cause"] == cause) return loss["count"];
    return 0;
  }

  ScratchFolder folder_;
  PerfDataBuilder file_ = PerfDataBuilder::WithIntelPt();
};

TEST_F(TimesTest, NothingIsLostHere) {
  AddTrace();
  ExpectStrict(Name(), 0);
}

TEST_F(TimesTest, LostRecordsAreALoss) {
  Record(perf::kRecordLost, FieldWriter().U64(100).U64(7));
  AddTrace();
  const std::string file = Name();
  ExpectStrict(file, 6);
  EXPECT_EQ(CountOf(Info(file), "records lost"), 7u);
}

TEST_F(TimesTest, ThrottlingIsALoss) {
  Record(perf::kRecordThrottle, FieldWriter().U64(0).U64(100).U64(100));
  AddTrace();
  const std::string file = Name();
  ExpectStrict(file, 6);
  EXPECT_EQ(CountOf(Info(file), "event throttled"), 1u);
}

TEST_F(TimesTest, InterruptedTracingAndCollisionsAreLosses) {
  file_.Aux(0, 8, perf::kAuxPartial | perf::kAuxCollision, At(2000));
  AddTrace();
  const std::string file = Name();
  ExpectStrict(file, 6);
  EXPECT_EQ(CountOf(Info(file), "tracing interrupted"), 1u);
  EXPECT_EQ(CountOf(Info(file), "samples collided in the AUX data"), 1u);
}

TEST_F(TimesTest, ErrorsOfAnotherDecoderAreALoss) {
  FieldWriter error;
  error.U32(1).U32(5).U32(1).U32(42).U32(42).U32(0).U64(0x401000).Text("no memory", 64);
  file_.Record(perf::kRecordAuxtraceError, 0, error);
  AddTrace();
  ExpectStrict(Name(), 6);
}

TEST_F(TimesTest, TruncatedAuxDataIsALoss) {
  file_.Aux(0, Trace().size(), perf::kAuxTruncated, At(2000));
  AddTrace();
  ExpectStrict(Name(), 6);
}

TEST_F(TimesTest, WhatSnapshotsHaveInCommonIsNoLoss) {
  for (int i = 0; i < 2; ++i) {
    file_.Aux(0, Trace().size(), perf::kAuxOverwrite, At(2000));
    AddTrace();
  }
  const std::string file = Name();
  EXPECT_NE(RunFlowback({"info", file}).out.find("read once"), std::string::npos);
  EXPECT_EQ(Strict(file, {"decode", "--as", "digest"}), 0);
}

TEST_F(TimesTest, TimeAheadOfASnapshotIsLeftOutOnPurpose) {
  const std::vector<uint8_t> trace = Trace(24000, 240000);
  file_.Aux(0, trace.size(), perf::kAuxOverwrite, At(110000));
  file_.Auxtrace(0, 0, -1, 1, trace);
  const std::string file = Name();
  ExpectStrict(file, 0);
  const json info = Info(file);
  EXPECT_TRUE(info["losses"].empty()) << info["losses"];
  EXPECT_EQ(info["threads"][0]["times"]["lost"]["time"], 0) << info["threads"];
  EXPECT_GT(info["threads"][0]["times"]["filtered"]["time"], 0) << info["threads"];
}

TEST_F(TimesTest, BytesThatAreNotInTheFileAreCounted) {
  std::vector<uint8_t> trace = Trace();
  trace.resize((trace.size() + 7) / 8 * 8);  // as the recorder pads it
  file_.Aux(0, trace.size() + 100, 0, At(2000));
  file_.Auxtrace(0, 0, -1, 1, trace);
  const std::string file = Name();
  ExpectStrict(file, 6);
  EXPECT_EQ(Info(file)["streams"][0]["bytes_missing"], 100);
  const ProgramResult result = RunFlowback({"info", file});
  EXPECT_TRUE(result.out.contains("missing from the file: 100 bytes")) << result.out;
  EXPECT_TRUE(result.err.contains("lost 100 bytes of trace that are not in the file"))
      << result.err;
}

// One switch-out of real ones is made a record of an unknown type.
TEST_F(TimesTest, AMissingSwitchRecordIsToldAsThat) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  std::ifstream in(folder / "spin-cyc/perf.data", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  constexpr size_t kRecord = 2384;
  ASSERT_EQ(static_cast<uint8_t>(bytes.at(kRecord)), perf::kRecordSwitch);
  bytes[kRecord] = 90;
  const std::string file = folder_.Write("perf.data", bytes);
  const std::string images = folder / "images";
  const std::string err = RunFlowback({"decode", "--as", "digest", file, "--symfs", images}).err;
  EXPECT_TRUE(err.contains("switches are missing")) << err;
  EXPECT_FALSE(err.contains("--switch-events, or")) << err;
  const ProgramResult info = RunFlowback({"info", file, "--symfs", images});
  EXPECT_FALSE(info.out.contains("no context-switch records")) << info.out;
  EXPECT_TRUE(info.err.contains("thread not known (125129 bytes of trace)")) << info.err;
}

TEST_F(TimesTest, LostTimeIsToldWithTheBytes) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  const std::string err =
      RunFlowback({"info", folder / "vcalls-ovf/perf.data", "--symfs", folder / "images"}).err;
  EXPECT_TRUE(err.contains("2.9 % of the threads' time")) << err;
}

// Without switch records perf has a remedy; an emulating recorder sees every thread's own trace.
TEST_F(TimesTest, TheRemedyIsOneOfTheRecorder) {
  file_.Auxtrace(0, 0, 42, -1, Trace());
  const std::string out = RunFlowback({"info", Name()}).out;
  EXPECT_TRUE(out.contains("no context-switch records")) << out;
  EXPECT_TRUE(out.contains("try: perf: record with --switch-events")) << out;
  const std::string own = folder_.path() + "/own.data";
  ASSERT_EQ(RunFlowback({"record", "-o", own, "--", "/bin/true"}).status, 0);
  const std::string emulated = RunFlowback({"info", own}).out;
  EXPECT_FALSE(emulated.contains("--switch-events")) << emulated;
}

TEST_F(TimesTest, TraceThatIsNobodysIsALoss) {
  file_.Fork(42, 43, 42, 42, At(1500, 43));
  file_.Auxtrace(0, 0, -1, 2, Trace());  // no record of who ran there
  const std::string file = Name();
  ExpectStrict(file, 6);
  const json info = Info(file);
  EXPECT_EQ(CountOf(info, "thread not known"), 1u);
  const std::string size = info["streams"][0]["bytes"].dump();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"info"}, {"decode", "--as", "digest"}}) {
    std::vector<std::string> all = words;
    all.push_back(file);
    const std::string err = RunFlowback(all).err;
    EXPECT_TRUE(err.contains("1 x thread not known (" + size + " bytes of trace)")) << err;
    EXPECT_FALSE(err.contains("0 %")) << err;
  }
  ASSERT_EQ(info["nobody"].size(), 1u);
  for (const json& thread : info["threads"])
    EXPECT_EQ(thread["lost_by_cause"].value("thread not known", 0), thread["lifetime"]);
}

TEST_F(TimesTest, TenThousandThreadsStayReadable) {
  constexpr int32_t kThreads = 10'000;
  for (int32_t i = 0; i < kThreads; ++i) {
    const int32_t tid = 1000 + i;
    file_.Fork(42, tid, 42, 42, At(2000 + static_cast<uint64_t>(i), tid));
    file_.Exit(42, tid, At(90000 + static_cast<uint64_t>(i), tid));
  }
  AddTrace();
  const std::string file = Name();
  const json info = Info(file);
  EXPECT_EQ(info["threads"].size(), kThreads + 1u);
  const std::string text = RunFlowback({"info", file}).out;
  EXPECT_LT(std::ranges::count(text, '\n'), 130) << text;
  EXPECT_NE(text.find(" more "), std::string::npos) << text;
}

// The six classes of every thread of every recording with threads, as they are printed.
TEST_F(TimesTest, TimesAddUpInInfo) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  for (const char* name : {"hello", "spin-cyc", "vcalls-ovf", "pool-perthread", "forks", "execs"}) {
    const ProgramResult result =
        RunFlowback({"info", "--json", folder / name / "perf.data", "--symfs", folder / "images"});
    const json info = json::parse(result.out, nullptr, false);
    EXPECT_FALSE(info["threads"].empty()) << name;
    for (const json& thread : info["threads"]) {
      uint64_t sum = 0;
      double percent = 0;
      for (const json& share : thread["times"]) {
        sum += share["time"].get<uint64_t>();
        percent += share["percent"].get<double>();
      }
      EXPECT_EQ(thread["times"].size(), 6u);
      EXPECT_EQ(sum, thread["lifetime"]) << name;
      EXPECT_NEAR(percent, 100, 0.001) << name;
      EXPECT_EQ(thread["end"].get<uint64_t>() - thread["begin"].get<uint64_t>(), sum);
      EXPECT_GT(thread["instructions"], 0) << name;
    }
  }
}

// The images are not given here: what was traced can't be read.
TEST_F(TimesTest, TimeWithoutImagesIsUndecodable) {
  FLOWBACK_NEEDS_TRACES();
  const std::string file = golden::TracesFolder() / "generated/hello/perf.data";
  const json info = Info(file);
  const json& thread = info["threads"][0];
  EXPECT_GT(thread["times"]["undecodable"]["time"], 0) << thread;
  EXPECT_GT(thread["lost_by_cause"]["no code image"], 0) << thread;
  EXPECT_EQ(Strict(file, {"info"}), 7);
}

}  // namespace
}  // namespace flowback::test
