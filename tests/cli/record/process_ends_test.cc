// SPDX-License-Identifier: MIT
// Reports on processes that die, and their core dumps: `record` and `info`, both engines.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/support/host.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string kFatal = RecordedProgramsFolder() + "/fatal";

// Returns the ends in the last line of `record`, after those of the threads.
json EndsOf(const ProgramResult& result) {
  const std::vector<std::string> lines = Lines(result.out);
  return lines.empty() ? json() : json::parse(lines.back())["ends"];
}

class ProcessEnds : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "step") {
      FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
    }
    if (std::string(GetParam()) == "emulate" && RunShell(folder_, "qemu-x86_64 --version").status)
      GTEST_SKIP() << "qemu-x86_64 is not installed (Debian: qemu-user)";
  }
  ProgramResult Record(const std::string& command, const std::string& before = "") const {
    return RunShell(folder_, before + "$F record --json --engine " + std::string(GetParam()) +
                                 " -o perf.data -- " + command);
  }
  json Info() const {
    return json::parse(RunFlowback({"info", "--json", folder_.File("perf.data")}).out, nullptr,
                       false);
  }

  ScratchFolder folder_;
};

TEST_P(ProcessEnds, SayWhereTheProgramDied) {
  const ProgramResult result = Record(kFatal + " scan");
  EXPECT_EQ(result.status, 128 + 11);
  EXPECT_TRUE(result.err.contains("record: killed by SIGSEGV at 0x")) << result.err;
  EXPECT_TRUE(result.err.contains("fatal.c:")) << result.err;
  EXPECT_TRUE(result.err.contains(", accessing 0x8\n")) << result.err;
  const json end = EndsOf(result).at(0);
  EXPECT_EQ(end["signal_name"], "SIGSEGV");
  EXPECT_EQ(end["fault_address"], "8");
  EXPECT_EQ(end["dso"], kFatal);
  EXPECT_TRUE(end["sym"].is_string()) << end;
  EXPECT_TRUE(end["core"].is_null());
  EXPECT_EQ(Info()["ends"].at(0), end);
  const ProgramResult info = RunFlowback({"info", folder_.File("perf.data")});
  EXPECT_TRUE(info.out.contains("killed by SIGSEGV at 0x")) << info.out;
}

TEST_P(ProcessEnds, NameTheOtherProcesses) {
  const ProgramResult result = Record("sh -c '" + kFatal + " divide; exit 3'");
  EXPECT_EQ(result.status, 3);
  EXPECT_TRUE(result.err.contains(" (fatal) killed by SIGFPE at 0x")) << result.err;
  const json ends = Info()["ends"];
  ASSERT_EQ(ends.size(), 2u) << ends;
  EXPECT_EQ(ends[0]["signal"], 8);
  EXPECT_EQ(ends[1]["exit_status"], 3);
  EXPECT_TRUE(ends[1]["signal"].is_null());
}

TEST_P(ProcessEnds, StandInAPipeToo) {
  const ProgramResult result =
      RunShell(folder_, "$F record --engine " + std::string(GetParam()) + " -o - -- " + kFatal +
                            " undefined | $F info --json -");
  const json info = json::parse(result.out, nullptr, false);
  ASSERT_TRUE(info.is_object()) << result.out << result.err;
  ASSERT_EQ(info["ends"].size(), 1u);
  EXPECT_EQ(info["ends"][0]["signal"], 4);
}

// Files in the folder but the recording and RunShell's own.
std::vector<std::string> OtherFiles(const ScratchFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("perf.data") && name != "out" && name != "err" && name != "script")
      names.push_back(name);
  }
  return names;
}

// The recorder of the kernel's events, which `--on-crash` is one of, notes the command's end.
TEST(EventProcessEnds, OfTheCommand) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPerfEvents);
  const ScratchFolder folder;
  const ProgramResult result =
      RunShell(folder,
               "export ASAN_OPTIONS=disable_coredump=0; ulimit -c unlimited; "
               "$F record --json -e cpu-clock -o perf.data -- " +
                   kFatal + " scan");
  EXPECT_EQ(result.status, 128 + 11);
  EXPECT_TRUE(result.err.contains("record: killed by SIGSEGV")) << result.err;
  const json end = EndsOf(result).at(0);
  EXPECT_EQ(end["signal_name"], "SIGSEGV");
  EXPECT_EQ(end["comm"], "fatal");
  EXPECT_TRUE(end["ip"].is_null());
  const json info = json::parse(RunFlowback({"info", "--json", folder.File("perf.data")}).out);
  EXPECT_EQ(info["ends"].at(0), end);
  const std::string pattern = ReadFile("/proc/sys/kernel/core_pattern");
  if (pattern.starts_with("|") || pattern.starts_with("/")) return;
  ASSERT_TRUE(end["core"].is_string()) << result.err;
  EXPECT_TRUE(fs::exists(std::string(end["core"])));
}

// Its core dump shows which thread that was: the kernel's events do not.
TEST(EventProcessEnds, OfAnotherThreadThanTheFirst) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPerfEvents);
  const ScratchFolder folder;
  const auto record = [&](const std::string& limit, const std::string& command) {
    const ProgramResult result =
        RunShell(folder, "export ASAN_OPTIONS=disable_coredump=0; ulimit -c " + limit +
                             "; $F record --json -e cpu-clock -o perf.data -- " + command);
    return EndsOf(result).at(0);
  };
  EXPECT_TRUE(record("0", kFatal + " worker")["tid"].is_null());
  const std::string pattern = ReadFile("/proc/sys/kernel/core_pattern");
  if (pattern.starts_with("|") || pattern.starts_with("/")) return;
  const json end = record("unlimited", kFatal + " worker");
  ASSERT_TRUE(end["core"].is_string()) << end;
  EXPECT_TRUE(end["tid"].is_number()) << end;
  EXPECT_NE(end["tid"], end["pid"]);
  // The dump of another process is not that of the next one, which works in another folder.
  fs::create_directory(folder.File("elsewhere"));
  const json other = record("unlimited", "sh -c 'cd elsewhere && exec " + kFatal + " scan'");
  EXPECT_EQ(other["signal"], 11);
  EXPECT_TRUE(other["core"].is_null()) << other;
  EXPECT_TRUE(other["tid"].is_null()) << other;
}

TEST_P(ProcessEnds, LeaveTheProgramsCoreDump) {
  if (const std::string pattern = ReadFile("/proc/sys/kernel/core_pattern");
      pattern.starts_with("|") || pattern.starts_with("/"))
    GTEST_SKIP() << "core dumps don't go to the program's folder here: " << pattern;
  // A recorder under the address sanitizer would take the limit away, the program's too.
  const ProgramResult result =
      Record(kFatal + " scan", "export ASAN_OPTIONS=disable_coredump=0; ulimit -c unlimited; ");
  const json end = EndsOf(result).at(0);
  ASSERT_TRUE(end["core"].is_string()) << result.err;
  const std::string core = end["core"];
  EXPECT_TRUE(result.err.contains("; core dump: " + core + "\n")) << result.err;
  EXPECT_EQ(OtherFiles(folder_), std::vector<std::string>{fs::path(core).filename()});
  EXPECT_TRUE(
      ReadFile(core).starts_with("\x7f"
                                 "ELF"));
  // The emulator's has the memory shared with the recorder, 800 MB.
  EXPECT_LT(fs::file_size(core), 64u << 20);
  if (RunShell(folder_, "command -v gdb").status != 0)
    return host::SayLeftOut("a debugger's view of the core dump", "gdb is not installed");
  const ProgramResult gdb = RunShell(folder_, "gdb -batch -ex bt " + kFatal + " '" + core + "'");
  EXPECT_TRUE(gdb.out.contains("SIGSEGV")) << gdb.out << gdb.err;
  EXPECT_TRUE(gdb.out.contains("#0 ")) << gdb.out << gdb.err;
  EXPECT_TRUE(gdb.out.contains("fatal.c:")) << gdb.out << gdb.err;
}

TEST_P(ProcessEnds, LeaveNoCoreDumpWhereTheLimitIsZero) {
  const ProgramResult result = Record(kFatal + " scan", "ulimit -c 0; ");
  EXPECT_TRUE(EndsOf(result).at(0)["core"].is_null());
  EXPECT_TRUE(OtherFiles(folder_).empty());
}

INSTANTIATE_TEST_SUITE_P(, ProcessEnds, ::testing::Values("step", "emulate"),
                         [](const auto& test) { return std::string(test.param); });

// A 32-bit program, recorded with the emulators that `emulators` puts into the folder `bin`.
ProgramResult RecordShort(const ScratchFolder& folder, const std::string& emulators) {
  return RunShell(folder, "mkdir bin; " + emulators + "; PATH=$PWD/bin $F record -o perf.data -- " +
                              RecordedProgramsFolder() + "/thirty_two");
}

TEST(AutomaticEngine, StepsWhatTheEmulatorDoesNotRun) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  FLOWBACK_NEEDS_HOST(host::Trait::kPrograms32);
  const ScratchFolder folder;
  const ProgramResult result =
      RecordShort(folder, "q=$(command -v qemu-x86_64) && ln -s $q bin/ || true");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.err.contains("--engine auto takes 'step'")) << result.err;
  EXPECT_TRUE(result.err.contains(", 0 % lost")) << result.err;
}

TEST(AutomaticEngine, EmulatesProgramsOf32Bits) {
  const ScratchFolder folder;
  if (RunShell(folder, "command -v qemu-x86_64 && command -v qemu-i386").status != 0)
    GTEST_SKIP() << "qemu-i386 is not installed";
  const ProgramResult result =
      RecordShort(folder, "ln -s $(command -v qemu-x86_64) $(command -v qemu-i386) bin/");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_FALSE(result.err.contains("takes 'step'")) << result.err;
  EXPECT_TRUE(result.err.contains(", 0 % lost")) << result.err;
  EXPECT_TRUE(RunShell(folder, "$F info perf.data").out.contains("emulated (emulate)"));
}

}  // namespace
}  // namespace flowback::test
