// SPDX-License-Identifier: MIT
// A loss makes the mapped code of its process unknown: from exec to exec, with what a child got
// from its parent.
#include "replay/coverage/mapped_objects.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

namespace flowback::testing {
namespace {

constexpr TimeSpan kAlways;

MmapRecord Map(uint64_t time, int32_t pid, const std::string& path) {
  MmapRecord map;
  map.time = time;
  map.pid = pid;
  map.address = 0x1000 * (1 + path.size());
  map.size = 0x1000;
  map.path = path;
  return map;
}

CommRecord Exec(uint64_t time, int32_t pid) {
  CommRecord comm;
  comm.time = time;
  comm.pid = pid;
  comm.exec = true;
  return comm;
}

ForkRecord Fork(uint64_t time, int32_t pid, int32_t parent) {
  ForkRecord fork;
  fork.time = time;
  fork.pid = pid;
  fork.parent_pid = parent;
  return fork;
}

class MappedObjectsTest : public ::testing::Test {
 protected:
  MappedObjectsTest() {
    recording_.sideband = {
        Exec(5, 7),     Map(10, 7, "/no/sh"),           Map(11, 7, "/no/so/libc"),
        Fork(50, 8, 7), Map(60, 7, "/no/late"),         Map(61, 8, "/no/of/child"),
        Exec(100, 7),   Map(101, 7, "/no/program/ls"),  Map(102, 7, "/no/so/libc"),
        Exec(5, 9),     Map(10, 9, "/no/other/process")};
    code_.emplace(RecordingCode::Load(recording_, {}).value());
    objects_.emplace(recording_, *code_);
    mapped_.emplace(recording_, *objects_);
  }
  // "/no/sh 1 /no/so/libc 1 ": how many losses each has, by path.
  std::string Told() const {
    std::map<std::string, uint64_t> told;
    for (const auto& [object, losses] : mapped_->Take())
      told[objects_->all()[object].id.path] = losses.contains("x") ? losses.at("x") : 0;
    std::string text;
    for (const auto& [path, count] : told) text += path + " " + std::to_string(count) + " ";
    return text;
  }

  Recording recording_;
  std::optional<RecordingCode> code_;
  std::optional<CoverageObjects> objects_;
  std::optional<MappedObjects> mapped_;
};

TEST_F(MappedObjectsTest, AreThoseOfProcessesThatRan) {
  EXPECT_EQ(Told(), "");
  mapped_->NoteRan(7, kAlways);
  EXPECT_EQ(Told(), "/no/late 0 /no/program/ls 0 /no/sh 0 /no/so/libc 0 ");
}

TEST_F(MappedObjectsTest, OfAChildAreItsParentsOfThen) {
  mapped_->NoteRan(8, kAlways);
  EXPECT_EQ(Told(), "/no/of/child 0 /no/sh 0 /no/so/libc 0 ");
}

TEST_F(MappedObjectsTest, HaveTheLossesOfTheirProgram) {
  mapped_->NoteRan(7, kAlways);
  mapped_->NoteRan(8, kAlways);
  mapped_->NoteRan(9, kAlways);
  mapped_->AddLoss(7, {.begin = 20, .end = 30}, "x", 1);
  EXPECT_EQ(Told(),
            "/no/late 1 /no/of/child 0 /no/other/process 0 /no/program/ls 0 /no/sh 1 "
            "/no/so/libc 1 ");
  mapped_->AddLoss(7, {.begin = 150, .end = 160}, "x", 10);
  mapped_->AddLoss(8, {.begin = 70, .end = 70}, "x", 100);
  EXPECT_EQ(Told(),
            "/no/late 1 /no/of/child 100 /no/other/process 0 /no/program/ls 10 /no/sh 101 "
            "/no/so/libc 111 ");
}

TEST_F(MappedObjectsTest, AllHaveWhatWasLostOfNobodyKnown) {
  mapped_->NoteRan(8, kAlways);
  mapped_->NoteRan(9, kAlways);
  mapped_->AddLoss(-1, kAlways, "x", 2);
  mapped_->AddLoss(4242, kAlways, "x", 1);
  EXPECT_EQ(Told(), "/no/of/child 3 /no/other/process 3 /no/sh 3 /no/so/libc 3 ");
  EXPECT_EQ(mapped_->AllLosses().at("x"), 3u);
}

}  // namespace
}  // namespace flowback::testing
