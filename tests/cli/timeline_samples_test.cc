// SPDX-License-Identifier: MIT
// `flowback timeline` of branch stacks, which are samples. Judges: samples that the test itself
// wrote; perf script for recordings made by hardware.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "capture/formats/perf_records/perf_layout.h"
#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/perf_data_builder.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;
using namespace perf;
using nlohmann::json;
using support::FieldWriter;
using support::PerfDataBuilder;

constexpr uint64_t kTenth = 100'000'000;  // of a second
constexpr uint64_t kInKernel = 0xffffffff81000000;

// `spin` is a nop and a jump back to it, `rest` two nops and such a jump.
constexpr const char* kProgram = R"(
.text
.globl _start, rest
.type _start, @function
_start: jmp spin
.size _start, . - _start
.type spin, @function
spin: nop
jmp spin
.size spin, . - spin
.type rest, @function
rest: nop
nop
jmp rest
.size rest, . - rest
)";

struct Record {
  uint64_t from = 0;
  uint64_t to = 0;
};

// A program, and a file of samples of it.
class SampledProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string(TEST_CC).empty() || !fs::exists(TEST_CC)) GTEST_SKIP() << "no C compiler";
    folder_.Write("program.s", kProgram);
    const std::string make = std::string(TEST_CC) +
                             " -nostdlib -static -no-pie -Wl,-Ttext=0x401000"
                             " -Wl,--build-id=none -o program program.s && nm program";
    const ProgramResult made = RunShell(folder_, make);
    if (made.status != 0) GTEST_SKIP() << "the compiler makes no x86 program: " << made.err;
    for (const std::string& line : Lines(made.out)) {
      const std::vector<std::string> words = Words(line);
      if (words.size() == 3) symbols_[words[2]] = std::stoull(words[0], nullptr, 16);
    }
    ASSERT_EQ(symbols_["_start"], 0x401000u) << made.out;
  }

  uint64_t Spin() { return symbols_["spin"]; }
  uint64_t Rest() { return symbols_["rest"]; }
  // The jump back, twice: it executed, then all of the loop did.
  std::vector<Record> Spinning() { return {{Spin() + 1, Spin()}, {Spin() + 1, Spin()}}; }
  std::vector<Record> Resting() { return {{Rest() + 2, Rest()}, {Rest() + 2, Rest()}}; }

  void Begin(uint64_t sample_type) {
    type_ = sample_type | kSampleTid | kSampleBranchStack;
    file_.emplace();
    file_->AddEvent({0, 0, type_, true, {}, kBranchUser | kBranchAny});
    file_->Comm(42, 42, "first", false, {.time = 1, .pid = 42, .tid = 42});
    file_->Comm(42, 43, "second", false, {.time = 1, .pid = 42, .tid = 43});
    file_->Mmap2(42, 0x401000, 0x1000, 0x1000, folder_.File("program"),
                 {.time = 1, .pid = 42, .tid = 42});
  }
  void Sample(uint32_t tid, uint64_t time, uint64_t ip, const std::vector<Record>& newest_first) {
    FieldWriter body;
    if ((type_ & kSampleIp) != 0) body.U64(ip);
    body.U32(42).U32(tid);
    if ((type_ & kSampleTime) != 0) body.U64(time);
    body.U64(newest_first.size());
    for (const Record& record : newest_first) body.U64(record.from).U64(record.to).U64(0);
    file_->Record(kRecordSample, 2, body);
  }
  // Four samples of one thread, one of which the code contradicts, and two of another one; and one
  // without records.
  void SampleAll() {
    Sample(42, 10 * kTenth, Spin(), Spinning());
    Sample(42, 11 * kTenth, Spin() + 1, Spinning());
    Sample(43, 15 * kTenth, Rest(), Resting());
    Sample(43, 16 * kTenth, kInKernel, Resting());
    Sample(42, 17 * kTenth, Spin(), {});
    Sample(42, 19 * kTenth, Rest() + 1, Resting());
    Sample(42, 20 * kTenth, Spin(), {{Spin(), Rest()}});
  }

  ProgramResult Run(std::vector<std::string> words) {
    const std::vector<uint8_t> bytes = file_->Build();
    const std::string path = folder_.Write("perf.data", std::string(bytes.begin(), bytes.end()));
    words.insert(words.begin(), {"timeline", path, "--no-cache"});
    return RunFlowback(words);
  }
  json RunJson(std::vector<std::string> words = {}) {
    words.push_back("--json");
    const ProgramResult result = Run(words);
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out);
  }

  ScratchFolder folder_;
  std::map<std::string, uint64_t> symbols_;
  std::optional<PerfDataBuilder> file_;
  uint64_t type_ = 0;
};

// Samples of each function, and instructions that their records prove.
std::map<std::string, std::pair<uint64_t, uint64_t>> FunctionsOf(const json& told) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> functions;
  for (const json& each : told["functions"])
    functions[each["name"]] = {each["samples"], each["instructions"]};
  return functions;
}

TEST_F(SampledProgram, WhereThreadsStoodAndWhatTheRecordsProve) {
  Begin(kSampleIp | kSampleTime);
  SampleAll();
  const json told = RunJson();
  EXPECT_EQ(told["schema"], "flowback.timeline.samples/1");
  EXPECT_EQ(told["begin"], 10 * kTenth);
  EXPECT_EQ(told["end"], 20 * kTenth);
  EXPECT_EQ(told["samples"], 6);
  EXPECT_EQ(told["empty_samples"], 1);
  EXPECT_EQ(told["records"], 11);
  EXPECT_EQ(told["contradicted_records"], 1);
  EXPECT_EQ(told["unread_records"], 0);
  EXPECT_EQ(told["instructions"], 2 * 3 + 3 * 4);
  const std::map<std::string, std::pair<uint64_t, uint64_t>> functions = {
      {"[kernel]", {1, 0}}, {"rest", {2, 12}}, {"spin", {3, 6}}};
  EXPECT_EQ(FunctionsOf(told), functions);
  ASSERT_EQ(told["threads"].size(), 2u);
  const json& first = told["threads"][0];
  EXPECT_EQ(first["tid"], 42);
  EXPECT_EQ(first["comm"], "first");
  EXPECT_EQ(first["count"], 4);
  EXPECT_EQ(first["samples"][2]["time"], 19 * kTenth);
  EXPECT_EQ(std::stoull(first["samples"][2]["ip"].get<std::string>(), nullptr, 16), Rest() + 1);
  EXPECT_EQ(std::stoull(first["samples"][2]["to"].get<std::string>(), nullptr, 16), Rest());
}

// A thousand columns over a second.
TEST_F(SampledProgram, AStripIsBlankWhereNoSampleWas) {
  Begin(kSampleIp | kSampleTime);
  SampleAll();
  const json told = RunJson();
  std::map<size_t, std::string> seen;
  for (const json& thread : told["threads"]) {
    ASSERT_EQ(thread["strip"].size(), 1000u);
    for (size_t i = 0; i < 1000; ++i) {
      const json& column = thread["strip"][i];
      if (column["samples"] == 0) continue;
      EXPECT_EQ(column["samples"], 1);
      EXPECT_EQ(column["function_samples"], 1);
      seen[i] = told["functions"][column["function"].get<size_t>()]["name"];
    }
  }
  const std::map<size_t, std::string> wanted = {{0, "spin"},       {100, "spin"}, {500, "rest"},
                                                {600, "[kernel]"}, {900, "rest"}, {999, "spin"}};
  EXPECT_EQ(seen, wanted);
}

TEST_F(SampledProgram, TheTextSaysSamplesAndWhatIsNotKnown) {
  Begin(kSampleIp | kSampleTime);
  SampleAll();
  const ProgramResult text = Run({});
  ASSERT_EQ(text.status, 0) << text.err;
  std::string joined;  // however lines are wrapped
  for (const std::string& line : Lines(text.out))
    for (const std::string& word : Words(line)) joined += (joined.empty() ? "" : " ") + word;
  for (const char* sentence :
       {"6 samples of 2 threads, from 1.000000000 to 2.000000000, which is 1.00 s from the first",
        "50.0 % of the samples stood in spin, 33.3 % in rest, 16.7 % in [kernel].",
        "They hold 11 records, with 18 instructions. The code contradicts 1 of them (9.1 %).",
        "the flow between two of them is not known", "1 more sample is without any record",
        "samples of threads", "a blank: no sample", "66.7 % 4 first 42", "50.0 % 3 6 spin"})
    EXPECT_TRUE(joined.contains(sentence)) << sentence << '\n' << text.out;
  EXPECT_TRUE(Run({"--top", "1"}).out.contains("(2 more: --top N)"));
}

// Records of mappings still name the file of missing code.
TEST_F(SampledProgram, FilesThatAreNotThereAreToldByTheirPaths) {
  Begin(kSampleIp | kSampleTime);
  constexpr uint64_t kGone = 0x7f0000001000, kMadeAtRunTime = 0x7f0000010000;
  const support::Trailer at{.time = 1, .pid = 42, .tid = 42};
  file_->Mmap2(42, kGone, 0x1000, 0x1000, "/nowhere/lib/gone.so.6", at);
  file_->Mmap2(42, kMadeAtRunTime, 0x1000, 0, "//anon", at);
  const std::vector<Record> inside = {{kGone + 8, kGone}};
  Sample(42, 10 * kTenth, kGone, inside);
  Sample(42, 11 * kTenth, kGone + 0x800, inside);
  Sample(42, 12 * kTenth, kMadeAtRunTime + 1, inside);
  Sample(42, 13 * kTenth, 0x10, inside);
  const json told = RunJson();
  const std::map<std::string, std::pair<uint64_t, uint64_t>> functions = {
      {"[gone.so.6]", {2, 0}}, {"[anon]", {1, 0}}, {"[unknown]", {1, 0}}};
  EXPECT_EQ(FunctionsOf(told), functions);
  EXPECT_EQ(told["functions"][0]["file"], "/nowhere/lib/gone.so.6");
}

TEST_F(SampledProgram, APartOfThem) {
  Begin(kSampleIp | kSampleTime);
  SampleAll();
  const json thread = RunJson({"--tid", "43"});
  EXPECT_EQ(thread["samples"], 2);
  EXPECT_EQ(thread["instructions"], 8);
  EXPECT_EQ(RunJson({"--comm", "first"})["samples"], 4);
  const json time = RunJson({"--time", "1.05,1.9"});
  EXPECT_EQ(time["samples"], 4);
  EXPECT_EQ(time["records"], 8);
  EXPECT_EQ(time["contradicted_records"], 0);
  EXPECT_EQ(time["instructions"], 3 + 3 * 4);
  EXPECT_EQ(time["begin"], 11 * kTenth);
  const ProgramResult none = Run({"--time", "1.2,1.3"});
  EXPECT_EQ(none.status, 0) << none.err;
  EXPECT_TRUE(none.out.contains("0 samples of 0 threads")) << none.out;
  EXPECT_TRUE(none.err.contains("nothing to show in that time")) << none.err;
}

TEST_F(SampledProgram, WithoutAddressTheNewestRecordTells) {
  Begin(kSampleTime);
  SampleAll();
  const json told = RunJson();
  EXPECT_EQ(told["samples_without_ip"], 6);
  const std::map<std::string, std::pair<uint64_t, uint64_t>> functions = {{"rest", {4, 12}},
                                                                          {"spin", {2, 6}}};
  EXPECT_EQ(FunctionsOf(told), functions);
  EXPECT_TRUE(told["threads"][0]["samples"][0]["ip"].is_null());
}

TEST_F(SampledProgram, WithoutTimesThereAreNoStrips) {
  Begin(kSampleIp);
  SampleAll();
  const json told = RunJson();
  EXPECT_EQ(told["samples"], 6);
  EXPECT_TRUE(told["begin"].is_null());
  EXPECT_TRUE(told["threads"][0]["strip"].empty());
  EXPECT_EQ(FunctionsOf(told)["spin"].first, 3u);
  const std::string text = Run({}).out;
  EXPECT_TRUE(text.contains("does not contain when")) << text;
  EXPECT_FALSE(text.contains("samples of threads")) << text;
}

TEST_F(SampledProgram, OneSampleAlone) {
  Begin(kSampleIp | kSampleTime);
  Sample(42, 10 * kTenth, Spin(), Spinning());
  const std::string text = Run({}).out;
  EXPECT_TRUE(text.contains("1 sample of 1 thread, at 1.000000000.")) << text;
  EXPECT_FALSE(text.contains("samples of threads")) << text;
  EXPECT_EQ(RunJson()["begin"], 10 * kTenth);
}

TEST_F(SampledProgram, WhatNeedsWholeFlowIsRefused) {
  Begin(kSampleIp | kSampleTime);
  SampleAll();
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--depth", "3"},
                                             {"--at", "1.5"},
                                             {"--around", "3"},
                                             {"--function", "spin"},
                                             {"--svg", folder_.File("picture.svg")},
                                             {"--html", folder_.File("page.html")},
                                             {"--overview"}}) {
    const ProgramResult result = Run(words);
    EXPECT_EQ(result.status, 2) << words[0];
    EXPECT_TRUE(result.err.contains("samples")) << result.err;
    EXPECT_TRUE(result.err.contains(words[0])) << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_FALSE(fs::exists(folder_.File("picture.svg")));
}

// Stacks of calls that had not returned prove no flow; the places of the threads are printed all
// the same.
TEST_F(SampledProgram, RecordsThatNoEngineDecodes) {
  type_ = kSampleIp | kSampleTid | kSampleTime | kSampleBranchStack;
  file_.emplace();
  file_->AddEvent({0, 0, type_, true, {}, kBranchUser | kBranchCallStack});
  Sample(42, 10 * kTenth, Spin(), Spinning());
  const json told = RunJson();
  EXPECT_EQ(told["samples"], 1);
  EXPECT_EQ(told["judged"], false);
  EXPECT_TRUE(Run({}).out.contains("not held against the code"));
}

struct Shared {
  const char* name;
  const char* file;
  const char* image;
  const char* mapped;
};

class SharedStacks : public ::testing::TestWithParam<Shared> {
 protected:
  SharedStacks() : input_(golden::TracesFolder() / "branch-stack" / GetParam().file) {
    if (!golden::HaveTraces() || *GetParam().image == 0) return;
    const fs::path image = folder_.File("root" + std::string(GetParam().mapped));
    fs::create_directories(image.parent_path());
    fs::copy_file(golden::TracesFolder() / "branch-stack" / GetParam().image, image);
  }

  ScratchFolder folder_;
  std::string input_;
};

using Place = std::tuple<int32_t, uint64_t, uint64_t>;  // tid, nanoseconds, address

struct PerfsSamples {
  std::map<Place, uint64_t> places;  // of samples with records
  std::map<std::string, uint64_t> functions;
  std::map<std::string, uint64_t> files;  // in no known function
  uint64_t empty = 0;
};

bool IsPath(const std::string& file) { return file.starts_with('/'); }

// "  1580 729187.314300123: 7f427226ae00 [unknown] (/lib/x.so)  0x...(/lib/x.so)/0x.../P/-/-/0 ..."
PerfsSamples Parse(const std::string& text) {
  PerfsSamples samples;
  for (const std::string& line : Lines(text)) {
    const std::vector<std::string> words = Words(line);
    if (words.size() < 4) continue;
    if (!line.contains("/0x") && !line.contains("/-/")) {
      ++samples.empty;
      continue;
    }
    std::string time = words[1];
    std::erase_if(time, [](char c) { return c == '.' || c == ':'; });
    ++samples.places[{std::stoi(words[0]), std::stoull(time), std::stoull(words[2], nullptr, 16)}];
    if (words[3] != "[unknown]") {
      ++samples.functions[words[3]];
      continue;
    }
    const std::string file = words[4].substr(1, words[4].find(')') - 1);
    const bool of_kernel = std::stoull(words[2], nullptr, 16) >> 63 != 0;  // `[kernel]` to us
    if (IsPath(file) && !of_kernel) ++samples.files[file];
  }
  return samples;
}

TEST_P(SharedStacks, TheSamplesArePerfs) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult perf =
      RunShell(folder_,
               "mkdir -p root; perf script -F tid,time,ip,sym,dso,brstack --ns --symfs $PWD/root "
               "--kallsyms /dev/null -i " +
                   input_);
  if (perf.status != 0) GTEST_SKIP() << "perf can't read the recording: " << perf.err;
  const PerfsSamples judge = Parse(perf.out);
  ASSERT_FALSE(judge.places.empty()) << perf.err;
  const ProgramResult result =
      RunFlowback({"timeline", input_, "--json", "--no-cache", "--symfs", folder_.File("root")});
  ASSERT_EQ(result.status, 0) << result.err;
  const json told = json::parse(result.out);
  PerfsSamples ours;
  for (const json& thread : told["threads"])
    for (const json& sample : thread["samples"])
      ++ours.places[{thread["tid"], sample["time"],
                     std::stoull(sample["ip"].get<std::string>(), nullptr, 16)}];
  for (const json& function : told["functions"]) {
    const uint64_t count = function["samples"];
    if (count == 0) continue;
    if (function["named"] == true)
      ours.functions[function["name"]] = count;
    else if (function["file"].is_string() && IsPath(function["file"]))
      ours.files[function["file"]] = count;
  }
  EXPECT_EQ(ours.places, judge.places);
  EXPECT_EQ(ours.functions, judge.functions);
  EXPECT_EQ(ours.files, judge.files);
  EXPECT_EQ(told["empty_samples"], judge.empty);
}

INSTANTIATE_TEST_SUITE_P(
    All, SharedStacks,
    ::testing::Values(
        Shared{"Skylake", "autofdo-propeller-sample1-skx-a/propeller_sample_1.perfdata1",
               "autofdo-propeller-sample1-skx-a/propeller_sample_1.bin",
               "/build/work/bfc40c97139ee05051c97b0723882c290ea4/google3/blaze-out/"
               "k8-fastbuild/genfiles/devtools/crosstool/autofdo/testdata/"
               "propeller_sample_1.bin.gen"},
        Shared{"SimpleperfB", "simpleperf-perf_b/perf_b.data", "simpleperf-perf_b/elf", "/elf"},
        Shared{"SkylakeClient", "quipper-branch/perf.data.branch-4.14", "", ""},
        Shared{"Zen4", "quipper-branch/perf.data.branch_stack_spec", "", ""}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace flowback::test
