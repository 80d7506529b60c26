// SPDX-License-Identifier: MIT
// The output is in proportion to the recording, and no number in it has wrapped round.
#include <gtest/gtest.h>

#include "capture/formats/perf_records/perf_layout.h"
#include "decode/pt/packets/packet_writer.h"
#include "tests/cli/run_program.h"
#include "tests/support/perf_data_builder.h"

namespace flowback::test {
namespace {

using support::PerfDataBuilder;
using support::Trailer;

constexpr uint64_t kCode = 0x401000;

void Begin(pt::PacketWriter& trace) {
  trace.Psb();
  trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
  trace.Write(pt::PsbEnd{});
  trace.TipPge(kCode);
}

std::vector<uint8_t> ShortTrace() {
  pt::PacketWriter trace;
  Begin(trace);
  trace.TipPgd(std::nullopt);
  return trace.Take();
}

std::string Text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

Trailer At(uint64_t time, int32_t cpu = 0) { return {1000000000000 + time, 1000, 1000, cpu, 102}; }

// At kCode a function that calls itself, 20,000 deep: a bit for each call.
ProgramResult DeepCalls(const std::vector<std::string>& more) {
  const ScratchFolder folder;
  pt::PacketWriter trace;
  Begin(trace);
  for (int i = 0; i < 20'000; ++i) trace.TntBit(false);
  trace.FlushTnt();
  const std::string code("\x74\x05\xe8\xf9\xff\xff\xff\xc3", 8);  // jz +5; call kCode; ret
  std::vector<std::string> words = {"decode", "--as", "calls", "--threads", "1", "--no-cache"};
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {"--raw-pt", folder.Write("pt.bin", Text(trace.Take())), "--section",
                             folder.Write("code", code) + ":0:8:0x401000"});
  return RunFlowback(words, {.close_output_after = size_t{64} << 20});
}

TEST(Output, OfADeepRecursion) {
  const ProgramResult result = DeepCalls({});
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_GE(lines.size(), 40'000u);
  EXPECT_LT(result.out.size() / lines.size(), 300u);
  const std::string blanks(128, ' ');
  EXPECT_TRUE(lines[63].contains(blanks.substr(2) + "-> ")) << lines[63];
  EXPECT_TRUE(lines[64].contains(blanks + "-> ")) << lines[64];
  EXPECT_TRUE(lines[65].contains(blanks + "[65] -> ")) << lines[65];
  EXPECT_TRUE(lines[19'999].contains(blanks + "[19999] -> ")) << lines[19'999];
  EXPECT_TRUE(DeepCalls({"--json"}).out.contains("\"depth\":19999"));
}

class Numbers : public testing::Test {
 protected:
  ProgramResult Run(const std::vector<std::string>& words) const {
    std::vector<std::string> all = words;
    all.push_back(folder_.Write("perf.data", Text(file_.Build())));
    return RunFlowback(all, {.memory_mib = 512});
  }

  const ScratchFolder folder_;
  PerfDataBuilder file_ = PerfDataBuilder::WithIntelPt();
};

// The places where two buffers say their data was, and where a record says more of it is.
TEST_F(Numbers, AuxOffsetsNear64Bits) {
  const uint64_t end = 0 - uint64_t{10840};
  file_.Aux(0, end, 0, At(1));
  for (uint32_t cpu = 0; cpu < 3; ++cpu) {
    file_.Auxtrace(0, cpu, -1, static_cast<int32_t>(cpu), ShortTrace());
    file_.Auxtrace(end, cpu, -1, static_cast<int32_t>(cpu), ShortTrace());
  }
  for (const char* command : {"info", "decode"}) {
    const ProgramResult result = Run({command});
    EXPECT_EQ(result.status, 0) << result.err;
    const std::string all = result.out + result.err;
    EXPECT_FALSE(all.contains("18446744073709540776 bytes of trace")) << all;
    EXPECT_FALSE(all.contains("missing") || all.contains("not in the file")) << all;
    EXPECT_TRUE(all.contains("is damaged and not used: 18446744073709540776 bytes")) << all;
  }
  EXPECT_TRUE(Run({"info"}).out.contains("AUX offset 0xffffffffffffd5a8"));
}

// True gaps, whose sum would wrap round.
TEST_F(Numbers, SumsOfMissingBytes) {
  for (uint32_t cpu = 0; cpu < 5; ++cpu) {
    file_.Auxtrace(0, cpu, -1, static_cast<int32_t>(cpu), ShortTrace());
    file_.Auxtrace(uint64_t{1} << 62, cpu, -1, static_cast<int32_t>(cpu), ShortTrace());
  }
  const ProgramResult result = Run({"decode", "--as", "digest"});
  EXPECT_TRUE(result.err.contains(" 18446744073709551615 bytes of trace that are not in the file"))
      << result.err;
}

// Counts that wrap round to none would be no loss at all.
TEST_F(Numbers, SumsOfLosses) {
  support::FieldWriter lost;
  lost.U64(1).U64(~uint64_t{0});
  file_.KernelRecord(perf::kRecordLost, 0, lost, At(1));
  file_.Aux(0, 64, perf::kAuxPartial, At(2));
  file_.Auxtrace(0, 0, -1, 0, ShortTrace());
  const ProgramResult result = Run({"decode", "--as", "packets", "--strict"});
  EXPECT_EQ(result.status, 6);
  EXPECT_TRUE(result.err.contains("18446744073709551615 x ")) << result.err;
}

TEST_F(Numbers, LargestCpu) {
  constexpr int32_t kMost = 2147483647;
  file_.ItraceStart(1000, 1000, At(1, kMost));
  file_.Aux(0, 64, 0, At(2, kMost));
  file_.Auxtrace(0, 0, kMost, kMost, ShortTrace());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"info"}, {"decode", "--by-time"}, {"decode", "--by-cpu"}}) {
    const ProgramResult result = Run(words);
    EXPECT_EQ(result.status, 0) << result.err;
  }
}

// A perf.data file's records, cut out of it, where only sideband should be.
TEST(Sideband, WithTraceInIt) {
  const ScratchFolder folder;
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  const uint64_t begin = file.NextOffset();
  file.Comm(1000, 1000, "program", true, At(1));
  const uint64_t trace_at = file.NextOffset() - begin;
  file.Auxtrace(0, 0, -1, 0, std::vector<uint8_t>(100'000, 0x55));
  file.Exit(1000, 1000, At(2));
  const uint64_t end = file.NextOffset();
  const std::string records = Text(file.Build()).substr(begin, end - begin);
  const std::string sideband = folder.Write("sideband.pevent", records);
  const std::string raw = folder.Write("pt.bin", Text(ShortTrace()));
  for (const char* kind : {"packets", "digest", "summary"}) {
    const ProgramResult result = RunFlowback({"decode", "--as", kind, "--raw-pt", raw, "--pevent",
                                              sideband, "--sample-type", "0x10086"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_FALSE(result.out.contains("stream 1")) << result.out;
  }
  char place[32];
  std::snprintf(place, sizeof place, "0x%llx", static_cast<unsigned long long>(trace_at));
  const ProgramResult info =
      RunFlowback({"info", "--raw-pt", raw, "--pevent", sideband, "--sample-type", "0x10086"});
  EXPECT_TRUE(info.out.contains("the record at offset " + std::string(place) + " of " + sideband +
                                " carries trace"))
      << info.out;
}

TEST(Sideband, OfABundleWithTraceInIt) {
  const ScratchFolder folder;
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  const uint64_t begin = file.NextOffset();
  file.Auxtrace(0, 0, -1, 0, std::vector<uint8_t>(100'000, 0x55));
  folder.Write("switches", Text(file.Build()).substr(begin, file.NextOffset() - begin));
  folder.Write("pt.bin", Text(ShortTrace()));
  const std::string bundle = folder.Write("trace.json", R"({"type": "intel-pt",
    "cpuInfo": {"vendor": "GenuineIntel", "family": 6, "model": 85, "stepping": 4},
    "tscPerfZeroConversion": {"timeMult": 1, "timeShift": 1, "timeZero": 0},
    "processes": [{"pid": 1, "threads": [{"tid": 1}], "modules": []}],
    "cpus": [{"id": 0, "iptTrace": "pt.bin", "contextSwitchTrace": "switches"}]})");
  const ProgramResult result = RunFlowback({"decode", "--as", "packets", bundle});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.out.contains("PSB"));
  EXPECT_TRUE(RunFlowback({"info", bundle}).out.contains("carries trace"));
}

}  // namespace
}  // namespace flowback::test
