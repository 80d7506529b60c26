// SPDX-License-Identifier: MIT
// Programs that get in the recorder's way: recorded all the same, or an error that says why not.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <set>

#include "capture/record/emulate/emulator_command.h"
#include "capture/record/output/output_file.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"
#include "tests/support/host.h"

namespace flowback::record_test {
namespace {

namespace fs = std::filesystem;

class Tampering : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool emulates = std::string(GetParam()) == "emulate";
    if (const std::string why = emulates ? WhyNotEmulated() : ""; !why.empty()) GTEST_SKIP() << why;
    if (emulates) return Emulate(recorder_.options());
    FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  }
  std::string Output() const { return recorder_.File("perf.data"); }

  Recorder recorder_;
};

TEST_P(Tampering, WithTheRecordingIsAFailure) {
  for (const char* how : {"t", "w", "r"}) {
    SCOPED_TRACE(how);
    const auto summary = recorder_.Run({Program("tampers"), how, Output()});
    ASSERT_TRUE(summary) << summary.error().message();
    ASSERT_TRUE(summary->failure) << "as if nothing had happened";
    EXPECT_EQ(summary->failure->code(), ErrorCode::kSystem);
    EXPECT_NE(summary->failure->message().find("'" + Output() + "' was "), std::string::npos)
        << summary->failure->message();
    EXPECT_NE(summary->failure->remedy().find("-o FILE"), std::string::npos);
    fs::remove(Output());
  }
}

// Its file is not its recorder's, whatever the program has done with its descriptors.
TEST_P(Tampering, WithAllDescriptorsIsRecorded) {
  const auto summary = recorder_.Run({Program("tampers"), "c"});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status, 0);
  EXPECT_EQ(summary->losses, 0u);
  ExpectSameFlow(Output(), *summary);
}

// The program finds itself there, not the emulator.
TEST_P(Tampering, BecomingItselfIsRecorded) {
  for (const char* link : {"/proc/self/exe", "/proc/thread-self/exe"}) {
    SCOPED_TRACE(link);
    const auto summary = recorder_.Run({Program("tampers"), "e", link});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->notes, std::vector<std::string>{});
    ASSERT_TRUE(WIFEXITED(summary->command_status));
    EXPECT_EQ(WEXITSTATUS(summary->command_status), 7);
    ExpectSameFlow(Output(), *summary);
    const auto recording = OpenFile(Output());
    ASSERT_TRUE(recording) << recording.error().message();
    std::set<std::string> programs;
    std::vector<std::string> names;
    for (const auto& record : recording->sideband) {
      if (const auto* map = std::get_if<MmapRecord>(&record); map != nullptr && map->path[0] == '/')
        programs.insert(map->path);
      if (const auto* comm = std::get_if<CommRecord>(&record)) names.push_back(comm->comm);
    }
    EXPECT_EQ(programs, std::set<std::string>{fs::canonical(Program("tampers"))});
    EXPECT_EQ(names, (std::vector<std::string>{"tampers", "exe"}));  // as the kernel has it
    fs::remove(Output());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Tampering, testing::Values("emulate", "step"),
                         [](const auto& engine) { return std::string(engine.param); });

// Only a link of /proc is followed, and only where the emulator is behind it.
TEST(BehindExeLink, OthersStayAsTheyAre) {
  for (const char* path : {"/bin/sh", "/proc/self/exe", "/proc/1/exe", "exe", "/no/exe", ""})
    EXPECT_EQ(record::BehindExeLink(path, "/bin/sh"), path);
}

TEST(OutputFile, WhatAnotherDoesToItIsSeen) {
  const support::TemporaryFolder folder;
  const std::string path = folder.path() / "file";
  const auto after = [&](const std::function<void()>& change, bool writes) {
    auto file = record::OutputFile::Create(path);
    EXPECT_TRUE(file && file->Write("four"));
    change();
    const Status written = writes ? file->Write("more") : Status();
    const Status closed = file->Close();
    EXPECT_EQ(written.has_value() || !writes, closed.has_value() || !writes);
    return closed.has_value();
  };
  for (const bool writes : {false, true}) {
    EXPECT_TRUE(after([] {}, writes));
    EXPECT_FALSE(after([&] { fs::resize_file(path, 0); }, writes));
    EXPECT_FALSE(after([&] { fs::resize_file(path, 5); }, writes));
  }
  EXPECT_FALSE(after([&] { fs::remove(path); }, false));
  EXPECT_FALSE(after([&] { fs::rename(path, path + "2"); }, false));
}

}  // namespace
}  // namespace flowback::record_test
