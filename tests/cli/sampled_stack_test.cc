// SPDX-License-Identifier: MIT
// `flowback stack` and `export --to folded` of samples with calls. Judges: perf script for
// callchains that perf recorded; the program's own source for what called what.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/hex.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "tests/cli/run_program.h"
#include "tests/support/elf_writer.h"
#include "tests/support/host.h"
#include "tests/support/perf_data_builder.h"

namespace flowback::test {
namespace {

using namespace perf;
using nlohmann::json;
using support::FieldWriter;
using support::PerfDataBuilder;

constexpr uint64_t kUsual = kSampleIp | kSampleTid | kSampleTime;
constexpr uint64_t kUserMark = ~uint64_t{0} - 511;

struct Branch {
  uint64_t from = 0;
  uint64_t to = 0;
};

// Samples of the hardware's stack of calls, with a callchain, as `perf record --call-graph lbr`
// writes them.
class SampledFile {
 public:
  SampledFile() {
    file_.AddEvent({0,
                    0,
                    kUsual | kSampleCallchain | kSampleBranchStack,
                    true,
                    {},
                    kBranchUser | kBranchCallStack | kBranchHardwareIndex});
  }
  void Comm(uint32_t tid, const char* name) {
    file_.Comm(42, static_cast<int32_t>(tid), name, false, {.time = 1, .pid = 42, .tid = 42});
  }
  void Map(uint64_t address, uint64_t offset, const std::string& path) {
    file_.Mmap2(42, address, 0x1000, offset, path, {.time = 1, .pid = 42, .tid = 42});
  }
  void Sample(uint32_t tid, uint64_t time, const std::vector<uint64_t>& chain,
              const std::vector<Branch>& calls, uint64_t slot = 0) {
    FieldWriter body;
    body.U64(chain.empty() ? 0 : chain.front()).U32(42).U32(tid).U64(time);
    body.U64(chain.size() + 1).U64(kUserMark);
    for (const uint64_t address : chain) body.U64(address);
    body.U64(calls.size()).U64(slot);
    for (const Branch& call : calls) body.U64(call.from).U64(call.to).U64(0);
    file_.Record(kRecordSample, 2, body);
  }
  std::string Write(const ScratchFolder& folder) const {
    const std::vector<uint8_t> bytes = file_.Build();
    return folder.Write("perf.data", std::string(bytes.begin(), bytes.end()));
  }

 private:
  PerfDataBuilder file_;
};

std::vector<json> Objects(std::vector<std::string> words) {
  words.push_back("--json");
  const ProgramResult result = RunFlowback(words);
  EXPECT_EQ(result.status, 0) << result.err;
  std::vector<json> objects;
  for (const std::string& line : Lines(result.out)) objects.push_back(json::parse(line));
  EXPECT_EQ(objects.at(0)["schema"], "flowback.stack/1");
  EXPECT_EQ(objects.at(0)["samples"], true);
  objects.erase(objects.begin());
  return objects;
}

TEST(SampledStack, TheLastOfEachThreadOrAllOrUpToAMoment) {
  const ScratchFolder folder;
  SampledFile file;
  file.Comm(42, "first");
  file.Comm(43, "second");
  for (uint64_t i = 1; i <= 5; ++i)
    file.Sample(i % 2 == 0 ? 43 : 42, i * 1'000'000'000, {0x1000 * i, 0x2005}, {{0x2000, 0x1000}});
  const std::string path = file.Write(folder);
  std::vector<json> last = Objects({"stack", path});
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0]["tid"], 42);
  EXPECT_EQ(last[0]["comm"], "first");
  EXPECT_EQ(last[0]["time"], 5'000'000'000u);
  EXPECT_EQ(last[0]["sample"], 2);
  EXPECT_EQ(last[0]["samples"], 3);
  EXPECT_EQ(last[1]["time"], 4'000'000'000u);
  EXPECT_EQ(Objects({"stack", path, "--all"}).size(), 5u);
  const std::vector<json> before = Objects({"stack", path, "--at", "3.5s", "--thread", "first"});
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0]["time"], 3'000'000'000u);
  EXPECT_EQ(before[0]["frames"][0]["ip"], "3000");
  const ProgramResult text = RunFlowback({"stack", path, "--at", "1.5s"});
  EXPECT_TRUE(text.out.contains("Thread 42 \"first\", sample 1 of 3, 1.000000000 s:")) << text.out;
  EXPECT_TRUE(text.out.contains("Thread 43: its first sample is behind that time.")) << text.out;
  EXPECT_EQ(RunFlowback({"stack", path, "--at", "#7"}).status, 2);
  EXPECT_EQ(RunFlowback({"stack", path, "--thread", "third"}).status, 2);
}

TEST(SampledStack, ContradictionsAreShown) {
  const ScratchFolder folder;
  SampledFile file;
  file.Sample(42, 1, {0x1000, 0x2005, 0xdead, 0x4005},
              {{0x2000, 0x1000}, {0x3000, 0x2000}, {0x4000, 0x3000}});
  const std::string path = file.Write(folder);
  const json stack = Objects({"stack", path}).at(0);
  EXPECT_EQ(stack["sources"], json({"callchain", "calls"}));
  EXPECT_EQ(stack["disagreements"], 2);
  ASSERT_EQ(stack["frames"].size(), 5u);
  EXPECT_EQ(stack["frames"][1]["sources"], json({"callchain", "calls"}));
  EXPECT_EQ(stack["frames"][2]["call"], "3000");
  EXPECT_EQ(stack["frames"][2]["skipped"], true);
  EXPECT_EQ(stack["frames"][3]["ip"], "dead");
  EXPECT_EQ(stack["frames"][3]["doubted"], true);
  const std::string text = RunFlowback({"stack", path}).out;
  EXPECT_TRUE(text.contains("they contradict each other in 2 frames")) << text;
  EXPECT_TRUE(text.contains("(callchain only: the hardware saw no such call)")) << text;
  EXPECT_TRUE(text.contains("(not in the callchain)")) << text;
}

TEST(SampledStack, StitchesWhenAskedAndSaysWhyNot) {
  const ScratchFolder folder;
  SampledFile file;
  file.Sample(42, 1, {}, {{0x3000, 0x2000}, {0x4000, 0x3000}}, 1);
  file.Sample(42, 2, {}, {{0x2000, 0x1000}, {0x3000, 0x2000}}, 0);
  file.Sample(43, 1, {}, {{0x3000, 0x3000}, {0x4000, 0x3000}}, 1);
  file.Sample(43, 2, {}, {{0x3000, 0x3000}, {0x3000, 0x3000}}, 0);
  const std::string path = file.Write(folder);
  EXPECT_EQ(Objects({"stack", path}).at(0)["stitch"], "not-tried");
  const std::vector<json> stacks = Objects({"stack", path, "--stitch"});
  EXPECT_EQ(stacks.at(0)["stitch"], "stitched");
  EXPECT_EQ(stacks[0]["frames"].back()["call"], "4000");
  EXPECT_EQ(stacks[0]["frames"].back()["sources"], json({"sample-before"}));
  EXPECT_EQ(stacks[1]["stitch"], "ambiguous");
  const std::string text = RunFlowback({"stack", path, "--stitch"}).out;
  EXPECT_TRUE(text.contains("(likely: from the sample before)")) << text;
  EXPECT_TRUE(text.contains("there more than once, as recursion makes it")) << text;
}

TEST(SampledStack, OfADeepPathTheInnermostIsKept) {
  const ScratchFolder folder;
  SampledFile file;
  std::vector<uint64_t> chain(1500);
  for (size_t i = 0; i < chain.size(); ++i) chain[i] = 0x1000 * (i + 1);
  file.Sample(42, 1, chain, {});
  const std::string folded = RunFlowback({"export", "--to", "folded", file.Write(folder)}).out;
  EXPECT_EQ(std::ranges::count(folded, ';'), 1001);
  EXPECT_TRUE(folded.starts_with("??;(deeper);")) << folded.substr(0, 100);
}

// Two places of a file without symbols are two places; where the file is not there either, nothing
// tells them apart.
TEST(SampledStack, CodeWithoutANameIsToldByItsPlaceInTheFile) {
  const ScratchFolder folder;
  ElfSpec spec;
  spec.segments.emplace_back().address = 0x1000;
  spec.segments.back().bytes.resize(0x1000, 0x90);
  const WrittenElf elf = WriteElf(spec);
  WriteFile(folder.File("root/lib/nameless.so"), elf.bytes);
  SampledFile file;
  file.Map(0x1000, elf.segment_offsets[0], "/lib/nameless.so");
  file.Sample(42, 10, {0x1010, 0x1021}, {});
  file.Sample(42, 11, {0x1012, 0x1021}, {});
  file.Sample(42, 12, {0x9010}, {});
  const std::string path = file.Write(folder);
  const std::string root = folder.File("root");
  const auto place = [&](uint64_t offset) {
    return "nameless.so+" + Hex(elf.segment_offsets[0] + offset);
  };
  const std::string folded = RunFlowback({"export", "--to", "folded", path, "--symfs", root}).out;
  std::vector<std::string> lines = Lines(folded);
  std::ranges::sort(lines);
  ASSERT_EQ(lines.size(), 3u) << folded;
  const std::string comm = lines[0].substr(0, lines[0].find(';'));
  EXPECT_TRUE(folded.contains(comm + ";" + place(0x21) + ";" + place(0x10) + " 1\n")) << folded;
  EXPECT_TRUE(folded.contains(comm + ";" + place(0x21) + ";" + place(0x12) + " 1\n")) << folded;
  EXPECT_TRUE(folded.contains(comm + ";?? 1\n")) << folded;
}

TEST(SampledStack, ABundleHasTheFilesOfTheSamples) {
  const ScratchFolder folder;
  ElfSpec spec;
  spec.segments.emplace_back().address = 0x1000;
  spec.segments.back().bytes.resize(0x1000, 0x90);
  const WrittenElf elf = WriteElf(spec);
  WriteFile(folder.File("root/lib/nameless.so"), elf.bytes);
  SampledFile file;
  file.Map(0x1000, elf.segment_offsets[0], "/lib/nameless.so");
  file.Sample(42, 10, {0x1010, 0x1021}, {});
  const std::string path = file.Write(folder);
  const std::string bundle = folder.File("it.tar.zst");
  const ProgramResult packed =
      RunFlowback({"pack", path, "--symfs", folder.File("root"), "-o", bundle});
  ASSERT_EQ(packed.status, 0) << packed.err;
  const std::string folded = RunFlowback({"export", "--to", "folded", bundle}).out;
  EXPECT_TRUE(folded.contains(";nameless.so+" + Hex(elf.segment_offsets[0] + 0x21) + ";"))
      << folded;
}

TEST(SampledStack, InfoCountsThem) {
  const ScratchFolder folder;
  SampledFile file;
  for (uint64_t time = 1; time <= 3; ++time) file.Sample(42, time, {0x1000, 0x2005}, {});
  const std::string path = file.Write(folder);
  EXPECT_EQ(json::parse(RunFlowback({"info", "--json", path}).out)["call_samples"], 3);
  const std::string text = RunFlowback({"info", path}).out;
  EXPECT_TRUE(text.contains("call samples: 3, which `flowback stack` shows")) << text;
}

TEST(SampledStack, InfoSaysThatTheHardwaresStacksAreNoFlow) {
  const ScratchFolder folder;
  SampledFile file;
  file.Comm(42, "first");
  for (uint64_t i = 1; i <= 3; ++i)
    file.Sample(42, i * 1'000'000'000, {0x1000 * i, 0x2005}, {{0x2000, 0x1000}});
  const std::string path = file.Write(folder);
  const ProgramResult text = RunFlowback({"info", path});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(text.out.contains("calls that had not returned (perf record --call-graph lbr)"))
      << text.out;
  EXPECT_TRUE(text.out.contains("call samples: 3")) << text.out;
  EXPECT_FALSE(text.out.contains("try: record with")) << text.out;
  const json object = json::parse(RunFlowback({"info", "--json", path}).out);
  EXPECT_EQ(object["branch_trace"], nullptr);
  EXPECT_TRUE(object["no_trace_because"].get<std::string>().contains("--call-graph lbr")) << object;
  for (const char* command : {"branches", "coverage", "decode"}) {
    const ProgramResult refused = RunFlowback({command, path});
    EXPECT_EQ(refused.status, 1) << command;
    EXPECT_TRUE(refused.err.contains("`flowback stack`")) << refused.err;
  }
  EXPECT_EQ(RunFlowback({"timeline", path}).status, 0);
}

TEST(SampledStack, OptionsOfSamplesAreRefusedElsewhere) {
  const ScratchFolder folder;
  PerfDataBuilder none = PerfDataBuilder::WithIntelPt();
  const std::vector<uint8_t> bytes = none.Build();
  const std::string path = folder.Write("pt.data", std::string(bytes.begin(), bytes.end()));
  EXPECT_EQ(RunFlowback({"stack", path, "--stitch"}).status, 2);
  EXPECT_EQ(RunFlowback({"export", "--to", "folded", path}).status, 1);
}

// A program whose calls are known, recorded by perf with frame pointers.
class RecordedStacks : public ::testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_HOST(host::Trait::kPerf);
    FLOWBACK_NEEDS_HOST(host::Trait::kPerfEvents);
    if (std::string_view(TEST_CC).empty()) GTEST_SKIP() << "no C compiler";
    folder_.Write("known.c", R"(
#define APART __attribute__((noinline, noclone))
#define HERE asm volatile("" ::: "memory")
volatile unsigned long sink;
APART void leaf(unsigned n) { for (volatile unsigned i = 0; i < n; ++i) sink += i; HERE; }
APART void middle(unsigned n) { leaf(n); HERE; }
APART void outer(unsigned n) { middle(n); HERE; }
int main(int c, char** v) {
  (void)v;
  for (int i = 0; i < 60; ++i) outer(1000000u * (unsigned)c);
  return 0;
})");
    const std::string data = folder_.File("fp.data");
    const ProgramResult made = RunShell(
        folder_, std::string(TEST_CC) +
                     " -O1 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -o known known.c &&"
                     " perf record -q -e cpu-clock:u -F 499 -g -o fp.data ./known 2>err");
    ASSERT_EQ(made.status, 0) << made.err << ReadFile(folder_.File("err"));
  }
  std::string Data() const { return folder_.File("fp.data"); }

  ScratchFolder folder_;
};

TEST_F(RecordedStacks, AreThoseThatPerfShows) {
  if (IsSkipped()) return;
  // A stack a paragraph, a line for each frame: "  401157 middle+0x8".
  const ProgramResult script =
      RunShell(folder_, "perf script -F ip,sym,symoff --no-inline -i fp.data 2>/dev/null");
  std::vector<std::vector<std::string>> perfs;
  bool begins = true;
  for (const std::string& line : Lines(script.out)) {
    const std::vector<std::string> words = Words(line);
    if (!words.empty()) {
      if (begins) perfs.emplace_back();
      perfs.back().push_back(words.at(1) == "[unknown]" ? "?" : words[1]);
    }
    begins = words.empty();
  }
  const std::vector<json> ours = Objects({"stack", Data(), "--all"});
  ASSERT_GT(ours.size(), 10u);
  std::vector<std::vector<std::string>> stacks;
  for (const json& each : ours) {
    stacks.emplace_back();
    for (const json& frame : each["frames"])
      if (!frame["inlined"].get<bool>())
        stacks.back().push_back(frame["function"].is_null()
                                    ? "?"
                                    : frame["function"].get<std::string>() + "+" +
                                          Hex(frame["offset"].get<uint64_t>()));
  }
  EXPECT_EQ(stacks, perfs);
}

// Without frame pointers: registers and the stack's top are in the sample.
constexpr const char* kBare = R"(
#include <signal.h>
#include <stdlib.h>
#define APART __attribute__((noinline, noclone))
#define HERE asm volatile("" ::: "memory")
volatile unsigned long sink;
APART void leaf(unsigned n) { for (volatile unsigned i = 0; i < n; ++i) sink += i; HERE; }
APART int order(const void* a, const void* b) {
  leaf(500000);
  return *(const int*)a - *(const int*)b;
}
void handler(int number) { leaf(1000000u + (unsigned)number); HERE; }
APART void deep(int k) { if (k == 0) leaf(1000000); else deep(k - 1); HERE; }
int main(void) {
  int some[] = {3, 1, 2};
  signal(SIGUSR1, handler);
  for (int i = 0; i < 10; ++i) {
    qsort(some, 3, sizeof some[0], order);
    raise(SIGUSR1);
    deep(30);
  }
  return 0;
})";

using NamedStack = std::vector<std::string>;  // functions, the innermost first

class UnwoundStacks : public RecordedStacks {
 protected:
  // `data` is recorded of kBare, built with these flags.
  void Record(const std::string& flags) {
    folder_.Write("bare.c", kBare);
    const ProgramResult made = RunShell(
        folder_, std::string(TEST_CC) + " -O2 -fomit-frame-pointer " + flags +
                     " -o bare bare.c && perf record -q -e "
                     "cpu-clock:u -c 300000 --call-graph dwarf,8192 -o dwarf.data ./bare 2>err");
    ASSERT_EQ(made.status, 0) << made.err << ReadFile(folder_.File("err"));
  }
  // perf looks for the names at a byte before where calls go on.
  std::vector<NamedStack> Perfs() const;
  // Nearly all lead to where the program began.
  std::vector<NamedStack> Ours() const;
};

std::vector<NamedStack> UnwoundStacks::Perfs() const {
  const ProgramResult script =
      RunShell(folder_, "perf script -F ip,sym --no-inline -i dwarf.data 2>/dev/null");
  std::vector<NamedStack> stacks(1);
  for (const std::string& line : Lines(script.out)) {
    const std::vector<std::string> words = Words(line);
    if (!words.empty())
      stacks.back().push_back(words.at(1) == "[unknown]" ? "?" : words[1]);
    else if (!stacks.back().empty())
      stacks.emplace_back();
  }
  if (stacks.back().empty()) stacks.pop_back();
  return stacks;
}

std::vector<NamedStack> UnwoundStacks::Ours() const {
  std::vector<NamedStack> stacks;
  size_t whole = 0;
  for (const json& each : Objects({"stack", folder_.File("dwarf.data"), "--all"})) {
    stacks.emplace_back();
    whole += each["stack_copy"] == "outermost" ? 1 : 0;
    for (const json& frame : each["frames"])
      if (!frame["inlined"].get<bool>())
        stacks.back().push_back(frame["function"].is_null() ? "?"
                                                            : frame["function"].get<std::string>());
  }
  EXPECT_GT(stacks.size(), 20u);
  EXPECT_GT(whole, stacks.size() * 8 / 10);
  return stacks;
}

// What the source says: each of them is reached on its way only.
void ExpectSourcesStacks(const std::vector<NamedStack>& stacks) {
  size_t in_order = 0, in_handler = 0, in_deep = 0;
  for (const NamedStack& stack : stacks) {
    const auto has = [&](const char* name) { return std::ranges::count(stack, name); };
    in_order += has("order") != 0 ? 1 : 0;
    in_handler += has("handler") != 0 ? 1 : 0;
    in_deep += has("deep") == 31 ? 1 : 0;
    const bool of_program = has("order") != 0 || has("handler") != 0 || has("deep") != 0;
    if (of_program) {
      EXPECT_EQ(has("main"), 1);
    }
  }
  EXPECT_GT(in_order, 3u);
  EXPECT_GT(in_handler, 3u);
  EXPECT_GT(in_deep, 3u);
}

TEST_F(UnwoundStacks, CopiesAreUnwoundAsPerfDoes) {
  if (IsSkipped()) return;
  ASSERT_NO_FATAL_FAILURE(Record(""));
  const std::vector<NamedStack> perfs = Perfs(), stacks = Ours();
  ASSERT_EQ(stacks.size(), perfs.size());
  for (size_t i = 0; i < stacks.size(); ++i) {
    EXPECT_EQ(stacks[i].size(), perfs[i].size()) << i;
    // The C library's internal names depend on whose symbols are read.
    for (const char* own : {"leaf", "order", "handler", "deep", "main"})
      EXPECT_EQ(std::ranges::count(stacks[i], own), std::ranges::count(perfs[i], own)) << i << own;
  }
  ExpectSourcesStacks(stacks);
}

// The program has .debug_frame only, which perf does not look at beside the .eh_frame of what the
// linker added.
TEST_F(UnwoundStacks, AlsoByTablesForDebuggers) {
  if (IsSkipped()) return;
  ASSERT_NO_FATAL_FAILURE(Record("-g -fno-asynchronous-unwind-tables -fno-exceptions"));
  ExpectSourcesStacks(Ours());
}

TEST_F(UnwoundStacks, OutOfTheVdso) {
  if (IsSkipped()) return;
  folder_.Write("clock.c", R"(
#include <time.h>
int main(void) {
  struct timespec now;
  for (long i = 0; i < 8000000; ++i) clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_nsec == 1;
})");
  const ProgramResult made = RunShell(
      folder_, std::string(TEST_CC) +
                   " -O2 -o clock clock.c && perf record -q -e "
                   "cpu-clock:u -c 300000 --call-graph dwarf,4096 -o clock.data ./clock 2>err");
  ASSERT_EQ(made.status, 0) << made.err << ReadFile(folder_.File("err"));
  size_t in_vdso = 0, whole = 0;
  for (const json& each : Objects({"stack", folder_.File("clock.data"), "--all"})) {
    if (each["frames"].empty() || each["frames"][0]["object"] != "[vdso]") continue;
    ++in_vdso;
    whole += each["stack_copy"] == "outermost" ? 1 : 0;
  }
  if (in_vdso == 0) GTEST_SKIP() << "the clock is not read in the vDSO here";
  EXPECT_GT(whole, in_vdso * 9 / 10);
}

TEST_F(RecordedStacks, AddUpByCallPath) {
  if (IsSkipped()) return;
  const ProgramResult folded = RunFlowback({"export", "--to", "folded", Data()});
  ASSERT_EQ(folded.status, 0) << folded.err;
  uint64_t all = 0;
  uint64_t known = 0;
  for (const std::string& line : Lines(folded.out)) {
    const size_t blank = line.rfind(' ');
    const uint64_t count = std::stoull(line.substr(blank + 1));
    all += count;
    EXPECT_TRUE(line.starts_with("known;") || line.starts_with("perf")) << line;
    if (line.substr(0, blank).ends_with(";main;outer;middle;leaf")) known += count;
  }
  const size_t samples = Objects({"stack", Data(), "--all"}).size();
  const uint64_t middle = Objects({"stack", Data(), "--at", "50%"}).at(0)["sample"];
  EXPECT_TRUE(middle > samples / 4 && middle < samples) << middle << " of " << samples;
  EXPECT_EQ(all, samples);
  EXPECT_GT(known * 10, samples * 8);
  uint64_t sum = 0;
  for (const json& path : Objects({"stack", Data(), "--paths"}))
    sum += path["samples"].get<uint64_t>();
  EXPECT_EQ(sum, samples);
  const std::string text = RunFlowback({"stack", Data(), "--paths"}).out;
  EXPECT_TRUE(text.starts_with(std::to_string(samples) + " samples of calls\n")) << text;
}

}  // namespace
}  // namespace flowback::test
