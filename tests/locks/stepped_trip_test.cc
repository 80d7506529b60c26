// SPDX-License-Identifier: MIT
// Trips of real loops, as compilers made them, and how they are judged. Each loop of
// programs/waits.c waits; none of programs/look_alikes.c does.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "replay/locks/trip.h"
#include "tests/locks/stepped_program.h"
#include "tests/support/host.h"
#include "tests/support/places.h"

namespace flowback {
namespace {

std::vector<std::string> NamesIn(const std::string& program) {
  std::vector<std::string> names;
  FILE* out = popen(program.c_str(), "r");
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

class SteppedTripTest : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  // Empty: the compiler is not installed.
  static std::string Program(const std::string& name) {
    const auto& [compiler, level] = GetParam();
    const std::string path = BuildFolder() + "/tests/locks/programs/loops_" + compiler + "_O" +
                             std::to_string(level) + "/" + name;
    return std::filesystem::exists(path) ? path : "";
  }
};

TEST_P(SteppedTripTest, LoopsThatWait) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  const std::string program = Program("waits");
  if (program.empty()) GTEST_SKIP() << "clang-19 is not installed";
  const std::vector<std::string> names = NamesIn(program);
  ASSERT_GE(names.size(), 25);
  for (const std::string& name : names) {
    const SteppedProgram stepped = StepProgram(program, name, 4000);
    ASSERT_EQ(stepped.error, "");
    bool waits = false;
    for (const size_t last : stepped.last) {
      const SteppedTrip& trip = stepped.trips[last];
      const TripVerdict verdict = JudgeTrip(trip.parts);
      waits = waits || verdict.kind == LoopKind::kWait;
      // The delay within a backoff is a loop of its own.
      EXPECT_TRUE(IsTold(verdict) || verdict.kind == LoopKind::kDelay)
          << name << " " << Say(trip, verdict);
    }
    EXPECT_TRUE(waits) << name;
  }
}

TEST_P(SteppedTripTest, LoopsThatOnlyLookLikeIt) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  const std::string program = Program("look_alikes");
  if (program.empty()) GTEST_SKIP() << "clang-19 is not installed";
  const std::vector<std::string> names = NamesIn(program);
  ASSERT_GE(names.size(), 60);
  size_t with_loops = 0;
  for (const std::string& name : names) {
    const SteppedProgram stepped = StepProgram(program, name, 10000);
    ASSERT_EQ(stepped.error, "");
    with_loops += stepped.trips.empty() ? 0 : 1;
    for (const SteppedTrip& trip : stepped.trips) {
      if (!IsOfProgram(trip)) continue;
      const TripVerdict verdict = JudgeTrip(trip.parts);
      EXPECT_FALSE(IsTold(verdict)) << name << " " << Say(trip, verdict);
    }
  }
  // Compilers unroll some.
  EXPECT_GE(with_loops, names.size() - 10);
}

INSTANTIATE_TEST_SUITE_P(, SteppedTripTest,
                         testing::Combine(testing::Values("gcc", "clang"), testing::Range(0, 4)),
                         [](const auto& tested) {
                           return std::get<0>(tested.param) + "_O" +
                                  std::to_string(std::get<1>(tested.param));
                         });

}  // namespace
}  // namespace flowback
