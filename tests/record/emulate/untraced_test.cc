// SPDX-License-Identifier: MIT
// Programs that the emulator can't take over: the recording lists the programs that ran untraced.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

namespace fs = std::filesystem;

bool TellsLostRecords(const Recording& recording) {
  return std::ranges::any_of(recording.sideband, [](const SidebandRecord& record) {
    return std::holds_alternative<LostRecord>(record);
  });
}

TEST(Untraced, InAnotherRootFolderIsALoss) {
  FLOWBACK_NEEDS_EMULATOR();
  FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  FLOWBACK_NEEDS_HOST(host::Trait::kRoot);  // to change the root folder
  Recorder recorder;
  Emulate(recorder.options());
  const std::string folder = recorder.File("root");
  fs::create_directory(folder);
  fs::copy_file(Program("known"), folder + "/known");
  const auto summary = recorder.Run({"/usr/sbin/chroot", folder, "/known"});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->losses, 1u);
  ASSERT_EQ(summary->notes.size(), 1u);
  EXPECT_TRUE(summary->notes[0].ends_with("it ran untraced")) << summary->notes[0];
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_TRUE(TellsLostRecords(*recording));
}

TEST(Untraced, WhatTheKernelRefusesIsNone) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  const std::string foreign = recorder.File("foreign");
  fs::copy_file(Program("known"), foreign);
  std::fstream file(foreign, std::ios::in | std::ios::out | std::ios::binary);
  constexpr std::streamoff kMachineAt = 18;  // in the ELF header
  file.seekp(kMachineAt).put(char{22});      // S/390
  file.close();
  const auto summary = recorder.Run({"/bin/sh", "-c", foreign + " 2>/dev/null; exit 3"});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(WEXITSTATUS(summary->command_status), 3);
  EXPECT_EQ(summary->losses, 0u);
  EXPECT_TRUE(summary->notes.empty()) << summary->notes[0];
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_FALSE(TellsLostRecords(*recording));
}

}  // namespace
}  // namespace flowback::record_test
