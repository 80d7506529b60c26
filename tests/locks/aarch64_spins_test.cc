// SPDX-License-Identifier: MIT
// The search for loops that wait, on AArch64: it finds as many trips as the program counts itself.
// No recording has the whole flow of such a program, so qemu-aarch64 writes it down.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "decode/instruction/classify.h"
#include "flowback/decode/code_image.h"
#include "replay/locks/spin_finder.h"
#include "tests/locks/executed_steps.h"
#include "tests/support/places.h"

namespace flowback {
namespace {

// The code of all steps, with holes where nothing was executed.
std::shared_ptr<const AddressSpace> SpaceOf(const ExecutedSteps& steps) {
  auto space = std::make_shared<AddressSpace>();
  const uint64_t begin = steps.code.begin()->first;
  const uint64_t end = steps.code.rbegin()->first + 4;
  auto bytes = std::make_shared<std::vector<uint8_t>>(end - begin);
  for (const auto& [address, code] : steps.code)
    std::ranges::copy(code, bytes->begin() + static_cast<ptrdiff_t>(address - begin));
  const auto section = std::make_shared<CodeSection>("program", 0, Bytes(*bytes), bytes,
                                                     Verification::kGiven, CodeMode::kAArch64);
  space->Map({begin, end - begin, 0, section});
  return space;
}

// Gives the steps to the finder as a decoder does.
void Play(const ExecutedSteps& steps, const AddressSpace& space, SpinFinder& finder) {
  std::vector<uint8_t> lengths;
  BlockRun run;
  run.mode = CodeMode::kAArch64;
  run.space = &space;
  for (size_t i = 0; i < steps.addresses.size(); ++i) {
    const uint64_t here = steps.addresses[i];
    if (lengths.empty()) run.address = here;
    lengths.push_back(4);
    Instruction instruction;
    ASSERT_TRUE(Classify(steps.code.at(here), CodeMode::kAArch64, instruction));
    const bool is_last = i + 1 == steps.addresses.size();
    if (instruction.kind == InstructionClass::kOther && !is_last) continue;
    run.lengths = lengths;
    run.last = instruction.kind;
    run.next = is_last ? 0 : steps.addresses[i + 1];
    run.exit = run.next == here + 4 ? BlockExit::kNotTaken : BlockExit::kTaken;
    finder.OnBlock(run);
    lengths.clear();
  }
  finder.Finish();
}

class CountedSpins : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(CountedSpins, AreFoundToTheTrip) {
  const auto& [atomics, name] = GetParam();
  const std::string program = BuildFolder() + "/tests/locks/programs/counted_" + atomics;
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "no compiler for AArch64";
  const ExecutedSteps steps = StepInQemu(program, name, 4'000'000);
  ASSERT_EQ(steps.error, "");
  const size_t at = steps.printed.find("trips ");
  ASSERT_NE(at, std::string::npos) << steps.printed;
  const uint64_t own = std::strtoull(steps.printed.c_str() + at + 6, nullptr, 10);
  ASSERT_GT(own, 0u);
  const std::shared_ptr<const AddressSpace> space = SpaceOf(steps);
  LoopBlocks blocks;
  WaitLoops loops;
  SpinFinder finder(blocks, loops);
  Play(steps, *space, finder);
  uint64_t trips = 0;
  for (const SpinStretch& stretch : finder.TakeEnded()) trips += stretch.waits ? stretch.trips : 0;
  // The compiler may have put the first check ahead of the loop.
  EXPECT_LE(trips, own);
  EXPECT_GE(trips, own - 1);
}

INSTANTIATE_TEST_SUITE_P(
    Loops, CountedSpins,
    ::testing::Combine(::testing::Values("exclusive", "single"),
                       ::testing::Values("test_first", "exchange", "compare", "ticket", "event")),
    [](const auto& tested) { return std::get<0>(tested.param) + "_" + std::get<1>(tested.param); });

}  // namespace
}  // namespace flowback
