// SPDX-License-Identifier: MIT
//
// See cpu_moves.cc for the rules. A recording may have very many streams, and the thread may change
// between them with each stretch. Going through all streams for each stretch would take too long,
// so the next stretches of the streams that the thread is not on are kept in order.
#include "decode/schedule/merge_stretches.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace flowback {
namespace {

constexpr size_t kMostInBlock = 512;
constexpr uint64_t kNever = ~uint64_t{0};

// Sources in the order of the guess when their next stretch began. They lie in blocks; each block
// knows the earliest time at which one of its stretches may have ended, so a block that has no
// stretch which ended in time is passed over in one step.
class SourcesByEstimate {
 public:
  explicit SourcesByEstimate(const std::vector<StretchSource>& sources) : sources_(sources) {}

  // REQUIRES: the source is not in here, and not done.
  void Add(size_t source) {
    if (blocks_.empty()) blocks_.emplace_back();
    const size_t at = BlockOf(source);
    std::vector<size_t>& members = blocks_[at].members;
    members.insert(PlaceOf(members, source), source);
    if (members.size() > kMostInBlock) Split(at);
    LookAt(blocks_[at]);
  }

  // REQUIRES: the source is in here, and its next stretch is the one that it was added with.
  void Remove(size_t source) {
    const size_t at = BlockOf(source);
    std::vector<size_t>& members = blocks_[at].members;
    members.erase(PlaceOf(members, source));
    Join(at);
  }

  // Returns the first source whose next stretch did not certainly go on after `time`; the number of
  // sources: all went on.
  size_t FirstThatEnds(uint64_t time) const {
    for (const Block& block : blocks_) {
      if (block.first_end > time) continue;
      for (const size_t source : block.members)
        if (sources_[source].head().end_lo <= time) return source;
    }
    return sources_.size();
  }

  uint64_t First() const {
    return blocks_.empty() ? kNever : sources_[blocks_.front().members.front()].head().Guess();
  }

 private:
  struct Block {
    std::vector<size_t> members;  // none is empty, but for one that is being filled
    uint64_t first_end = kNever;
  };

  std::pair<uint64_t, size_t> KeyOf(size_t source) const {
    return {sources_[source].head().Guess(), source};
  }
  std::vector<size_t>::iterator PlaceOf(std::vector<size_t>& members, size_t source) const {
    return std::ranges::lower_bound(members, KeyOf(source), {},
                                    [this](size_t member) { return KeyOf(member); });
  }

  // The last one that does not begin behind the source.
  size_t BlockOf(size_t source) const {
    const auto behind =
        std::ranges::upper_bound(blocks_, KeyOf(source), {}, [this](const Block& block) {
          return block.members.empty() ? std::pair<uint64_t, size_t>() : KeyOf(block.members[0]);
        });
    return behind == blocks_.begin() ? 0 : static_cast<size_t>(behind - blocks_.begin()) - 1;
  }

  void LookAt(Block& block) const {
    block.first_end = kNever;
    for (const size_t source : block.members)
      block.first_end = std::min(block.first_end, sources_[source].head().end_lo);
  }

  void Split(size_t at) {
    Block half;
    std::vector<size_t>& members = blocks_[at].members;
    const auto middle = members.begin() + kMostInBlock / 2;
    half.members.assign(middle, members.end());
    members.erase(middle, members.end());
    LookAt(half);
    blocks_.insert(blocks_.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(half));
  }

  // A block that has become small takes in the one behind it, if that is small, too.
  void Join(size_t at) {
    std::vector<size_t>& members = blocks_[at].members;
    size_t gone = at;
    if (!members.empty()) {
      gone = at + 1;
      const bool joins = gone < blocks_.size() &&
                         members.size() + blocks_[gone].members.size() <= kMostInBlock / 2;
      if (joins) std::ranges::copy(blocks_[gone].members, std::back_inserter(members));
      LookAt(blocks_[at]);
      if (!joins) return;
    }
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(gone));
  }

  const std::vector<StretchSource>& sources_;
  std::vector<Block> blocks_;
};

class Merge {
 public:
  explicit Merge(std::vector<StretchSource>& sources) : sources_(sources), by_estimate_(sources) {}

  std::vector<StretchPart> Run() {
    size_t left = 0;
    for (size_t i = 0; i < sources_.size(); ++i) {
      left += sources_[i].stretches.size();
      Leave(i);
    }
    for (; left != 0; --left) {
      if (!Stays()) Move();
      parts_.back().end = ++sources_[current_].next;
    }
    return std::move(parts_);
  }

 private:
  void Leave(size_t source) {
    if (sources_[source].done()) return;
    by_latest_.emplace(sources_[source].head().begin_hi, source);
    by_estimate_.Add(source);
  }

  void Move() {
    if (!parts_.empty()) Leave(current_);
    current_ = Choose();
    const size_t next = sources_[current_].next;
    if (parts_.empty() || parts_.back().source != current_)
      parts_.push_back({.source = current_, .first = next, .end = next});
    by_latest_.erase({sources_[current_].head().begin_hi, current_});
    by_estimate_.Remove(current_);
    latest_of_others_ = by_latest_.empty() ? kNever : by_latest_.begin()->first;
    guess_of_others_ = by_estimate_.First();
  }

  // Whether the thread goes on where it is.
  bool Stays() const {
    if (parts_.empty() || sources_[current_].done()) return false;
    const Stretch& head = sources_[current_].head();
    return head.end_lo <= latest_of_others_ && (!head.told || head.begin_lo <= guess_of_others_);
  }

  // A stretch may be the next one unless it certainly went on after another one had begun. The one
  // to compare with is that which begins soonest; for that one itself it is the second soonest.
  size_t Choose() const {
    const auto [latest, soonest] = *by_latest_.begin();
    const auto second = std::next(by_latest_.begin());
    const size_t best = by_estimate_.FirstThatEnds(latest);
    const Stretch& head = sources_[soonest].head();
    const bool may_be_next = second == by_latest_.end() || head.end_lo <= second->first;
    // Where no stretch may be the next one, the clocks of two CPUs contradict each other.
    if (best == sources_.size()) return soonest;
    const bool before =
        std::pair(head.Guess(), soonest) < std::pair(sources_[best].head().Guess(), best);
    return may_be_next && before ? soonest : best;
  }

  std::vector<StretchSource>& sources_;
  std::vector<StretchPart> parts_;
  size_t current_ = 0;
  // The sources' next stretches, except the one that the thread is on.
  std::set<std::pair<uint64_t, size_t>> by_latest_;  // begin_hi
  SourcesByEstimate by_estimate_;
  uint64_t latest_of_others_ = 0;
  uint64_t guess_of_others_ = 0;
};

}  // namespace

std::vector<StretchPart> MergeStretches(std::vector<StretchSource>& sources) {
  return Merge(sources).Run();
}

}  // namespace flowback
