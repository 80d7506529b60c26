// SPDX-License-Identifier: MIT
// Recordings of branch stacks, made by hardware, through the commands: their accounts are those
// of the notes beside them, and whatever is printed says that it is samples.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/cli/stack_account.h"
#include "tests/golden/shared_traces.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Known {
  const char* name;
  const char* file;
  const char* image;   // beside it
  const char* mapped;  // as the recording names it
  uint64_t decoded;
  uint64_t halves;  // of these: ways out of a kernel that was not recorded
  std::map<std::string, uint64_t> losses;
};

const std::vector<Known>& AllKnown() {
  static const std::vector<Known> all = {
      // 2,046 branches and one interrupt.
      {"Haswell",
       "autofdo-hierdisc-haswell/hierarchical_discriminator_test.x86_64.perf.data",
       "autofdo-hierdisc-haswell/hierarchical_discriminator_test.x86_64",
       "/local/home/kvivekananda/hierarchical_discriminator_test",
       2047,
       0,
       {{"no code image", 273}}},
      {"Skylake",
       "autofdo-propeller-sample1-skx-a/propeller_sample_1.perfdata1",
       "autofdo-propeller-sample1-skx-a/propeller_sample_1.bin",
       "/build/work/bfc40c97139ee05051c97b0723882c290ea4/google3/blaze-out/k8-fastbuild/genfiles/"
       "devtools/crosstool/autofdo/testdata/propeller_sample_1.bin.gen",
       116698,
       14,
       {{"no code image", 115}, {"the newest record was reported twice", 947}}},
      {"SimpleperfLbr",
       "simpleperf-lbr/perf_lbr.data",
       "simpleperf-lbr/lbr_test_loop",
       "/home/"
       "yabinc/lbr_test_loop",
       386,
       1,
       {}},
      {"SimpleperfB",
       "simpleperf-perf_b/perf_b.data",
       "simpleperf-perf_b/elf",
       "/elf",
       2384,
       0,
       {{"no code image", 16}}},
  };
  return all;
}

class BranchStacks : public ::testing::TestWithParam<Known> {
 protected:
  BranchStacks() : input_(golden::TracesFolder() / "branch-stack" / GetParam().file) {
    if (!golden::HaveTraces()) return;
    const fs::path image = folder_.File("root" + std::string(GetParam().mapped));
    fs::create_directories(image.parent_path());
    fs::copy_file(golden::TracesFolder() / "branch-stack" / GetParam().image, image);
  }
  ProgramResult Run(std::vector<std::string> words) const {
    words.insert(words.end(), {"--no-cache", "--symfs", folder_.File("root"), input_});
    return RunFlowback(words);
  }

  // The file with it; empty: there is no perf, or it can't read the recording.
  std::string PerfsText() const {
    const std::string text = folder_.File("stacks.txt");
    const std::string command =
        "perf script -F ip,brstack --show-mmap-events -i " + input_ + " > " + text + " 2>/dev/null";
    const bool made = std::system(command.c_str()) == 0 && fs::file_size(text) != 0;
    return made ? text : std::string();
  }
  uint64_t Interrupts() const {
    const std::string events = Run({"decode", "--as", "events"}).out;
    uint64_t count = 0;
    for (size_t at = 0; (at = events.find(" interrupted ", at)) != events.npos; ++at) ++count;
    return count;
  }

  ScratchFolder folder_;
  std::string input_;
};

TEST_P(BranchStacks, TheAccountIsThatOfTheNotes) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult info = Run({"info", "--json"});
  ASSERT_EQ(info.status, 0) << info.err;
  const json object = json::parse(info.out);
  EXPECT_EQ(object["branch_trace"], "branch stacks");
  EXPECT_EQ(object["unit"], "records");
  EXPECT_EQ(object["unit_bytes"], 56);
  for (const json& stream : object["streams"])
    EXPECT_EQ(stream["bytes"], stream["bytes_decoded"].get<uint64_t>() +
                                   stream["bytes_padding"].get<uint64_t>() +
                                   stream["bytes_lost"].get<uint64_t>());
  for (const json& kind : object["packets"]) EXPECT_EQ(kind["bytes"], kind["count"]);
  for (const json& loss : object["losses"])
    if (loss["bytes"].is_number() && loss["bytes"] != 0) EXPECT_EQ(loss["bytes"], loss["count"]);
  uint64_t decoded = 0;
  for (const json& stream : object["streams"]) decoded += stream["bytes_decoded"].get<uint64_t>();
  EXPECT_EQ(decoded, GetParam().decoded);
  std::map<std::string, uint64_t> losses;
  for (const json& loss : object["losses"])
    if (loss["bytes"].is_number() && loss["bytes"] != 0) losses[loss["cause"]] = loss["count"];
  EXPECT_EQ(losses, GetParam().losses);
}

TEST_P(BranchStacks, EachListingSaysSamples) {
  FLOWBACK_NEEDS_TRACES();
  for (const char* kind : {"instructions", "lines", "blocks", "branches", "events"}) {
    for (const char* threads : {"1", "2"}) {
      const ProgramResult text = Run({"decode", "--as", kind, "--threads", threads});
      EXPECT_EQ(text.status, 0) << kind << text.err;
      EXPECT_TRUE(text.out.contains("# samples: ")) << kind;
      EXPECT_TRUE(text.out.contains("# unknown between")) << kind;
      const ProgramResult lines = Run({"decode", "--as", kind, "--json", "--threads", threads});
      EXPECT_TRUE(lines.out.contains("\"samples\":true")) << kind;
      EXPECT_TRUE(lines.out.contains("{\"type\":\"unknown\"")) << kind;
    }
  }
  EXPECT_TRUE(Run({"decode", "--as", "instructions", "--by-time"}).out.contains("# samples: "));
  EXPECT_TRUE(Run({"decode", "--as", "digest"}).err.contains("samples"));
  EXPECT_TRUE(Run({"decode", "--as", "summary"}).err.contains("samples"));
  EXPECT_TRUE(Run({"coverage"}).out.contains("samples"));
  EXPECT_FALSE(Run({"info"}).out.contains("waits are counted as kernel time"));
}

TEST_P(BranchStacks, InstructionsAreThoseOfTheDigest) {
  FLOWBACK_NEEDS_TRACES();
  const std::string digest = Run({"decode", "--as", "digest"}).out;
  const std::string text = Run({"decode", "--as", "instructions", "-F", "ip"}).out;
  uint64_t count = 0, hash = 0;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    if (line.starts_with('#')) continue;
    hash = hash * 0x9e3779b97f4a7c15 + std::stoull(line, nullptr, 16);
    ++count;
  }
  char tail[64];
  std::snprintf(tail, sizeof tail, " %llu %016llx\n", static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(hash));
  EXPECT_TRUE(digest.ends_with(tail)) << digest << tail;
  EXPECT_GT(count, 1000u);
}

TEST_P(BranchStacks, WhatSamplesDoNotTellIsRefused) {
  FLOWBACK_NEEDS_TRACES();
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"stack"}, {"decode", "--as", "calls"}}) {
    const ProgramResult result = Run(words);
    EXPECT_EQ(result.status, 1) << words[0];
    EXPECT_TRUE(result.err.contains("which are samples")) << result.err;
    EXPECT_TRUE(result.err.contains("\n  try: ")) << result.err;
  }
}

// The first sentence answers.
TEST_P(BranchStacks, BranchesAreRanked) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult text = Run({"branches"});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("The hottest branch is ")) << text.out;
  EXPECT_TRUE(text.out.contains("These are samples")) << text.out;
  const ProgramResult lines = Run({"branches", "--json"});
  uint64_t taken = 0, told = 0;
  size_t begin = 0;
  for (size_t end; (end = lines.out.find('\n', begin)) != lines.out.npos; begin = end + 1) {
    const json line = json::parse(lines.out.substr(begin, end - begin));
    if (line.contains("schema")) {
      EXPECT_EQ(line["samples"], true);
      continue;
    }
    taken += line["taken"].get<uint64_t>();
    EXPECT_EQ(line["elsewhere"], 0);
    for (const json& target : line["targets"]) told += target["times"].get<uint64_t>();
  }
  EXPECT_EQ(taken, told);
  EXPECT_EQ(taken + Interrupts() + GetParam().halves, GetParam().decoded);
}

// What other tools made of the same recordings.
TEST_P(BranchStacks, ProfilesForCompilersAreThoseOfOtherTools) {
  FLOWBACK_NEEDS_TRACES();
  const std::map<std::string, std::vector<std::string>> expected = {
      // `simpleperf inject`: without addresses of samples, which branch stacks lack. It drops the
      // range to which the kernel returned (1948); the table beside the recording has that.
      {"SimpleperfLbr",
       {"1910-191b:31", "1940-194d:341", "1948-194d:1", "191b->1910:32", "194d->1940:353"}},
      // llvm-profgen 19, of a file whose first page is at 400000.
      {"SimpleperfB",
       {"4ed-501:745", "513-513:745", "518-523:745", "501->518:833", "513->4ed:788",
        "523->513:763"}},
  };
  const auto known = expected.find(GetParam().name);
  if (known == expected.end()) GTEST_SKIP() << "no other tool's profile is there";
  const std::string object = fs::path(GetParam().mapped).filename();
  std::string ranges, branches;
  uint64_t count[2] = {0, 0};
  for (const std::string& line : known->second) {
    const bool branch = line.contains("->");
    (branch ? branches : ranges) += line + '\n';
    ++count[branch];
  }
  const std::string head = std::to_string(count[0]) + '\n' + ranges;
  const std::string tail = std::to_string(count[1]) + '\n' + branches;
  EXPECT_EQ(Run({"export", "--to", "autofdo", "--object", object}).out, head + "0\n" + tail);
  // Counted from the page where the code begins: of the one it is the file's first.
  const std::string raw = Run({"export", "--to", "llvm-raw", "--object", object}).out;
  EXPECT_TRUE(raw.contains(GetParam().name == std::string("SimpleperfB") ? "\n4ed-501:745\n"
                                                                         : "\n910-91b:31\n"))
      << raw;
}

TEST_P(BranchStacks, BrstackTextHasEachBranchThatWasDecoded) {
  FLOWBACK_NEEDS_TRACES();
  const std::string text = Run({"export", "--to", "brstack"}).out;
  uint64_t entries = 0;
  for (size_t at = 0; (at = text.find(" 0x", at)) != text.npos; ++at) ++entries;
  EXPECT_GE(entries + Interrupts() + GetParam().halves, GetParam().decoded);
  EXPECT_LE(entries, GetParam().decoded + 16) << "mappings have addresses, too";
  EXPECT_TRUE(text.contains("PERF_RECORD_MMAP2 "));
}

// Each core makes the text of a part.
TEST_P(BranchStacks, BrstackTextIsTheSameOnAnyNumberOfCores) {
  FLOWBACK_NEEDS_TRACES();
  const std::string one = Run({"export", "--to", "brstack", "--threads", "1"}).out;
  for (const char* const threads : {"2", "3", "7"})
    EXPECT_EQ(Run({"export", "--to", "brstack", "--threads", threads}).out, one) << threads;
  EXPECT_EQ(Run({"export", "--to", "brstack", "--threads", "3", "--window", "1"}).out, one);
}

// perf's text of a recording has the same flow as the recording. A recording that perf refuses,
// because a newer one wrote it, is left out.
TEST_P(BranchStacks, PerfsTextOfItTellsTheSame) {
  FLOWBACK_NEEDS_TRACES();
  const std::string text = PerfsText();
  if (text.empty()) GTEST_SKIP() << "perf is not here or can't read it";
  const auto of_text = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--no-cache", "--symfs", folder_.File("root"), text});
    return RunFlowback(words).out;
  };
  const std::string digest = of_text({"decode", "--as", "digest"});
  EXPECT_EQ(digest, Run({"decode", "--as", "digest"}).out);
  EXPECT_FALSE(digest.empty());
  const json told = json::parse(of_text({"info", "--json"}));
  EXPECT_EQ(AccountOf(told), AccountOf(json::parse(Run({"info", "--json"}).out)));
}

// The same branches as a processor's registers would have held them.
std::string DumpOf(const std::string& text) {
  std::string dump = "flowback-branch-registers 1\nunit arch-lbr\n";
  for (const std::string& line : Lines(text)) {
    char path[4096];
    unsigned long long address = 0, size = 0, offset = 0;
    int pid = 0, tid = 0;
    const size_t map = line.find("PERF_RECORD_MMAP");
    if (map != line.npos) {
      const std::string rest = line.substr(line.find(' ', map) + 1);
      if (std::sscanf(rest.c_str(), "%d/%d: [%llx(%llx) @ %llx", &pid, &tid, &address, &size,
                      &offset) != 5 ||
          pid < 0 ||
          std::sscanf(rest.substr(rest.find("]: ") + 3).c_str(), "%*s %4095s", path) != 1)
        continue;
      std::snprintf(path, sizeof path, "map %d %llx %llx %llx %s\n", pid, address, size, offset,
                    std::string(path).c_str());
      dump += path;
      continue;
    }
    const std::vector<std::string> words = Words(line);
    std::string registers = "dump ip=" + (words.empty() ? "0" : words[0]) + "\n";
    unsigned number = 0;
    for (const std::string& word : words) {
      unsigned long long from = 0, to = 0;
      char prediction = 0;
      if (std::sscanf(word.c_str(), "0x%llx/0x%llx/%c", &from, &to, &prediction) != 3) continue;
      // Empty slots end the registers' list; perf's stacks have them behind the last as well.
      char lines[256];
      std::snprintf(lines, sizeof lines, "0x%x %llx\n0x%x %llx\n0x%x %llx\n", 0x1500 + number, from,
                    0x1600 + number, to, 0x1200 + number,
                    prediction == 'M' ? 0x8800000000000000ULL : 0x0800000000000000ULL);
      registers += lines;
      ++number;
    }
    if (number != 0) dump += registers;
  }
  return dump;
}

TEST_P(BranchStacks, ADumpOfRegistersTellsTheSame) {
  FLOWBACK_NEEDS_TRACES();
  const std::string text = PerfsText();
  if (text.empty()) GTEST_SKIP() << "perf is not here or can't read it";
  const std::string dump = folder_.Write("dump.txt", DumpOf(ReadFile(text)));
  const ProgramResult digest = RunFlowback(
      {"decode", "--as", "digest", "--no-cache", "--symfs", folder_.File("root"), dump});
  EXPECT_EQ(digest.out, Run({"decode", "--as", "digest"}).out) << digest.err;
  EXPECT_TRUE(digest.err.contains("samples")) << digest.err;
}

INSTANTIATE_TEST_SUITE_P(Traces, BranchStacks, ::testing::ValuesIn(AllKnown()),
                         [](const auto& test) { return std::string(test.param.name); });

// Nothing of the program's code can be decoded.
TEST(ExportWithoutCode, FailsInWordsAndKeepsWhatWasThere) {
  FLOWBACK_NEEDS_TRACES();
  const ScratchFolder folder;
  const Known& known = AllKnown().back();
  const std::string input = golden::TracesFolder() / "branch-stack" / known.file;
  const std::string output = folder.File("profile");
  std::ofstream(output) << "kept\n";
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"export",      "--to", "autofdo", "--no-cache", "--symfs",
                                      folder.path(), "-o",   output,    input};
    words.insert(words.end(), more.begin(), more.end());
    return RunFlowback(words);
  };
  const ProgramResult plain = run({});
  EXPECT_EQ(plain.status, 1) << plain.err;
  EXPECT_TRUE(plain.err.contains("could be decoded: /elf ran and is missing")) << plain.err;
  EXPECT_TRUE(plain.err.contains("a folder that has /elf")) << plain.err;
  EXPECT_EQ(run({"--object", "elf"}).status, 1);
  EXPECT_EQ(run({"--strict"}).status, 7);
  const ProgramResult misspelt = run({"--object", "els", "--strict"});
  EXPECT_EQ(misspelt.status, 2);
  EXPECT_TRUE(misspelt.err.contains("no code of 'els' was mapped")) << misspelt.err;
  std::string kept;
  std::getline(std::ifstream(output) >> std::ws, kept);
  EXPECT_EQ(kept, "kept");
}

// The command that docs/reference/output.md shows.
TEST(ExportToLlvm, IsReadByLlvmProfgen) {
  FLOWBACK_NEEDS_TRACES();
  if (std::system("command -v llvm-profgen-19 > /dev/null") != 0)
    GTEST_SKIP() << "llvm-profgen-19 is not here";
  const ScratchFolder folder;
  const Known& known = AllKnown().front();
  const fs::path traces = golden::TracesFolder() / "branch-stack";
  const std::string program = folder.File("root" + std::string(known.mapped));
  fs::create_directories(fs::path(program).parent_path());
  fs::copy_file(traces / known.image, program);
  const std::string raw = folder.File("raw.txt"), profile = folder.File("profile");
  const ProgramResult result = RunFlowback({"export", "--to", "llvm-raw", "-o", raw, "--no-cache",
                                            "--symfs", folder.File("root"), traces / known.file});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string command = "llvm-profgen-19 --format=text --binary=" + program +
                              " --unsymbolized-profile=" + raw + " --output=" + profile;
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(profile);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (const char* function : {"main:", "test_unroll:", "test_vector_loop:"})
    EXPECT_TRUE(text.contains(function)) << text;
}

// All branches, from Intel PT: by branch they are as many as the summary has in all.
TEST(BranchesOfAllFlow, AddUpToTheSummary) {
  FLOWBACK_NEEDS_TRACES();
  const fs::path generated = golden::TracesFolder() / "generated";
  const std::vector<std::string> input = {"--no-cache", "--json", "--symfs", generated / "images",
                                          generated / "hello/perf.data"};
  const auto lines = [&](std::vector<std::string> words) {
    words.insert(words.end(), input.begin(), input.end());
    const std::string out = RunFlowback(words).out;
    std::vector<json> parsed;
    for (size_t begin = 0, end; (end = out.find('\n', begin)) != out.npos; begin = end + 1)
      parsed.push_back(json::parse(out.substr(begin, end - begin)));
    return parsed;
  };
  std::map<std::string, uint64_t> by_class;
  for (const json& line : lines({"branches"})) {
    if (line.contains("schema")) {
      EXPECT_EQ(line["samples"], false);
      continue;
    }
    EXPECT_TRUE(line["right"].is_null() && line["cycles"].is_null()) << "Intel PT tells neither";
    const std::string kind = line["class"];
    by_class[kind.starts_with("far-") ? "far" : kind] += line["taken"].get<uint64_t>();
    by_class["not taken"] += line["not_taken"].get<uint64_t>();
  }
  const json total = lines({"decode", "--as", "summary"}).back();
  const std::pair<const char*, const char*> keys[] = {
      {"jcc", "taken"},   {"not taken", "not_taken"},
      {"jmp", "jumps"},   {"jmp-ind", "indirect_jumps"},
      {"call", "calls"},  {"call-ind", "indirect_calls"},
      {"ret", "returns"}, {"far", "far"}};
  for (const auto& [kind, key] : keys)
    EXPECT_EQ(by_class[kind], total[key].get<uint64_t>()) << kind;
  EXPECT_GT(by_class["jcc"], 1000u);
}

}  // namespace
}  // namespace flowback::test
