// SPDX-License-Identifier: MIT
// The losses of totals: what is kept of many, and that it does not matter in which pieces they
// came.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "flowback/decode/decoder.h"

namespace flowback {
namespace {

// Instructions, then a loss.
struct Stretch {
  uint64_t instructions = 0;
  LossCause cause{};
  uint64_t lost = 0;  // bytes, behind one that was decoded
};

std::vector<Stretch> Stretches(uint64_t seed, size_t count, unsigned pauses_in_100) {
  std::mt19937_64 random(seed);
  std::vector<Stretch> stretches(count);
  for (Stretch& stretch : stretches) {
    stretch.instructions = random() % 100 < pauses_in_100 ? 1 + random() % 3 : 0;
    stretch.cause = random() % 3 == 0 ? LossCause::kFlowMismatch : LossCause::kOverflow;
    stretch.lost = random() % 5;
  }
  return stretches;
}

// Returns the totals of stretches [begin, end), each behind the bytes of those before it.
FlowTotals TotalsOf(const std::vector<Stretch>& stretches, size_t begin, size_t end) {
  FlowTotals totals;
  uint64_t offset = 0;
  for (size_t i = 0; i < end; ++i) {
    const Stretch& stretch = stretches[i];
    DataLoss loss{.cause = stretch.cause,
                  .begin = offset + 1,
                  .end = offset + 1 + stretch.lost,
                  .detail = std::to_string(i)};
    offset = loss.end;
    if (i < begin) continue;
    for (uint64_t n = 0; n < stretch.instructions; ++n) totals.digest.Append(n);
    totals.bytes_lost += stretch.lost;
    loss.after = totals.digest.count;
    totals.AddLoss(loss);
  }
  return totals;
}

std::string Text(const FlowTotals& totals) {
  std::string text;
  for (const DataLoss& loss : totals.losses)
    text += std::string(Name(loss.cause)) + " " + std::to_string(loss.count) + " of " +
            std::to_string(loss.bytes()) + " bytes in " + std::to_string(loss.begin) + "-" +
            std::to_string(loss.end) + " after " + std::to_string(loss.after) + ": " + loss.detail +
            "\n";
  return text;
}

TEST(FlowTotals, FewLossesAreKeptOneByOne) {
  const std::vector<Stretch> stretches = Stretches(1, FlowTotals::kToldInARow, 0);
  const FlowTotals totals = TotalsOf(stretches, 0, stretches.size());
  EXPECT_EQ(totals.losses.size(), stretches.size());
  for (size_t i = 0; i < totals.losses.size(); ++i) {
    EXPECT_EQ(totals.losses[i].count, 1u);
    EXPECT_EQ(totals.losses[i].detail, std::to_string(i));
  }
}

TEST(FlowTotals, ManyLossesInARowAreKeptAsAFew) {
  const std::vector<Stretch> stretches = Stretches(2, 100'000, 0);
  const FlowTotals totals = TotalsOf(stretches, 0, stretches.size());
  EXPECT_EQ(totals.losses.size(), 2 * FlowTotals::kToldInARow);
  EXPECT_EQ(totals.LossCount(), stretches.size());
  uint64_t bytes = 0;
  for (const DataLoss& loss : totals.losses) bytes += loss.bytes();
  EXPECT_EQ(bytes, totals.bytes_lost);
}

TEST(FlowTotals, ManyLossesWithFlowBetweenThemAreKeptInABoundedList) {
  const std::vector<Stretch> stretches = Stretches(3, 100'000, 100);
  const FlowTotals totals = TotalsOf(stretches, 0, stretches.size());
  EXPECT_LE(totals.losses.size(), FlowTotals::kTold + 2);
  EXPECT_EQ(totals.LossCount(), stretches.size());
}

TEST(FlowTotals, PiecesAddUpToTheSame) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const size_t count = seed % 3 == 0 ? 9000 : 60;
    const std::vector<Stretch> stretches =
        Stretches(seed, count, static_cast<unsigned>(seed % 7) * 15);
    const std::string whole = Text(TotalsOf(stretches, 0, count));
    std::mt19937_64 random(seed);
    FlowTotals sum;
    for (size_t begin = 0; begin < count;) {
      const size_t end = std::min(count, begin + 1 + random() % (count / 2));
      sum.Append(TotalsOf(stretches, begin, end));
      begin = end;
    }
    EXPECT_EQ(Text(sum), whole) << "seed " << seed;
  }
}

}  // namespace
}  // namespace flowback
