// SPDX-License-Identifier: MIT
// Trips of real loops, as compilers made them, and how they are judged. Each loop of
// programs/waits.c waits; none of programs/look_alikes*.c does. No wait is proven to be work by its
// code alone, and what is proven so was seen as work.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "decode/instruction/classify.h"
#include "flowback/decode/code_image.h"
#include "replay/locks/loops/loop_proof.h"
#include "replay/locks/loops/trip.h"
#include "tests/locks/stepped_program.h"
#include "tests/support/host.h"
#include "tests/support/places.h"

namespace flowback {
namespace {

std::vector<std::string> LinesOf(const std::string& words) {
  std::vector<std::string> names;
  FILE* out = popen(words.c_str(), "r");
  std::array<char, 100> line{};
  while (out != nullptr && fgets(line.data(), line.size(), out) != nullptr) {
    names.emplace_back(line.data());
    names.back().pop_back();
  }
  if (out != nullptr) pclose(out);
  return names;
}

bool IsTold(const TripVerdict& verdict) {
  return verdict.kind == LoopKind::kWait || verdict.kind == LoopKind::kRetry;
}

// The programs are linked statically, so what lies far above is the vDSO. It has a seqlock whose
// writer is the kernel: a reader that comes in between does try again.
bool IsOfProgram(const SteppedTrip& trip) { return trip.head < 0x1000'0000; }

std::string Say(const SteppedTrip& trip, const TripVerdict& verdict) {
  std::array<char, 200> text{};
  snprintf(text.data(), text.size(), "%#lx: kind %d, reason %d",
           static_cast<unsigned long>(trip.head), static_cast<int>(verdict.kind),
           static_cast<int>(verdict.reason));
  return text.data();
}

// A static program's code, all of it, where it lies in memory.
AddressSpace CodeOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto bytes = std::make_shared<std::vector<uint8_t>>(
      std::istreambuf_iterator<char>(file.rdbuf()), std::istreambuf_iterator<char>());
  AddressSpace space;
  Elf64_Ehdr header{};
  if (bytes->size() < sizeof header) return space;
  std::memcpy(&header, bytes->data(), sizeof header);
  const auto section =
      std::make_shared<CodeSection>(path, 0, Bytes(*bytes), bytes, Verification::kGiven);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    std::memcpy(&part, bytes->data() + header.e_phoff + i * header.e_phentsize, sizeof part);
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
      space.Map({.address = part.p_vaddr,
                 .size = part.p_filesz,
                 .section_offset = part.p_offset,
                 .section = section});
  }
  return space;
}

// The block whose jump back to its head ends the trip; its branch is 0 if another jump does.
LoopBlock BlockThatEnds(const SteppedTrip& trip, const AddressSpace& space) {
  const TripPart& last = trip.parts.back();
  Instruction read;
  size_t at = 0;
  while (Classify(last.code.subspan(at), last.mode, read) && at + read.length < last.code.size())
    at += read.length;
  LoopBlock block;
  block.space = &space;
  block.mode = last.mode;
  block.target = trip.head;
  const uint64_t jump = last.address + at;
  const bool is_its =
      (read.kind == InstructionClass::kConditional || read.kind == InstructionClass::kJump) &&
      read.Target(jump) == trip.head && trip.head <= jump;
  block.branch = is_its ? jump : 0;
  return block;
}

class SteppedTripTest : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  void SetUp() override {
    if (!IsForAArch64()) FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
    if (!std::filesystem::exists(Program("waits")))
      GTEST_SKIP() << "no compiler for " << std::get<0>(GetParam());
  }

  static bool IsForAArch64() {
    const std::string& compiler = std::get<0>(GetParam());
    return compiler != "gcc" && compiler != "clang";
  }
  static std::string Program(const std::string& name) {
    const auto& [compiler, level] = GetParam();
    return BuildFolder() + "/tests/locks/programs/loops_" + compiler + "_O" +
           std::to_string(level) + "/" + name;
  }
  // The names of a program's loops.
  static std::vector<std::string> NamesIn(const std::string& name) {
    const std::string words = (IsForAArch64() ? "qemu-aarch64 " : "") + Program(name);
    return LinesOf(words);
  }
  static std::vector<SteppedTrip> TripsIn(const std::string& program, const std::string& loop,
                                          size_t steps) {
    const ExecutedSteps executed = IsForAArch64() ? StepInQemu(Program(program), loop, steps)
                                                  : StepHere(Program(program), loop, steps);
    EXPECT_EQ(executed.error, "");
    return TripsOf(executed);
  }
};

TEST_P(SteppedTripTest, LoopsThatWait) {
  const std::vector<std::string> names = NamesIn("waits");
  const AddressSpace space = CodeOf(Program("waits"));
  ASSERT_GE(names.size(), 25);
  size_t asked = 0;
  for (const std::string& name : names) {
    bool waits = false;
    for (const SteppedTrip& trip : TripsIn("waits", name, 4000)) {
      if (!trip.last) continue;
      const TripVerdict verdict = JudgeTrip(trip.parts);
      waits = waits || verdict.kind == LoopKind::kWait;
      // The delay within a backoff is a loop of its own.
      EXPECT_TRUE(IsTold(verdict) || verdict.kind == LoopKind::kDelay)
          << name << " " << Say(trip, verdict);
      const LoopBlock block = BlockThatEnds(trip, space);
      if (!IsOfProgram(trip) || block.branch == 0) continue;
      ++asked;
      EXPECT_FALSE(IsWorkByCode(block)) << name << " " << Say(trip, verdict);
    }
    EXPECT_TRUE(waits) << name;
  }
  EXPECT_GE(asked, 20);
}

TEST_P(SteppedTripTest, LoopsThatOnlyLookLikeIt) {
  const std::vector<std::string> names = NamesIn("look_alikes");
  const AddressSpace space = CodeOf(Program("look_alikes"));
  ASSERT_GE(names.size(), 60);
  // Which is enough to go round each loop; the longest ones have yet other trips.
  const size_t steps = std::getenv("FLOWBACK_FULL") == nullptr ? 4000 : 10000;
  size_t with_loops = 0;
  std::set<std::string> proven;
  for (const std::string& name : names) {
    const std::vector<SteppedTrip> trips = TripsIn("look_alikes", name, steps);
    with_loops += trips.empty() ? 0 : 1;
    for (const SteppedTrip& trip : trips) {
      if (!IsOfProgram(trip)) continue;
      const TripVerdict verdict = JudgeTrip(trip.parts);
      EXPECT_FALSE(IsTold(verdict)) << name << " " << Say(trip, verdict);
      const LoopBlock block = BlockThatEnds(trip, space);
      if (block.branch == 0 || !IsWorkByCode(block)) continue;
      proven.insert(name);
      EXPECT_EQ(verdict.kind, LoopKind::kWork) << name << " " << Say(trip, verdict);
    }
  }
  // Compilers unroll some.
  EXPECT_GE(with_loops, names.size() - 10);
  EXPECT_GE(proven.size(), 15);
}

std::string NameOf(const testing::TestParamInfo<std::tuple<std::string, int>>& tested) {
  return std::get<0>(tested.param) + "_O" + std::to_string(std::get<1>(tested.param));
}
INSTANTIATE_TEST_SUITE_P(Atomics, SteppedTripTest,
                         testing::Combine(testing::Values("exclusive", "single"),
                                          testing::Values(2)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(, SteppedTripTest,
                         testing::Combine(testing::Values("gcc", "clang", "aarch64"),
                                          testing::Range(0, 4)),
                         NameOf);

}  // namespace
}  // namespace flowback
