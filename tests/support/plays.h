// SPDX-License-Identifier: MIT
// A player's flow, thread by thread and stay by stay, equals the decode of each stay by itself: in
// every field, for any number of threads, in_flight and segments of the player.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "flowback/replay/player.h"
#include "tests/support/exact_flow.h"

namespace flowback::plays {

// The whole received flow, as numbers.
class Told final : public PlayConsumer {
 public:
  void OnThreadBegin(const ThreadFlow& thread, size_t number) override {
    Mark('T', {static_cast<uint64_t>(thread.tid), number});
  }
  void OnThreadEnd(const ThreadFlow& thread, size_t number) override {
    Mark('t', {static_cast<uint64_t>(thread.tid), number});
  }
  void OnStayBegin(const FlowPiece& stay) override { Mark('S', {stay.begin, stay.end}); }
  void OnStayEnd(const FlowPiece& stay) override { Mark('s', {stay.begin, stay.end}); }
  void OnAbsence(const Absence& absence) override {
    EXPECT_LT(absence.begin, absence.end);
    Mark(absence.kind == Absence::Kind::kOffCpu ? 'o' : 'u', {absence.begin, absence.end});
    absences_.push_back(absence);
  }
  void OnBlock(const BlockRun& run) override { flow_.OnBlock(run); }
  void OnBlocks(const BlockBatch& batch) override { flow_.OnBlocks(batch); }
  void OnEvent(const TraceEvent& event) override { flow_.OnEvent(event); }
  void OnLoss(const DataLoss& loss) override { flow_.OnLoss(loss); }

  const std::vector<uint64_t>& items() const { return flow_.numbers(); }
  // Marks, each with the number of items before it.
  const std::vector<std::pair<uint64_t, std::string>>& marks() const { return marks_; }
  const std::vector<Absence>& absences() const { return absences_; }

 private:
  void Mark(char what, std::pair<uint64_t, uint64_t> numbers) {
    marks_.emplace_back(flow_.numbers().size(), what + std::to_string(numbers.first) + "," +
                                                    std::to_string(numbers.second));
  }

  deliveries::PieceNumbers flow_;
  std::vector<std::pair<uint64_t, std::string>> marks_;
  std::vector<Absence> absences_;
};

struct Setting {
  unsigned threads = 1;
  size_t in_flight = 0;
  size_t segment_items = 0;
};
inline constexpr Setting kSettings[] = {{1, 0, 0}, {2, 1, 1}, {2, 0, 0}, {3, 2, 50}, {5, 0, 7}};

inline std::vector<const ThreadFlow*> PointersTo(const std::vector<ThreadFlow>& flows) {
  std::vector<const ThreadFlow*> pointers;
  for (const ThreadFlow& flow : flows) pointers.push_back(&flow);
  return pointers;
}

inline Told Play(Player player, const std::vector<ThreadFlow>& flows) {
  Told told;
  EXPECT_TRUE(player.Play(PointersTo(flows), told));
  return told;
}

// `one_by_one`: the decode of each stay by itself.
inline void ExpectTold(const Told& told, const std::vector<uint64_t>& one_by_one) {
  const auto at = std::ranges::mismatch(told.items(), one_by_one);
  EXPECT_TRUE(told.items() == one_by_one) << "item " << at.in1 - told.items().begin() << " of "
                                          << told.items().size() << ", " << one_by_one.size();
}

}  // namespace flowback::plays
