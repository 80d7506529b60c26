// SPDX-License-Identifier: MIT
// Streams' stretches in one order: as by the rules written down plainly, each stretch compared with
// all others.
#include "decode/schedule/merge_stretches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace flowback {
namespace {

class PlainMerge {
 public:
  explicit PlainMerge(std::vector<StretchSource> sources) : sources_(std::move(sources)) {}

  std::vector<StretchPart> Run() {
    while (std::ranges::any_of(sources_, [](const auto& source) { return !source.done(); })) {
      if (!Stays()) {
        current_ = Choose();
        const size_t next = sources_[current_].next;
        if (parts_.empty() || parts_.back().source != current_)
          parts_.push_back({.source = current_, .first = next, .end = next});
        moved_to_ = sources_;
      }
      parts_.back().end = ++sources_[current_].next;
    }
    return parts_;
  }

 private:
  static bool AllOthers(const std::vector<StretchSource>& sources, size_t but, auto holds) {
    for (size_t i = 0; i < sources.size(); ++i)
      if (i != but && !sources[i].done() && !holds(sources[i].head())) return false;
    return true;
  }
  bool Stays() const {
    if (parts_.empty() || sources_[current_].done()) return false;
    const Stretch& head = sources_[current_].head();
    return AllOthers(moved_to_, current_, [&](const Stretch& other) {
      return head.end_lo <= other.begin_hi && (!head.told || head.begin_lo <= other.Guess());
    });
  }
  bool MayBeNext(size_t source) const {
    return AllOthers(sources_, source, [&](const Stretch& other) {
      return sources_[source].head().end_lo <= other.begin_hi;
    });
  }
  size_t Choose() const {
    size_t best = sources_.size();
    size_t soonest = sources_.size();
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i].done()) continue;
      const Stretch& head = sources_[i].head();
      if (soonest == sources_.size() || head.begin_hi < sources_[soonest].head().begin_hi)
        soonest = i;
      if ((best == sources_.size() || head.Guess() < sources_[best].head().Guess()) && MayBeNext(i))
        best = i;
    }
    return best == sources_.size() ? soonest : best;
  }

  std::vector<StretchSource> sources_;
  std::vector<StretchSource> moved_to_;  // as they were when the thread moved
  std::vector<StretchPart> parts_;
  size_t current_ = 0;
};

// Times in order or not, near each other or not, many the same.
std::vector<StretchSource> Random(std::mt19937_64& random, size_t most_sources) {
  std::vector<StretchSource> sources(1 + random() % most_sources);
  const uint64_t range = uint64_t{1} << (random() % 14);
  const uint64_t width = 1 + random() % range;
  const bool in_order = random() % 4 != 0;
  for (StretchSource& source : sources) {
    uint64_t time = random() % range;
    source.stretches.resize(1 + random() % 6);
    for (Stretch& stretch : source.stretches) {
      stretch.begin_lo = in_order ? time : random() % range;
      stretch.begin_hi = stretch.begin_lo + random() % width;
      stretch.end_lo = stretch.begin_lo + random() % width;
      stretch.told = random() % 2 == 0;
      time += random() % width;
    }
  }
  return sources;
}

TEST(MergeStretches, AsByThePlainRules) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<StretchSource> sources = Random(random, 9);
    const std::vector<StretchPart> plain = PlainMerge(sources).Run();
    ASSERT_EQ(MergeStretches(sources), plain) << i;
  }
}

// More than are kept together.
TEST(MergeStretches, OfManySources) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 4; ++i) {
    std::vector<StretchSource> sources = Random(random, 9);
    while (sources.size() < 700)
      for (StretchSource& source : Random(random, 100)) sources.push_back(source);
    const std::vector<StretchPart> plain = PlainMerge(sources).Run();
    ASSERT_EQ(MergeStretches(sources), plain) << i;
  }
}

// Each stream's flow is ahead of that of all streams before it.
TEST(MergeStretches, ThatComeLastFirst) {
  constexpr uint64_t kSources = 100'000;
  std::vector<StretchSource> sources(kSources);
  for (uint64_t i = 0; i < kSources; ++i)
    for (uint64_t time = 10 * (kSources - i); time % 10 < 3; ++time)
      sources[i].stretches.push_back({.begin_lo = time, .begin_hi = time, .end_lo = time});
  const std::vector<StretchPart> parts = MergeStretches(sources);
  ASSERT_EQ(parts.size(), kSources);
  for (uint64_t i = 0; i < kSources; ++i)
    ASSERT_EQ(parts[i], (StretchPart{.source = kSources - 1 - i, .first = 0, .end = 3}));
}

}  // namespace
}  // namespace flowback
