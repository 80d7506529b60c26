// SPDX-License-Identifier: MIT
// A thread's flow element by element: by brute force, and as a cursor goes through it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "flowback/replay/thread_cursor.h"

namespace flowback::cursor_elements {

using Kind = ThreadCursor::Kind;

// The compared fields of an element.
struct Element {
  Kind kind{};
  uint64_t place = 0;  // an address, or where in the stream
  uint64_t tsc = 0;
  TscInterval bounds{};
  bool begins_run = false;
  bool is_branch = false;

  bool operator==(const Element& other) const {
    return kind == other.kind && begins_run == other.begins_run && is_branch == other.is_branch &&
           place == other.place && tsc == other.tsc && bounds.lo == other.bounds.lo &&
           bounds.hi == other.bounds.hi;
  }
};

// By brute force: the elements of each stay.
class Elements final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    std::vector<Element>& elements = of_[run.stay];
    uint64_t ip = run.address;
    for (size_t i = 0; i < run.lengths.size(); ip += run.lengths[i++])
      elements.push_back({Kind::kInstruction, ip, run.TscOf(i), run.BoundsOf(i), i == 0,
                          i + 1 == run.lengths.size() && run.exit != BlockExit::kFallThrough});
  }
  void OnEvent(const TraceEvent& event) override {
    of_[event.stay].push_back({Kind::kEvent, event.offset, event.tsc, event.bounds});
  }
  void OnLoss(const DataLoss& loss) override {
    of_[loss.stay].push_back({Kind::kLoss, loss.begin, loss.tsc, loss.bounds});
  }

  const std::vector<Element>& Of(const ThreadStay* stay) { return of_[stay]; }

 private:
  std::map<const ThreadStay*, std::vector<Element>> of_;
};

inline Element At(const ThreadCursor& cursor) {
  switch (cursor.kind()) {
    case Kind::kInstruction:
      return {
          Kind::kInstruction,
          cursor.instruction().address,
          cursor.tsc(),
          cursor.instruction().bounds,
          cursor.instruction().first_of_run,
          cursor.instruction().last_of_run && cursor.instruction().exit != BlockExit::kFallThrough};
    case Kind::kEvent:
      return {Kind::kEvent, cursor.event().offset, cursor.tsc(), cursor.event().bounds};
    case Kind::kLoss:
      return {Kind::kLoss, cursor.loss().begin, cursor.tsc(), cursor.loss().bounds};
    case Kind::kUnknown:
      return {Kind::kUnknown, cursor.unknown().offset, cursor.tsc(), cursor.unknown().bounds};
    case Kind::kEnd:
      return {Kind::kEnd};
  }
  return {};
}

// The first element in which the two differ, in words.
inline std::string Difference(const std::vector<Element>& cursor,
                              const std::vector<Element>& truth) {
  if (cursor == truth) return "";
  size_t at = 0;
  while (at < cursor.size() && at < truth.size() && cursor[at] == truth[at]) ++at;
  const auto text = [at](const std::vector<Element>& all) {
    std::string line = "element " + std::to_string(at) + " of " + std::to_string(all.size());
    if (at >= all.size()) return line;
    const Element& e = all[at];
    line += ": kind " + std::to_string(static_cast<int>(e.kind));
    for (const uint64_t number : {e.place, e.tsc, e.bounds.lo, e.bounds.hi})
      line += " " + std::to_string(number);
    return line;
  };
  return "cursor " + text(cursor) + "\ntruth  " + text(truth);
}

inline std::vector<Element> Forward(ThreadCursor& cursor) {
  std::vector<Element> all;
  cursor.ToBegin();
  if (cursor.kind() == Kind::kEnd) return all;
  do {
    all.push_back(At(cursor));
  } while (cursor.Next());
  EXPECT_EQ(cursor.kind(), Kind::kEnd);
  return all;
}

inline std::vector<Element> Backward(ThreadCursor& cursor) {
  std::vector<Element> all;
  cursor.ToEnd();
  while (cursor.Previous()) all.push_back(At(cursor));
  std::ranges::reverse(all);
  return all;
}

}  // namespace flowback::cursor_elements
