// SPDX-License-Identifier: MIT
// Differences between emulator and kernel are reported, and documented in the same words.
#include "capture/record/emulate/unlike_native.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "capture/record/emulate/emulator_file.h"
#include "capture/record/emulate/program_needs.h"
#include "capture/record/target/program_file.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"
#include "tests/support/places.h"

namespace flowback::record_test {
namespace {

using record::FindUnlikeNative;
using record::UnlikeNativeCall;

TEST(UnlikeNative, IsWhatTheTableSays) {
  EXPECT_EQ(FindUnlikeNative(SYS_seccomp, 1, -ENOSYS), UnlikeNativeCall::kSeccomp);
  EXPECT_EQ(FindUnlikeNative(SYS_seccomp, 1, -EINVAL), std::nullopt) << "its arguments' fault";
  EXPECT_EQ(FindUnlikeNative(SYS_prctl, PR_SET_SECCOMP, -EINVAL), UnlikeNativeCall::kPrctlSeccomp);
  EXPECT_EQ(FindUnlikeNative(SYS_prctl, PR_SET_NAME, -EINVAL), std::nullopt);
  EXPECT_EQ(FindUnlikeNative(SYS_ptrace, 0, 0), std::nullopt);
  EXPECT_EQ(FindUnlikeNative(SYS_rseq, 0, -ENOSYS), std::nullopt) << "every program asks";
}

TEST(UnlikeNative, IsDocumentedAsInTheTable) {
  std::set<std::string> documented;
  std::ifstream file(SourceFolder() + "/docs/explanation/emulation.md");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `")) documented.insert(line);
  std::set<std::string> known;
  for (const record::UnlikeNativeRow& row : record::UnlikeNativeRows())
    known.insert(std::string("| `") + row.call + "` | " + row.natively + " | " + row.emulated +
                 " | " + row.instead + " | " + (row.told ? "yes" : "no") + " |");
  EXPECT_EQ(documented, known);
  EXPECT_EQ(known.size(), record::UnlikeNativeRows().size()) << "two rows are the same";
}

TEST(UnlikeNative, IsToldOfTheFirstProcessThatAsks) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary = recorder.Run({Program("asks")});
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_EQ(summary->threads.size(), 2u);
  std::vector<std::string> told;
  for (const flowback::UnlikeNative& call : summary->unlike_native) {
    told.push_back(call.call + " " + std::to_string(call.times));
    EXPECT_EQ(call.pid, summary->threads[call.call == "ptrace" ? 1 : 0].pid);
    EXPECT_EQ(call.comm, "asks");
    EXPECT_FALSE(call.difference.empty());
    EXPECT_FALSE(call.remedy.empty());
  }
  EXPECT_EQ(told, (std::vector<std::string>{"seccomp 4", "prctl(PR_SET_SECCOMP) 4", "ptrace 1"}));
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  const std::string pid = std::to_string(summary->threads[0].pid);
  EXPECT_NE(recording->machine.recorder.find("; unlike native: seccomp by asks (" + pid + ")"),
            std::string::npos)
      << recording->machine.recorder;
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

// Returns whether QEMU makes tables for each page, as versions before 8.0 do.
bool KeepsTables() { return PluginsOf(record::LookUpInPath("qemu-x86_64")).interface_version < 2; }

const flowback::UnlikeNative* Find(const RecordSummary& summary, const std::string& begin) {
  for (const flowback::UnlikeNative& call : summary.unlike_native)
    if (call.call.starts_with(begin)) return &call;
  return nullptr;
}

TEST(UnlikeNative, AReservationThatWouldFillTheMemoryFails) {
  FLOWBACK_NEEDS_EMULATOR();
  if (!KeepsTables()) GTEST_SKIP() << "this QEMU keeps no tables of pages";
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary = recorder.Run({Program("reserves")});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status, 1 << 8) << "the small one is made";
  const auto* told = Find(*summary, "mmap of");
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->times, 1u);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

TEST(UnlikeNative, ProgramsWithASanitizerAreRefusedAndNotRunInTheEmulator) {
  FLOWBACK_NEEDS_EMULATOR();
  if (!KeepsTables()) GTEST_SKIP() << "this QEMU keeps no tables of pages";
  Recorder recorder;
  Emulate(recorder.options());
  const auto refused = recorder.Run({Program("sanitized")});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message().contains("AddressSanitizer")) << refused.error().message();
  EXPECT_EQ(refused.error().remedy(), "--engine step");
  const auto child = recorder.Run({"/bin/sh", "-c", Program("sanitized") + "; exit 0"});
  ASSERT_TRUE(child) << child.error().message();
  EXPECT_EQ(child->losses, 1u);
  ASSERT_EQ(child->notes.size(), 1u);
  EXPECT_TRUE(child->notes[0].contains("AddressSanitizer")) << child->notes[0];
  EXPECT_TRUE(child->notes[0].ends_with("it ran untraced")) << child->notes[0];
}

// Whoever asks the processor takes another way there.
TEST(UnlikeNative, InstructionsThatQemuLacksAreTold) {
  FLOWBACK_NEEDS_EMULATOR();
  if (!record::HostHasFlag("avx512f")) GTEST_SKIP() << "this machine has no AVX-512 either";
  EXPECT_EQ(record::ExtensionOf(*record::FindProgram(Program("extension"))), "AVX-512");
  EXPECT_EQ(record::ExtensionOf(*record::FindProgram(Program("extension_asks"))), "");
  EXPECT_EQ(record::ExtensionOf(*record::FindProgram(Program("known"))), "");
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary = recorder.Run({Program("extension")});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status & 0x7f, SIGILL);
  EXPECT_NE(Find(*summary, "instructions of"), nullptr);
  ASSERT_EQ(summary->notes.size(), 1u);
  EXPECT_TRUE(summary->notes[0].contains("AVX-512")) << summary->notes[0];
}

// Names are the program's, not the emulator's; also for a child, and for the program that it
// becomes.
TEST(UnlikeNative, TheProgramsNameIsItsOwn) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary =
      recorder.Run({"/bin/sh", "-c",
                    "read name < /proc/$$/comm; [ \"$name\" = sh ] || exit 1; [ \"$(/bin/cat "
                    "/proc/self/comm)\" = cat ]"});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status, 0);
}

// What every program does is no news.
TEST(UnlikeNative, IsNotToldOfOrdinaryPrograms) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary = recorder.Run({"/bin/sh", "-c", "/bin/ls / | /bin/cat"});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_TRUE(summary->unlike_native.empty()) << summary->unlike_native[0].call;
}

}  // namespace
}  // namespace flowback::record_test
