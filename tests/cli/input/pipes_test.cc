// SPDX-License-Identifier: MIT
// Recordings that come through a pipe: standard input and FIFOs, in each form of a perf.data file.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"
#include "tests/support/perf_data_converter.h"

namespace flowback::test {
namespace {

constexpr char kDigest[] = "4661 121899 05f92d9e03eb0afb\n";

class Pipes : public ::testing::Test {
 protected:
  ProgramResult Shell(const std::string& line) const {
    ProgramResult result = RunShell(folder_, line);
    EXPECT_FALSE(result.timed_out) << "still running: " << line;
    return result;
  }

  static std::filesystem::path Hello() { return golden::TracesFolder() / "generated/hello"; }
  static std::string Symfs() {
    return " --symfs " + (golden::TracesFolder() / "generated/images").string() + " ";
  }
  std::string InPipeForm() const {
    std::ifstream file(Hello() / "perf.data", std::ios::binary);
    const support::FileBytes bytes{std::istreambuf_iterator<char>(file), {}};
    const support::FileBytes piped = support::ToPipe(support::TakeApart(bytes));
    return folder_.Write("piped", std::string(piped.begin(), piped.end()));
  }

  ScratchFolder folder_;
};

TEST_F(Pipes, StandardInput) {
  FLOWBACK_NEEDS_TRACES();
  for (const std::string& file : {(Hello() / "perf.data").string(), InPipeForm()}) {
    for (const char* input : {"-", "-i -", "/dev/stdin"}) {
      const std::string decode = "$F decode --as digest" + Symfs() + input;
      EXPECT_EQ(Shell("cat " + file + " | " + decode).out, kDigest) << input;
      EXPECT_EQ(Shell(decode + " <" + file).out, kDigest) << input;
      const ProgramResult info = Shell("cat " + file + " | $F info " + Symfs() + input);
      EXPECT_EQ(info.status, 0);
      EXPECT_EQ(info.err, "");
      EXPECT_TRUE(info.out.contains("/dev/stdin (perf.data")) << info.out;
    }
  }
}

TEST_F(Pipes, Fifo) {
  FLOWBACK_NEEDS_TRACES();
  const std::string fifo = folder_.File("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& file : {(Hello() / "perf.data").string(), InPipeForm()}) {
    // The writer comes late and writes little by little.
    const std::string writer =
        "(sleep 0.2; dd bs=1000 status=none if=" + file + " of=" + fifo + ")";
    const ProgramResult result =
        Shell(writer + " & $F decode --as digest" + Symfs() + fifo + "; wait");
    EXPECT_EQ(result.out, kDigest) << result.err;
  }
}

// The part before the writer died is kept.
TEST_F(Pipes, CutPipe) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result =
      Shell("head -c 5000 " + InPipeForm() + " | $F decode --as digest" + Symfs() + "-");
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(result.out.starts_with("4661 ")) << result.out;
  EXPECT_TRUE(result.err.starts_with("flowback: /dev/stdin: cut at offset 0x1388 inside"))
      << result.err;
  EXPECT_TRUE(result.err.contains("\n  try: ")) << result.err;
}

TEST_F(Pipes, EmptyPipe) {
  const ProgramResult result = Shell("true | $F info -");
  EXPECT_EQ(result.status, 8);
  EXPECT_TRUE(result.err.starts_with("flowback: /dev/stdin: is empty")) << result.err;
}

// Without an end: refused by what it begins with.
TEST_F(Pipes, EndlessPipeOfSomethingElse) {
  const ProgramResult result = Shell("yes | $F decode -");
  EXPECT_EQ(result.status, 8);
  EXPECT_TRUE(result.err.contains("/dev/stdin: is not a recording")) << result.err;
}

TEST_F(Pipes, Device) {
  for (const char* device : {"/dev/zero", "/dev/null"}) {
    const ProgramResult result = Shell(std::string("$F info ") + device);
    EXPECT_EQ(result.status, 8);
    EXPECT_TRUE(result.err.contains("is a terminal or another device")) << result.err;
    EXPECT_TRUE(result.err.contains("\n  try: ")) << result.err;
  }
}

TEST_F(Pipes, NothingIsLeftBehind) {
  FLOWBACK_NEEDS_TRACES();
  std::filesystem::create_directory(folder_.File("temporary"));
  const ProgramResult result =
      Shell("export TMPDIR=" + folder_.File("temporary") + "; cat " +
            (Hello() / "perf.data").string() + " | $F decode --as digest" + Symfs() + "-");
  EXPECT_EQ(result.out, kDigest);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.File("temporary")));
}

// No room for the copy: the folder is named, and what to do.
TEST_F(Pipes, NoPlaceForTheCopy) {
  FLOWBACK_NEEDS_TRACES();
  const std::string cat = "cat " + (Hello() / "perf.data").string() + " | $F info -";
  const ProgramResult result = Shell("ulimit -f 4; trap '' XFSZ; " + cat);
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.err.contains(folder_.path() + ": File too large")) << result.err;
  EXPECT_TRUE(result.err.contains("TMPDIR")) << result.err;
}

}  // namespace
}  // namespace flowback::test
