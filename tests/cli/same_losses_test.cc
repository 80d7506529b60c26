// SPDX-License-Identifier: MIT
// Every command that reads a recording warns of the same losses and the same missing files, and has
// the same exit status under --strict.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/record/emulated.h"

namespace flowback::test {
namespace {

// The commands that decode. `decode --as packets` reads no code, so no file is missing for it.
const std::vector<std::vector<std::string>> kCommands = {
    {"info"},
    {"decode", "--as", "digest"},
    {"decode", "--as", "instructions"},
    {"decode", "--as", "calls"},
    {"decode", "--as", "events"},
    {"stack"},
    {"stack", "--at", "50%"},
    {"stack", "--at", "#1000", "--json"},
    {"timeline"},
    {"timeline", "--overview"},
    {"timeline", "--json"},
    {"timeline", "--at", "50%"},
    {"coverage"},
    {"coverage", "--format", "lcov"},
    {"branches"},
    {"branches", "--json"},
    {"export", "--to", "brstack"},
    {"export", "--to", "perf"},
    {"export", "--to", "autofdo"},
    {"export", "--to", "llvm-raw"},
    {"export", "--to", "bolt-preagg"},
};

// The lines about losses and files, without what some commands know beside: the threads' time, and
// what helps.
std::vector<std::string> WarningsOf(const std::string& err) {
  std::vector<std::string> warnings;
  for (std::string line : Lines(err)) {
    const bool is_about =
        line.contains(" x ") || line.contains("no code image of") || line.contains("not used:");
    if (!is_about || !line.starts_with("flowback: ")) continue;
    if (const size_t begin = line.find(" of the threads' time ("); begin != std::string::npos) {
      const size_t comma = line.rfind(", ", begin);
      line.erase(comma, line.find(')', begin) + 1 - comma);
    }
    warnings.push_back(line);
  }
  return warnings;
}

class SameLosses : public ::testing::Test {
 protected:
  static constexpr const char* kSource = R"(
__attribute__((noinline)) int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
int main(int c, char** v) { (void)v; int s = 0; for (int i = 0; i < 20; i++) s += f(11 + c); return s == 1; }
)";

  void SetUp() override {
    FLOWBACK_NEEDS_EMULATOR();
    if (std::string_view(TEST_CC).empty()) GTEST_SKIP() << "no C compiler";
    folder_.Write("program.c", kSource);
    const ProgramResult made =
        RunShell(folder_, std::string(TEST_CC) +
                              " -O1 -Wl,--build-id -o program program.c && cp program kept && "
                              "$F record -q --engine emulate --no-images -o data -- ./program");
    ASSERT_EQ(made.status, 0) << made.err;
  }
  ProgramResult Run(std::vector<std::string> words, bool strict) const {
    if (words.front() == "export") {
      words.insert(words.end(), {"-o", folder_.File("exported")});
      std::filesystem::remove_all(folder_.File("exported"));
    }
    if (strict) words.emplace_back("--strict");
    words.insert(words.end(), {"--no-cache", folder_.File("data")});
    return RunFlowback(words);
  }
  // Holds all commands against `decode --as summary`, whose exit status is one of `may_be`.
  void ExpectSame(const std::vector<int>& may_be) const {
    const ProgramResult first = Run({"decode", "--as", "summary"}, true);
    const int strict = first.status;
    ASSERT_NE(std::ranges::find(may_be, strict), may_be.end()) << strict << first.err;
    const std::vector<std::string> warnings = WarningsOf(first.err);
    EXPECT_EQ(warnings.empty(), strict == 0) << first.err;
    for (const std::vector<std::string>& words : kCommands) {
      std::string name;
      for (const std::string& word : words) name += word + ' ';
      const ProgramResult told = Run(words, true);
      EXPECT_EQ(told.status, strict) << name << told.err;
      EXPECT_EQ(WarningsOf(told.err), warnings) << name;
    }
    ExpectSameOfParts(strict, warnings);
  }
  // A part holds what was lost of the recording that it was counted from, a sum what the parts
  // hold.
  void ExpectSameOfParts(int strict, const std::vector<std::string>& warnings) const {
    const ProgramResult saved =
        Run({"coverage", "--save", folder_.File("part"), "-o", folder_.File("report")}, false);
    ASSERT_EQ(saved.status, 0) << saved.err;
    const auto losses_of = [this](const std::vector<std::string>& lines, const std::string& name) {
      std::vector<std::string> losses;
      for (std::string line : lines) {
        if (line.starts_with("flowback: " + name)) line.replace(10, name.size(), "");
        if (line.contains(" x ")) losses.push_back(line);
      }
      return losses;
    };
    const auto expect = [&](const std::vector<std::string>& words, const std::string& name) {
      const ProgramResult told = RunFlowback(words);
      EXPECT_EQ(told.status, strict) << words[0] << told.err;
      EXPECT_EQ(losses_of(Lines(told.err), name), losses_of(warnings, folder_.File("data")));
    };
    const std::string part = folder_.File("part");
    expect({"coverage", "--no-cache", "--strict", part}, part);
    expect({"merge", "--strict", "-o", folder_.File("sum"), part}, "merge");
    EXPECT_EQ(ReadFile(folder_.File("sum")), ReadFile(part));
    EXPECT_EQ(RunFlowback({"merge", "-o", folder_.File("sum"), part}).status, 0);
  }
  void Change(const std::function<void(std::string&)>& change) const {
    std::string bytes = ReadFile(folder_.File("data"));
    change(bytes);
    folder_.Write("data", bytes);
  }

  ScratchFolder folder_;
};

TEST_F(SameLosses, NoneAtAll) { ExpectSame({0}); }

TEST_F(SameLosses, AMissingImage) {
  std::filesystem::remove(folder_.File("program"));
  ExpectSame({7});
  for (const std::vector<std::string>& words : kCommands)
    EXPECT_EQ(Run(words, false).status, 0) << words.front();
}

TEST_F(SameLosses, AnotherBuildOfTheProgram) {
  const ProgramResult made =
      RunShell(folder_, std::string(TEST_CC) + " -O0 -Wl,--build-id -o program program.c");
  ASSERT_EQ(made.status, 0) << made.err;
  ExpectSame({7});
}

// The damaged bytes are of the trace: a record's header among them would hide what comes behind it.
// But a recorder on a busy machine may write the record of a mapping behind a part of the trace
// that needs it: then code is lost with that.
TEST_F(SameLosses, DamagedBytes) {
  Change([](std::string& bytes) {
    std::string sync;
    for (int i = 0; i < 8; ++i) sync += "\x02\x82";
    const size_t trace = bytes.find(sync);
    ASSERT_NE(trace, std::string::npos);
    bytes.replace(trace + 200, 40, 40, '\xff');
  });
  ExpectSame({6, 7});
}

TEST_F(SameLosses, ACutFile) {
  Change([](std::string& bytes) { bytes.resize(bytes.size() * 6 / 10); });
  ExpectSame({6, 7});
}

// What an earlier command kept says the same.
TEST_F(SameLosses, FromTheCache) {
  std::filesystem::remove(folder_.File("program"));
  const std::vector<std::string> words = {"stack", "--strict", "--cache-dir", folder_.File("cache"),
                                          folder_.File("data")};
  const ProgramResult first = RunFlowback(words);
  EXPECT_EQ(first.status, 7) << first.err;
  const ProgramResult second = RunFlowback(words);
  EXPECT_EQ(second.status, 7);
  EXPECT_EQ(second.err, first.err);
  EXPECT_EQ(WarningsOf(first.err), WarningsOf(Run({"decode", "--as", "summary"}, true).err));
}

}  // namespace
}  // namespace flowback::test
