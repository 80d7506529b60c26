// SPDX-License-Identifier: MIT
// The machine against the whole listing of the recordings that come with the project, and the
// values that it gives there.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "replay/debug/source/replayed_stacks.h"
#include "replay/debug/values/image_memory.h"
#include "replay/debug/values/value_sources.h"
#include "tests/debug/opened_machine.h"
#include "tests/support/places.h"

namespace flowback {
namespace {

using listed::Opened;

std::string PathOf(const std::string& name) {
  return SourceFolder() + "/tests/recordings/" + name + ".data";
}

Opened OpenOwn(const std::string& name) {
  SessionOptions options;
  options.open.input = PathOf(name);
  return Opened(options);
}

class RecordedMachine : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordedMachine, GoesWhereTheListingSays) {
  Opened opened = OpenOwn(GetParam());
  ASSERT_FALSE(HasFailure());
  opened.Judge(7, 1'000);
}

INSTANTIATE_TEST_SUITE_P(Recordings, RecordedMachine,
                         ::testing::Values("branches", "branches-stacks", "changes",
                                           "interruptions", "tiny", "tiny-stepped"),
                         [](const auto& which) {
                           std::string name = which.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(ValueSources, TellTheProgramCounterAndCodeOnly) {
  Opened opened = OpenOwn("tiny");
  ASSERT_FALSE(HasFailure());
  ImageMemory images;
  ValueSources values({images});
  opened.machine().ToEnd();
  const MachineThread at = opened.machine().At(opened.machine().current());
  EXPECT_EQ(values.Register(at, "rip"), at.pc);
  EXPECT_FALSE(values.Register(at, "rsp"));
  uint8_t code[4] = {};
  ASSERT_EQ(at.instruction.space->Read(at.pc, code, sizeof code), sizeof code);
  EXPECT_EQ(values.Memory(at, at.pc, sizeof code), std::vector<uint8_t>(code, code + sizeof code));
  EXPECT_TRUE(values.Memory(at, 0x10, 4).empty());
}

// Each file begins with its header, which its first segment holds and no code does.
TEST(ImageMemory, HasTheReadOnlySegments) {
  Opened opened = OpenOwn("tiny");
  ASSERT_FALSE(HasFailure());
  ImageMemory images;
  const MachineThread at = opened.machine().At(opened.machine().current());
  const std::vector<LoadedImage> loaded = images.ImagesOf(*at.instruction.space);
  ASSERT_FALSE(loaded.empty());
  size_t programs = 0;
  for (const LoadedImage& image : loaded) {
    programs += image.layout->is_program ? 1 : 0;
    ASSERT_FALSE(image.layout->segments.empty());
    const ImageSegment& first = image.layout->segments.front();
    if (first.file_offset != 0 || first.writable) continue;
    uint8_t magic[4] = {};
    EXPECT_EQ(images.Read(*at.instruction.space, image.bias + first.address, magic), 4u);
    EXPECT_EQ(magic[1], 'E');
  }
  EXPECT_EQ(programs, 1u);
}

TEST(ReplayedStacks, BeginWhereTheThreadStands) {
  Opened opened = OpenOwn("tiny");
  ASSERT_FALSE(HasFailure());
  ReplayedStacks stacks(opened.session(), opened.index(), {});
  ReplayedMachine& machine = opened.machine();
  const uint64_t all = machine.thread(0).instructions;
  for (uint64_t number = 0; number < all; number += 1 + all / 20) {
    ASSERT_TRUE(machine.ToInstruction(0, number));
    const auto stack = stacks.At(machine.index_number(0), number);
    ASSERT_TRUE(stack);
    ASSERT_FALSE((*stack)->frames.empty()) << number;
    EXPECT_EQ((*stack)->frames.front().address, machine.At(0).pc) << number;
  }
}

}  // namespace
}  // namespace flowback
