// SPDX-License-Identifier: MIT
// `decode --as digest` of every real recording, with both engines, and of some generated ones.
#include <gtest/gtest.h>

#include "flowback/decode/decoder.h"
#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

class Digest : public ::testing::TestWithParam<std::tuple<RealRecording, std::string>> {};

TEST_P(Digest, IsTheKnownOne) {
  FLOWBACK_NEEDS_TRACES();
  const auto& [recording, engine] = GetParam();
  std::vector<std::string> words = {"decode", "--as",     "digest", "--engine",
                                    engine,   "--resync", "psb"};
  words.insert(words.end(), recording.words.begin(), recording.words.end());
  const ProgramResult result = RunFlowback(words);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, recording.label + " " + recording.count + " " + recording.digest + "\n");
  if (recording.complete) {
    EXPECT_EQ(result.err, "");
  }
}

std::vector<std::string> Engines() {
  std::vector<std::string> names;
  for (const std::string_view name : DecoderNames()) names.emplace_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Real, Digest,
                         ::testing::Combine(::testing::ValuesIn(RealRecordings()),
                                            ::testing::ValuesIn(Engines())),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_" + std::get<1>(test.param);
                         });

// Recordings whose streams each belong to one thread: lines named by thread and, with --by-cpu, by
// stream, in the numbers' order.
class GeneratedDigest : public ::testing::TestWithParam<std::string> {};

std::string ExpectedLines(const std::string& recording, const std::string& prefix, bool keep) {
  std::string lines;
  for (const auto& row : golden::ReadTable(golden::TracesFolder() / "generated/digests.tsv"))
    if (row[0] == recording && row[1].starts_with(prefix))
      lines += row[1].substr(keep ? 0 : prefix.size()) + " " + row[2] + " " + row[3] + "\n";
  return lines;
}

std::vector<std::string> DigestWords(const std::string& name) {
  const auto folder = golden::TracesFolder() / "generated";
  return {"decode", "--as", "digest", folder / name / "perf.data", "--symfs", folder / "images"};
}

TEST_P(GeneratedDigest, ByThread) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(DigestWords(GetParam()));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, ExpectedLines(GetParam(), "tid", false));
}

TEST_P(GeneratedDigest, ByCpu) {
  FLOWBACK_NEEDS_TRACES();
  std::vector<std::string> words = DigestWords(GetParam());
  words.push_back("--by-cpu");
  const ProgramResult result = RunFlowback(words);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, ExpectedLines(GetParam(), "cpu", true));
}

INSTANTIATE_TEST_SUITE_P(Generated, GeneratedDigest,
                         ::testing::Values("hello", "forks", "dlopen-aslr", "crash", "execs",
                                           "pool-perthread"),
                         [](const auto& test) { return golden::TestName(test.param); });

// The threads of two CPUs' buffers are put together; as CPU streams they stay as recorded.
TEST(SharedBuffer, IsShownByThreadAndByCpu) {
  FLOWBACK_NEEDS_TRACES();
  for (const char* recording : {"spin-cyc", "spin-switchwide-power"}) {
    std::vector<std::string> words = DigestWords(recording);
    const ProgramResult threads = RunFlowback(words);
    EXPECT_EQ(threads.status, 0) << threads.err;
    EXPECT_EQ(threads.out, ExpectedLines(recording, "tid", false));
    words.push_back("--by-cpu");
    const ProgramResult cpus = RunFlowback(words);
    EXPECT_EQ(cpus.out, ExpectedLines(recording, "cpu", true)) << cpus.err;
  }
}

// Each process's modules are its own, also where another one has different code or nothing.
TEST(DigestOfBundle, ProcessesHaveTheirOwnCodeAtOneAddress) {
  FLOWBACK_NEEDS_TRACES();
  const std::string lldb = Traces("lldb/intelpt-trace/");
  const auto process = [&](int pid, const std::string& modules) {
    return "{\"pid\": " + std::to_string(pid) + ", \"threads\": [{\"tid\": " + std::to_string(pid) +
           ", \"iptTrace\": \"" + lldb + "3842849.trace\"}], \"modules\": [" + modules + "]}";
  };
  const auto module = [](const std::string& path) {
    return "{\"systemPath\": \"" + path + "\", \"loadAddress\": \"0x400000\"}";
  };
  ScratchFolder folder;
  const std::string bundle = folder.Write(
      "trace.json",
      R"({"type": "intel-pt", "cpuInfo": {"vendor": "GenuineIntel", "family": 6, "model": 79,
          "stepping": 1}, "processes": [)" +
          process(10, module(lldb + "export_ctf_test_program.out")) + "," +
          process(20, module(lldb + "a.out")) + "," + process(30, module("/absent/a.out")) + "]}");
  const ProgramResult result = RunFlowback({"decode", "--as", "digest", "--resync", "psb", bundle});
  EXPECT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 3u) << result.out;
  EXPECT_FALSE(lines[0].contains("84165e174e170b3a")) << lines[0];
  EXPECT_EQ(lines[1], "20 21 84165e174e170b3a");
  EXPECT_EQ(lines[2], "30 0 0000000000000000");
  EXPECT_TRUE(result.err.contains("no code image of /absent/a.out")) << result.err;
  const ProgramResult info = RunFlowback({"info", bundle});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_TRUE(info.out.contains("not found (/absent/a.out: No such file or directory)"))
      << info.out;
}

// The recording ends with the last packet with the time, which need not be a TSC.
TEST(Time, AHundredPerCentIsAll) {
  FLOWBACK_NEEDS_TRACES();
  std::vector<std::string> words = DigestWords("hello");
  words.insert(words.end(), {"--time", "0%,100%"});
  EXPECT_EQ(RunFlowback(words).out, ExpectedLines("hello", "tid", false));
}

TEST(Time, PacketsAreSelectedByMtcToo) {
  FLOWBACK_NEEDS_TRACES();
  const std::string file = golden::TracesFolder() / "generated/hello/perf.data";
  const ProgramResult result =
      RunFlowback({"decode", file, "--as", "packets", "--time", "10%,20%"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find(" MTC "), std::string::npos);
}

// A span of time has no byte account, and info has no span.
TEST(Time, BytesAreOfWholeStreams) {
  FLOWBACK_NEEDS_TRACES();
  const std::filesystem::path folder = golden::TracesFolder() / "generated";
  const std::string file = folder / "hello/perf.data";
  const ProgramResult part = RunFlowback(
      {"decode", file, "--symfs", folder / "images", "--as", "summary", "--time", "10%,20%"});
  EXPECT_EQ(part.out.find("bytes"), std::string::npos) << part.out;
  const ProgramResult info = RunFlowback({"info", file, "--time", "1,2"});
  EXPECT_EQ(info.status, 2);
  EXPECT_TRUE(info.err.contains("flowback decode --as summary --time 1,2 " + file)) << info.err;
  EXPECT_FALSE(RunFlowback({"info", "--help"}).out.contains("--time "));
}

// An empty listing shows neither that nothing ran then, nor when something did.
TEST(Time, OfNothingNamesTheTimesOfTheTrace) {
  FLOWBACK_NEEDS_TRACES();
  const std::filesystem::path folder = golden::TracesFolder() / "generated";
  const auto decode = [&](const std::string& kind, const std::string& time) {
    return RunFlowback({"decode", folder / "hello/perf.data", "--symfs", folder / "images", "--as",
                        kind, "--time", time});
  };
  for (const std::string kind : {"instructions", "events", "packets", "digest", "summary"}) {
    const ProgramResult none = decode(kind, "1,2");
    EXPECT_EQ(none.status, 2) << kind;
    EXPECT_TRUE(none.err.contains("the trace is from 9339.999316838 to 9339.999507893"))
        << kind << ": " << none.err;
    EXPECT_EQ(decode(kind, "10%,90%").err, "") << kind;
  }
}

TEST(ByCpu, DoesNotCombineWithThreads) {
  FLOWBACK_NEEDS_TRACES();
  std::vector<std::string> words = DigestWords("spin-cyc");
  words.insert(words.end(), {"--by-cpu", "--tid", "4768"});
  const ProgramResult result = RunFlowback(words);
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(result.err.contains("do not combine")) << result.err;
}

}  // namespace
}  // namespace flowback::test
