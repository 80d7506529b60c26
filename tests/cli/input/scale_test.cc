// SPDX-License-Identifier: MIT
// Many mappings, many threads: right, in memory that has a bound, and in time that grows with the
// input and not with its square.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "capture/formats/perf_records/perf_layout.h"
#include "decode/pt/packets/packet_writer.h"
#include "flowback/base/flow_digest.h"
#include "tests/cli/run_program.h"
#include "tests/support/elf_writer.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using support::FieldWriter;
using support::PerfDataBuilder;
using support::Trailer;

constexpr uint64_t kCode = 0x401000;
constexpr int32_t kPid = 1000;
constexpr int32_t kThreads = 10'000;
constexpr int32_t kFirstThread = 2000;
constexpr size_t kMemoryMib = 1024;
// Limit for a busy machine; each takes about one second.
std::chrono::seconds Enough() { return std::chrono::seconds(ProgramIsSanitized() ? 150 : 30); }

std::string DigestOfOneCall() {
  FlowDigest digest;
  for (const uint64_t offset : {0, 1, 2}) digest.Append(kCode + offset);
  char text[64];
  std::snprintf(text, sizeof text, "%llu %016llx", static_cast<unsigned long long>(digest.count),
                static_cast<unsigned long long>(digest.hash));
  return text;
}

class Scale : public ::testing::Test {
 protected:
  Scale() {
    ElfSpec spec;
    spec.segments = {{.address = kCode, .bytes = {0x90, 0x90, 0x0f, 0x05}}};
    const WrittenElf elf = WriteElf(spec);
    offset_ = elf.segment_offsets.at(0);
    image_ = folder_.Write("image", std::string(elf.bytes.begin(), elf.bytes.end()));
    file_.Comm(kPid, kPid, "program", true, At(1, kPid));
    Map(kCode, 1, image_);
    file_.ItraceStart(kPid, kPid, At(2, kPid));
  }

  // `time` in nanoseconds of the recording.
  static Trailer At(uint64_t time, int32_t tid) {
    return {1000000000000 + time, kPid, tid, 1, 102};
  }
  void Map(uint64_t address, uint64_t time, const std::string& path) {
    file_.Mmap2(kPid, address, 4, offset_, path, At(time, kPid));
  }
  void Fork(int32_t tid, uint64_t time) { file_.Fork(kPid, tid, kPid, kPid, At(time, kPid)); }
  ProgramResult Run(std::vector<std::string> words, size_t close_after = 0) const {
    const std::vector<uint8_t> bytes = file_.Build();
    words.push_back(folder_.Write("perf.data", std::string(bytes.begin(), bytes.end())));
    const auto begin = std::chrono::steady_clock::now();
    ProgramResult result =
        RunFlowback(words, {.close_output_after = close_after, .memory_mib = kMemoryMib});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, Enough());
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }
  void ExpectOneCallOfEach(const ProgramResult& result) const {
    const std::vector<std::string> lines = Lines(result.out);
    ASSERT_EQ(lines.size(), static_cast<size_t>(kThreads)) << result.err;
    for (int32_t i = 0; i < kThreads; ++i)
      EXPECT_EQ(lines[static_cast<size_t>(i)],
                std::to_string(kFirstThread + i) + " " + DigestOfOneCall());
    EXPECT_EQ(result.err, "");
  }

  void ExpectTimelineOfAll() const {
    EXPECT_LT(Lines(Run({"timeline"}).out).size(), 150u);
    const nlohmann::json timeline = nlohmann::json::parse(Run({"timeline", "--json"}).out);
    EXPECT_EQ(timeline["threads"].size(), static_cast<size_t>(kThreads));
    EXPECT_EQ(timeline["paths"][0]["instructions"], 3 * kThreads);
    EXPECT_LT(Run({"timeline", "--svg", "-"}).out.size(), 1u << 20);
  }
  void ExpectStacksOfAll() const {
    const std::string text = Run({"stack"}).out;
    EXPECT_EQ(Count(text, "Thread "), static_cast<size_t>(kThreads));
    EXPECT_EQ(Count(text, "#0 "), static_cast<size_t>(kThreads));
    const std::vector<std::string> lines = Lines(Run({"stack", "--at", "50%", "--json"}).out);
    ASSERT_EQ(lines.size(), 1u + kThreads);
    for (size_t i = 1; i < lines.size(); i += 1000)
      EXPECT_EQ(nlohmann::json::parse(lines[i])["type"], "stack");
    const std::string one = std::to_string(kFirstThread + kThreads / 2);
    EXPECT_EQ(Count(Run({"stack", "--thread", one}).out, "Thread "), 1u);
  }
  void ExpectCallsOfAll() const {
    EXPECT_EQ(Count(Run({"decode", "--as", "calls"}).out, "-> "), static_cast<size_t>(kThreads));
    const std::string json = Run({"decode", "--as", "calls", "--json"}).out;
    EXPECT_EQ(Count(json, "\"type\":\"call\""), static_cast<size_t>(kThreads));
  }
  static size_t Count(const std::string& text, const std::string& word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
      ++count;
    return count;
  }

  ScratchFolder folder_;
  PerfDataBuilder file_ = PerfDataBuilder::WithIntelPt();
  std::string image_;
  uint64_t offset_ = 0;
};

pt::Tsc Tsc(uint64_t nanoseconds) { return {.tsc = nanoseconds * 24 / 10}; }

void Psb(pt::PacketWriter& trace, uint64_t time) {
  trace.Psb();
  trace.Write(Tsc(time));
  trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
  trace.Write(pt::PsbEnd{});
}

void Call(pt::PacketWriter& trace, uint64_t time) {
  trace.TipPge(kCode);
  trace.Write(Tsc(time));
  trace.TipPgd(std::nullopt);
}

std::vector<uint8_t> OneCall(uint64_t time) {
  pt::PacketWriter trace;
  Psb(trace, time);
  Call(trace, time);
  return trace.Take();
}

class Mappings : public Scale, public ::testing::WithParamInterface<int> {};

// Side by side with gaps, over each other, and of as many files; before and while the trace is
// taken.
TEST_P(Mappings, OfOneProcess) {
  for (uint64_t i = 0; i < 100'000; ++i) {
    const uint64_t time = 3 + i / 2;
    if (GetParam() == 0) Map(0x10000000 + 0x2000 * i, time, image_);
    if (GetParam() == 1) Map(0x10000000 + i * 7919 % 1000, time, image_);
    if (GetParam() == 2) Map(0x10000000 + 0x2000 * i, time, "//anon");
    if (GetParam() == 3) Map(0x10000000 + 0x2000 * i, time, "/nowhere/" + std::to_string(i));
  }
  const std::vector<uint8_t> trace = OneCall(100'000);
  file_.Aux(0, trace.size(), 0, At(200'000, kPid));
  file_.Auxtrace(0, 0, -1, 1, trace);
  EXPECT_EQ(Run({"decode", "--as", "digest"}).out, "1000 " + DigestOfOneCall() + "\n");
  EXPECT_EQ(Lines(Run({"decode", "-F", "ip"}).out).size(), 3u);
  EXPECT_TRUE(Run({"info"}).out.contains("100001 MMAP2"));
}

INSTANTIATE_TEST_SUITE_P(All, Mappings, ::testing::Values(0, 1, 2, 3));

TEST_F(Scale, ThreadsWithTheirOwnBuffers) {
  for (int32_t i = 0; i < kThreads; ++i) Fork(kFirstThread + i, 3);
  for (int32_t i = 0; i < kThreads; ++i) {
    const std::vector<uint8_t> trace = OneCall(1000);
    file_.Aux(0, trace.size(), 0, At(2000, kFirstThread + i));
    file_.Auxtrace(0, static_cast<uint32_t>(i), kFirstThread + i, -1, trace);
  }
  ExpectOneCallOfEach(Run({"decode", "--as", "digest"}));
  EXPECT_EQ(Lines(Run({"decode", "-F", "ip"}).out).size(), 3u * kThreads);
  EXPECT_TRUE(Run({"decode", "--as", "summary"}).out.contains("30000"));
  EXPECT_LT(Lines(Run({"info"}).out).size(), 200u);  // a person reads it
  const nlohmann::json info = nlohmann::json::parse(Run({"info", "--json"}).out);
  EXPECT_EQ(info["threads"].size(), kThreads + 1u);  // and the one that made them
  Run({"decode"}, 200);
  ExpectTimelineOfAll();
  ExpectStacksOfAll();
  ExpectCallsOfAll();
}

TEST_F(Scale, ThreadsOnOneCpu) {
  constexpr uint64_t kTurn = 1000;
  pt::PacketWriter trace;
  for (int32_t i = 0; i < kThreads; ++i) Fork(kFirstThread + i, 3);
  for (int32_t i = 0; i < kThreads; ++i) {
    const uint64_t begin = kTurn * (static_cast<uint64_t>(i) + 1);
    const Trailer in = At(begin, kFirstThread + i);
    const Trailer out = At(begin + 800, kFirstThread + i);
    file_.KernelRecord(perf::kRecordSwitch, 0, FieldWriter(), in);
    file_.KernelRecord(perf::kRecordSwitch, perf::kMiscSwitchOut, FieldWriter(), out);
    if (i % 100 == 0) Psb(trace, begin - 100);
    Call(trace, begin + 400);
    trace.Write(Tsc(begin + 500));
  }
  const uint64_t size = trace.size();
  file_.Aux(0, size, 0, At(kTurn * (kThreads + 2), kPid));
  file_.Auxtrace(0, 0, -1, 1, trace.Take());
  ExpectOneCallOfEach(Run({"decode", "--as", "digest"}));
  EXPECT_EQ(Lines(Run({"decode", "-F", "ip"}).out).size(), 3u * kThreads);
  EXPECT_LT(Lines(Run({"info"}).out).size(), 200u);  // a person reads it
  const nlohmann::json info = nlohmann::json::parse(Run({"info", "--json"}).out);
  EXPECT_EQ(info["threads"].size(), kThreads + 1u);  // and the one that made them
  Run({"decode"}, 200);
  ExpectTimelineOfAll();
  ExpectStacksOfAll();
  ExpectCallsOfAll();
}

}  // namespace
}  // namespace flowback::test
