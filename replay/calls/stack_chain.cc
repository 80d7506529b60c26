// SPDX-License-Identifier: MIT
#include "replay/calls/stack_chain.h"

#include <algorithm>
#include <utility>

#include "replay/calls/stack_snapshots.h"

namespace flowback {

bool StackChain::Add(uint32_t share, const std::vector<uint8_t>& state, uint64_t most) {
  const auto same = std::ranges::mismatch(last_, state).in2 - state.begin();
  if (state.size() - static_cast<size_t>(same) > most) return false;
  differences_.insert(differences_.end(), state.begin() + same, state.end());
  states_.push_back({share, static_cast<uint64_t>(same), differences_.size()});
  last_ = state;
  return true;
}

void StackChain::Note(uint32_t share, StackSnapshots::Told told) {
  if (told.outside || !told.guesses.empty()) noted_.push_back({share, std::move(told)});
}

std::optional<size_t> StackChain::LastUpTo(uint32_t share) const {
  const auto behind = std::ranges::upper_bound(states_, share, {}, &Kept::share);
  if (behind == states_.begin()) return std::nullopt;
  return static_cast<size_t>(behind - states_.begin()) - 1;
}

std::vector<uint8_t> StackChain::State(size_t number) const {
  std::vector<uint8_t> state;
  uint64_t begin = 0;
  for (size_t i = 0; i <= number; ++i) {
    state.resize(std::min<size_t>(states_[i].same, state.size()));
    state.insert(state.end(), differences_.begin() + static_cast<ptrdiff_t>(begin),
                 differences_.begin() + static_cast<ptrdiff_t>(states_[i].end));
    begin = states_[i].end;
  }
  return state;
}

std::optional<uint32_t> StackChain::NextTold(uint32_t share, const StackSnapshots& taker) const {
  auto noted = std::ranges::lower_bound(noted_, share, {}, &Noted::share);
  while (noted != noted_.end() && !taker.MayChange(noted->told)) ++noted;
  return noted == noted_.end() ? std::nullopt : std::optional(noted->share);
}

void StackChain::Write(NumberWriter& out) const {
  out.Number(states_.size());
  uint32_t share = 0;
  uint64_t begin = 0;
  for (const Kept& kept : states_) {
    out.Number(kept.share - share);
    out.Number(kept.same);
    out.Block(Bytes(differences_).subspan(begin, kept.end - begin));
    share = kept.share;
    begin = kept.end;
  }
  out.Number(noted_.size());
  share = 0;
  for (const Noted& noted : noted_) {
    out.Number(noted.share - share);
    out.Number(noted.told.guesses.size() << 1 | uint64_t{noted.told.outside});
    uint64_t before = 0;
    for (const uint64_t guess : noted.told.guesses) {
      out.Distance(before, guess);
      before = guess;
    }
    share = noted.share;
  }
}

void StackChain::Read(NumberReader& in, size_t shares) {
  uint64_t share = 0;
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    share += in.Number();
    if (share >= shares) in.Fail();
    const uint64_t same = in.Number();
    const Bytes rest = in.Block();
    differences_.insert(differences_.end(), rest.begin(), rest.end());
    states_.push_back({static_cast<uint32_t>(share), same, differences_.size()});
  }
  share = 0;
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    share += in.Number();
    if (share >= shares) in.Fail();
    const uint64_t head = in.Number();
    Noted noted{.share = static_cast<uint32_t>(share), .told = {}};
    noted.told.outside = (head & 1) != 0;
    uint64_t guess = 0;
    for (uint64_t guesses = head >> 1; guesses != 0 && in.ok(); --guesses)
      noted.told.guesses.push_back(guess = in.Distance(guess));
    noted_.push_back(std::move(noted));
  }
}

}  // namespace flowback
