// SPDX-License-Identifier: MIT
// Calls, stacks and timelines of flow that no compiler makes and no kernel records so: they end, in
// time, in memory that has a bound, in words that are well-formed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "capture/formats/perf_records/perf_layout.h"
#include "decode/pt/packets/packet_writer.h"
#include "tests/cli/run_program.h"
#include "tests/support/elf_writer.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using nlohmann::json;
using support::FieldWriter;
using support::PerfDataBuilder;
using support::Trailer;
using Arguments = std::vector<std::string>;

constexpr uint64_t kCode = 0x401000;
constexpr int32_t kPid = 1000;
constexpr int32_t kOther = 1001;
constexpr size_t kMemoryMib = 2048;
std::chrono::seconds Enough() { return std::chrono::seconds(ProgramIsSanitized() ? 150 : 30); }

Trailer At(uint64_t time, int32_t tid) { return {1000000000000 + time, kPid, tid, 1, 102}; }

class OddFlow : public ::testing::Test {
 protected:
  void Code(const std::vector<uint8_t>& bytes) {
    ElfSpec spec;
    spec.segments = {{.address = kCode, .bytes = bytes}};
    const WrittenElf elf = WriteElf(spec);
    Image(std::string(elf.bytes.begin(), elf.bytes.end()), elf.segment_offsets.at(0), bytes.size());
  }
  // call rax; ret; syscall, in a function of that name.
  void CodeNamed(const std::string& name) {
    const std::string stand_in(name.size(), 'N');
    folder_.Write("program.s", ".globl " + stand_in + "\n.type " + stand_in + ",@function\n" +
                                   stand_in + ": call *%rax\nret\nsyscall\n.size " + stand_in +
                                   ",.-" + stand_in + "\n");
    const std::string command = "cd " + folder_.path() +
                                " && " TEST_CXX
                                " -nostdlib -static -no-pie -Wl,-Ttext=0x401000,-e,0x401000 "
                                "-o program program.s";
    ASSERT_EQ(std::system(command.c_str()), 0);
    std::string image = ReadFile(folder_.File("program"));
    const size_t code = image.find("\xff\xd0\xc3\x0f\x05");
    ASSERT_NE(code, std::string::npos);
    for (size_t at = 0; (at = image.find(stand_in, at)) != std::string::npos;)
      image.replace(at, name.size(), name);
    Image(image, code, 5);
  }
  void Image(const std::string& bytes, uint64_t offset, size_t size) {
    file.Comm(kPid, kPid, "odd", true, At(1, kPid));
    file.Mmap2(kPid, kCode, size, offset, folder_.Write("image", bytes), At(1, kPid));
    file.ItraceStart(kPid, kPid, At(2, kPid));
  }
  void Begin(uint64_t time) {
    trace.Psb();
    Time(time);
    trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
    trace.Write(pt::PsbEnd{});
  }
  void Time(uint64_t time) { trace.Write(pt::Tsc{.tsc = time * 24 / 10}); }
  void Switch(bool out, uint64_t time, int32_t tid) {
    file.KernelRecord(perf::kRecordSwitch, out ? perf::kMiscSwitchOut : 0, FieldWriter(),
                      At(time, tid));
  }
  void Finish() {
    trace.FlushTnt();
    const std::vector<uint8_t> bytes = trace.Take();
    file.Aux(0, bytes.size(), 0, At(200'000'000, kPid));
    file.Auxtrace(0, 0, -1, 1, bytes);
    const std::vector<uint8_t> all = file.Build();
    input_ = folder_.Write("perf.data", std::string(all.begin(), all.end()));
  }

  ProgramResult Run(Arguments words) const {
    words.insert(words.end(), {input_, "--no-cache"});
    const auto begin = std::chrono::steady_clock::now();
    ProgramResult result = RunFlowback(words, {.memory_mib = kMemoryMib});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, Enough()) << words[0];
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.status, 0) << words[0] << ": " << result.err;
    return result;
  }
  static json Last(const ProgramResult& result) {
    json last;
    for (const std::string& line : Lines(result.out)) last = json::parse(line);
    return last;
  }
  // Runs all the commands on it; returns the timeline's number of instructions.
  uint64_t Commands() {
    Finish();
    for (const Arguments& words :
         {Arguments{"decode", "--as", "calls"}, Arguments{"decode", "--as", "calls", "--by-time"},
          Arguments{"stack", "--at", "50%"}, Arguments{"stack", "--at", "end"},
          Arguments{"timeline"}})
      EXPECT_FALSE(Run(words).out.empty()) << words[0];
    calls_.clear();
    size_t depth = 0;
    for (const std::string& line : Lines(Run({"decode", "--as", "calls", "--json"}).out)) {
      json object = json::parse(line);
      if (object.value("type", "") == "call") ++depth;
      if (object.value("type", "") == "return") --depth;
      if (calls_.size() < 100'000) calls_.push_back(std::move(object));
    }
    EXPECT_EQ(depth, 0u) << "each call that is entered is left";
    EXPECT_EQ(Last(Run({"stack", "--at", "end", "--json"}))["type"], "stack");
    const json timeline = json::parse(Run({"timeline", "--json"}).out);
    return timeline["paths"][0]["instructions"].get<uint64_t>();
  }
  void ExpectTimesOffTheCpu() const {
    for (const json& object : calls_) {
      if (object.value("type", "") != "off-cpu") continue;
      EXPECT_LT(object["time"], object["until"]) << object;
    }
  }
  // Another program's opinion.
  void ExpectPython(const std::string& program, const std::string& file_name) const {
    const ProgramResult result = RunShell(folder_, "python3 -c '" + program + "' < " + file_name);
    EXPECT_EQ(result.status, 0) << result.err.substr(0, 2000);
  }

  ScratchFolder folder_;
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  pt::PacketWriter trace;
  std::string input_;
  std::vector<json> calls_;
};

TEST_F(OddFlow, OfOneInstruction) {
  Code({0x0f, 0x05});
  Begin(1000);
  trace.TipPge(kCode);
  trace.TipPgd(std::nullopt);
  EXPECT_EQ(Commands(), 1u);
  EXPECT_TRUE(Run({"stack", "--at", "#1"}).out.contains("#0"));
}

// Out and in at one moment, twice over: nobody has a time of no length.
TEST_F(OddFlow, TwoSwitchesAtOneTime) {
  Code({0x90, 0x0f, 0x05});
  file.Fork(kPid, kOther, kPid, kPid, At(3, kPid));
  Begin(1000);
  for (uint64_t i = 0; i < 100; ++i) {
    const uint64_t time = 2000 + 1000 * (i / 2);
    const int32_t tid = i % 2 == 0 ? kPid : kOther;
    Switch(false, time, tid);
    trace.TipPge(kCode);
    Time(time);
    trace.TipPgd(std::nullopt);
    Switch(true, time, tid);
  }
  EXPECT_EQ(Commands(), 200u);
  ExpectTimesOffTheCpu();
}

// The trace's times, and the records'.
TEST_F(OddFlow, TimesThatGoBack) {
  Code({0x90, 0x0f, 0x05});
  Begin(1'000'000);
  for (uint64_t i = 0; i < 100; ++i) {
    const uint64_t time = 1'000'000 - 1000 * i;
    Switch(i % 2 == 1, time, kPid);
    trace.TipPge(kCode);
    Time(time);
    trace.TipPgd(std::nullopt);
  }
  EXPECT_LE(Commands(), 200u);
  ExpectTimesOffTheCpu();
}

// call rax; ret
TEST_F(OddFlow, RecursionAMillionDeep) {
  const int depth = ProgramIsSanitized() ? 100'000 : 1'000'000;
  Code({0xff, 0xd0, 0xc3, 0x0f, 0x05});
  Begin(1000);
  trace.TipPge(kCode);
  for (int i = 0; i < depth; ++i) trace.Tip(kCode);
  trace.Tip(kCode + 3);
  trace.TipPgd(std::nullopt);
  Finish();
  const ProgramResult stack = Run({"stack", "--at", "end", "--json"});
  EXPECT_GT(Last(stack)["frames"].size(), static_cast<size_t>(depth));
  EXPECT_FALSE(Run({"stack", "--at", "50%"}).out.empty());
  const json timeline = json::parse(Run({"timeline", "--json"}).out);
  EXPECT_EQ(timeline["paths"][0]["instructions"], depth + 2);
  EXPECT_FALSE(Run({"timeline"}).out.empty());
  EXPECT_LT(Run({"timeline", "--svg", "-"}).out.size(), 1u << 22);
  size_t entered = 0;
  for (const std::string& line : Lines(Run({"decode", "--as", "calls", "-F", "tid"}).out))
    entered += line.contains("-> ") ? 1 : 0;
  EXPECT_GT(entered, static_cast<size_t>(depth));
}

// A field of returns, each of which leads to any other.
TEST_F(OddFlow, ReturnsThatMatchNothing) {
  constexpr size_t kReturns = 4096;
  constexpr int kCount = 300'000;
  std::vector<uint8_t> code(kReturns, 0xc3);
  code.insert(code.end(), {0x0f, 0x05});
  Code(code);
  Begin(1000);
  std::mt19937_64 random(17);
  trace.TipPge(kCode);
  for (int i = 0; i < kCount; ++i) {
    trace.Tip(kCode + random() % kReturns);
    if (i % 1000 == 0) Time(2000 + static_cast<uint64_t>(i));
  }
  trace.Tip(kCode + kReturns);
  trace.TipPgd(std::nullopt);
  EXPECT_EQ(Commands(), kCount + 2u);
}

TEST_F(OddFlow, LongNamesThatBreakOut) {
  const std::string hostile =
      "\"'`\n\r\t\x01\x1b[31m\x7f</script><script>alert(1)</script>]]>&amp;<!--\\u0000";
  std::string name;
  while (name.size() < 60'000) name += hostile;
  ASSERT_NO_FATAL_FAILURE(CodeNamed(name));
  file.Comm(kPid, kPid, name.substr(0, 60'000), false, At(3, kPid));
  Begin(1000);
  trace.TipPge(kCode);
  for (int i = 0; i < 10; ++i) trace.Tip(kCode);
  trace.Tip(kCode + 3);
  trace.TipPgd(std::nullopt);
  EXPECT_EQ(Commands(), 12u);
  for (const Arguments& words : {Arguments{"decode", "--as", "calls"},
                                 Arguments{"stack", "--at", "end"}, Arguments{"timeline"}})
    for (const char byte : Run(words).out)
      ASSERT_TRUE(byte == '\n' || static_cast<unsigned char>(byte) >= 0x20) << words[0];
  folder_.Write("json", Run({"timeline", "--json"}).out);
  ExpectPython("import json, sys; json.load(sys.stdin)", "json");
  folder_.Write("lines", Run({"decode", "--as", "calls", "--json"}).out);
  ExpectPython("import json, sys; [json.loads(line) for line in sys.stdin]", "lines");
  folder_.Write("svg", Run({"timeline", "--svg", "-"}).out);
  ExpectPython("import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.stdin)", "svg");
  const std::string page = Run({"timeline", "--html", "-"}).out;
  size_t ends = 0;
  for (size_t at = 0; (at = page.find("</script", at)) != std::string::npos; ++at) ++ends;
  EXPECT_EQ(ends, 2u);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
}

}  // namespace
}  // namespace flowback::test
