// SPDX-License-Identifier: MIT
#include "decode/code/forget_program.h"

#include "tests/code/recording_fixture.h"

namespace flowback {
namespace {

constexpr uint64_t kOther = kBase + 0x10000;
constexpr int32_t kChild = 43;

class ForgetProgramTest : public RecordingCodeTest {
 protected:
  ForgetProgramTest() {
    Record(Mmap(Save("a", Library(kId, 0xa0)), kBase, 1));
    Record(Mmap(Save("b", Library(kId, 0xb0)), kOther, 1));
  }

  void Exec(uint64_t time) {
    CommRecord record;
    record.time = time;
    record.pid = record.tid = kPid;
    record.exec = true;
    recording_.sideband.emplace_back(record);
  }
  void Fork(uint64_t time, int32_t parent, int32_t child) {
    ForkRecord record;
    record.time = time;
    record.pid = record.tid = child;
    record.parent_pid = record.parent_tid = parent;
    recording_.sideband.emplace_back(record);
  }
  void Forget(std::vector<LostProgram> lost) {
    Load();
    histories_ = ForgetPrograms(recording_, code_, lost);
  }
  // The code byte of the process at that time; -1 where nothing is mapped.
  int ByteAt(uint64_t address, uint64_t time, int32_t pid = kPid) const {
    const auto found = histories_.find(pid);
    const auto history = found == histories_.end() ? code_.OfProcess(pid) : found->second;
    const AddressSpaceHistory::Epoch* at = &history->epochs.front();
    for (const auto& epoch : history->epochs)
      if (epoch.time <= time) at = &epoch;
    uint8_t byte = 0;
    return at->space->Read(address, &byte, 1) == 1 ? byte : -1;
  }

  std::map<int32_t, RecordingCode::History> histories_;
};

TEST_F(ForgetProgramTest, NothingOfTheOldProgramIsLeft) {
  Forget({{.pid = kPid, .earliest = 10, .latest = 12}});
  EXPECT_EQ(ByteAt(kBase, 9), 0xa0);
  EXPECT_EQ(ByteAt(kBase, 10), -1);
  EXPECT_EQ(ByteAt(kOther, 1000), -1);
  const std::string* why = histories_.at(kPid)->epochs.back().space->WhyNothing(kBase);
  ASSERT_NE(why, nullptr);
  EXPECT_TRUE(Contains(*why, "lost")) << *why;
}

TEST_F(ForgetProgramTest, WhatIsMappedLaterIsTheNewOnes) {
  Record(Mmap(Save("c", Library(kId, 0xc0)), kOther, 11));  // may be the old program's still
  Record(Mmap(Save("d", Library(kId, 0xd0)), kOther, 20));
  Forget({{.pid = kPid, .earliest = 10, .latest = 12}});
  EXPECT_EQ(ByteAt(kOther, 11), -1);
  EXPECT_EQ(ByteAt(kOther, 20), 0xd0);
  EXPECT_EQ(ByteAt(kBase, 20), -1);
}

TEST_F(ForgetProgramTest, TheNextProgramThatIsToldIsKnown) {
  Exec(30);
  Record(Mmap(Save("e", Library(kId, 0xe0)), kBase, 30));
  Forget(
      {{.pid = kPid, .earliest = 10, .latest = 12}, {.pid = kPid, .earliest = 20, .latest = 21}});
  EXPECT_EQ(ByteAt(kBase, 29), -1);
  EXPECT_EQ(ByteAt(kBase, 30), 0xe0);
}

TEST_F(ForgetProgramTest, ChildrenKnowNoMoreThanTheirParents) {
  Fork(5, kPid, kChild);
  Fork(20, kPid, kChild + 1);
  Fork(25, kChild + 1, kChild + 2);
  Fork(26, kChild + 2, kChild + 1);  // a number may come again, in a damaged recording in a circle
  Forget({{.pid = kPid, .earliest = 10, .latest = 12}});
  EXPECT_EQ(ByteAt(kBase, 50, kChild), 0xa0);
  EXPECT_EQ(ByteAt(kBase, 21, kChild + 1), -1);
  EXPECT_EQ(ByteAt(kBase, 50, kChild + 2), -1);
}

TEST_F(ForgetProgramTest, OtherProcessesAreLeftAlone) {
  Forget({{.pid = 7, .earliest = 10, .latest = 12}});
  EXPECT_EQ(histories_.size(), 1u);
  EXPECT_EQ(ByteAt(kBase, 50), 0xa0);
}

}  // namespace
}  // namespace flowback
