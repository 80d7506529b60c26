// SPDX-License-Identifier: MIT
// How programs are found and run in the emulator, and the ring between it and the recorder.
#include "capture/record/emulate/emulator_command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <numeric>

#include "capture/record/emulate/ring.h"
#include "tests/capture/temporary_file.h"
#include "tests/support/host.h"

namespace flowback::record {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class FindProgramTest : public testing::Test {
 protected:
  std::string Script(const std::string& name, const std::string& text) {
    const std::string path = folder_.Write(name, text);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  support::TemporaryFolder folder_;
};

TEST_F(FindProgramTest, AProgramKeepsItsArguments) {
  const auto program = FindProgram("/bin/true");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->path, "/bin/true");
  EXPECT_EQ(program->Arguments({"name", "a"}), (Words{"name", "a"}));
}

TEST_F(FindProgramTest, AScriptsInterpreterGetsOneArgument) {
  FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  const std::string script = Script("script", "#! /bin/sh  -e -u \nexit\n");
  const auto program = FindProgram(script);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->path, "/bin/sh");
  EXPECT_EQ(program->Arguments({"name", "a"}), (Words{"/bin/sh", "-e -u", script, "a"}));
}

TEST_F(FindProgramTest, AScriptMayInterpretAnother) {
  FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  const std::string inner = Script("inner", "#!/bin/sh\n");
  const std::string outer = Script("outer", "#!" + inner + " -x\n");
  const auto program = FindProgram(outer);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->Arguments({"name", "a"}), (Words{"/bin/sh", inner, "-x", outer, "a"}));
}

TEST_F(FindProgramTest, RefusesAsTheKernelDoes) {
  FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  const auto refused = [](const std::string& path) {
    const auto program = FindProgram(path);
    return program ? -1 : program.error().error;
  };
  EXPECT_EQ(refused("/no/such/file"), ENOENT);
  EXPECT_EQ(refused(folder_.path().string()), EACCES);
  EXPECT_EQ(refused(folder_.Write("text", std::string("text"))), EACCES);
  EXPECT_EQ(refused(Script("unknown", "text")), ENOEXEC);
  EXPECT_EQ(refused(Script("empty", "#!\n")), ENOEXEC);
  const std::string self = (folder_.path() / "self").string();
  EXPECT_EQ(refused(Script("self", "#!" + self + "\n")), ELOOP);
}

TEST(EmulatorCommandTest, TextsSurviveThePluginsArguments) {
  const std::string text = "a,b=\xff \n";
  EXPECT_EQ(FromHex(ToHex(text)), text);
}

TEST(EmulatorCommandTest, TheLoadersVariablesAreTheProgramsOnly) {
  const auto split = SplitEnvironment({"A=1", "LD_PRELOAD=x.so", "QEMU_STRACE=1"}, false);
  EXPECT_EQ(split.variables, (Words{"A=1"}));
  EXPECT_EQ(split.words, (Words{"-E", "LD_PRELOAD=x.so"}));
}

// Later emulators leave the program's addresses to the kernel, which goes by the emulator's own
// mappings.
TEST(EmulatorCommandTest, TheEmulatorMapsTheSameEachTime) {
  auto split = SplitEnvironment({"A=1"}, true);
  EXPECT_EQ(split.variables, (Words{"MALLOC_ARENA_MAX=1", "A=1"}));
  EXPECT_EQ(split.words, (Words{"-U", "MALLOC_ARENA_MAX"}));
  split = SplitEnvironment({"MALLOC_ARENA_MAX=4"}, true);
  EXPECT_EQ(split.variables, (Words{"MALLOC_ARENA_MAX=1"}));
  EXPECT_EQ(split.words, (Words{"-U", "MALLOC_ARENA_MAX", "-E", "MALLOC_ARENA_MAX=4"}));
  EmulatorSetup setup;
  setup.same_random_numbers = true;
  setup.plugin_interface = 1;
  EXPECT_FALSE(setup.WantsSamePlaces());
}

TEST(Ring, TakesOutWhatWasPutInAcrossItsEnd) {
  constexpr uint64_t kSize = 16;
  std::vector<uint8_t> memory(kSize);
  auto counters = std::make_unique<RingCounters>();
  RingWriter writer(*counters, memory.data(), kSize);
  std::vector<uint8_t> out;
  uint8_t next = 0;
  for (uint8_t size = 1; size <= kSize; ++size) {
    std::vector<uint8_t> bytes(size);
    std::iota(bytes.begin(), bytes.end(), next);
    ASSERT_TRUE(writer.Put(bytes));
    EXPECT_FALSE(writer.Put(std::vector<uint8_t>(kSize - size + 1u)));  // no room
    ASSERT_TRUE(TakeAll(*counters, memory.data(), kSize, out));
    EXPECT_EQ(out, bytes);
    next = static_cast<uint8_t>(next + size);
  }
  counters->head = counters->tail + kSize + 1;
  EXPECT_FALSE(TakeAll(*counters, memory.data(), kSize, out));
}

}  // namespace
}  // namespace flowback::record
