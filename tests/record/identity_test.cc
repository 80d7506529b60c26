// SPDX-License-Identifier: MIT
// Set-user-ID programs: whether they have these rights, and the message about it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "capture/record/target/program_file.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

namespace fs = std::filesystem;

class SetUserId : public testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
    fs::copy_file(Program("known"), program_);
    constexpr uid_t kOther = 65534;
    if (chown(program_.c_str(), kOther, getegid()) != 0 ||
        chmod(program_.c_str(), S_ISUID | 0755) != 0)
      GTEST_SKIP() << "only root can make another user's program here";
  }
  std::vector<std::string> Notes() {
    const auto summary = recorder_.Run({program_});
    EXPECT_TRUE(summary) << summary.error().message();
    return summary ? summary->notes : std::vector<std::string>();
  }

  Recorder recorder_;
  const std::string program_ = recorder_.File("other");
};

TEST_F(SetUserId, HasNoRightsInTheEmulator) {
  FLOWBACK_NEEDS_EMULATOR();
  Emulate(recorder_.options());
  const auto notes = Notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("is set-user-ID"), std::string::npos) << notes[0];
}

TEST_F(SetUserId, HasThemWhereItMayBeTraced) {
  FLOWBACK_NEEDS_PTRACE();
  EXPECT_EQ(Notes().empty(), record::MayTraceOtherRights());
}

}  // namespace
}  // namespace flowback::record_test
