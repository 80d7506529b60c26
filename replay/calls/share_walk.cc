// SPDX-License-Identifier: MIT
#include "replay/calls/share_walk.h"

#include <algorithm>
#include <span>

#include "replay/flow/index_spaces.h"

namespace flowback {

size_t ShareWalk::Go(size_t from, size_t to, bool leaps, const Listener* listener) {
  size_t at = from;
  size_t leaps_from = leaps && calls_ != nullptr ? from : to;  // before that all are played
  while (at < to && !player_.TookAll()) {
    if (listener != nullptr) listener->begins(at);
    const std::vector<Reach> reaches = at < leaps_from ? std::vector<Reach>() : Foresee(at, to);
    const bool may_leap = reaches.size() > 1;
    if (may_leap && Leap(at, reaches)) {
      at += reaches.size();
      if (listener != nullptr) listener->played(at - 1);
      if (player_.TookAll()) went_wrong_ = true;
      continue;
    }
    if (may_leap) leaps_from = at + reaches.size();
    Play(at);
    if (listener != nullptr) listener->played(at);
    ++at;
  }
  return at;
}

// As far as all is usual.
std::vector<ShareWalk::Reach> ShareWalk::Foresee(size_t from, size_t to) const {
  std::vector<Reach> reaches;
  if (!player_.MayLeap()) return reaches;
  std::vector<uint64_t> open;
  for (const Call& call : player_.calls()) open.push_back(call.return_address);
  const size_t below = player_.NoLeapBelow();
  uint64_t next = player_.next();
  for (size_t share = from; share < to; ++share) {
    const ShareCalls& calls = (*calls_)[share];
    if (!calls.change.usual || calls.first != next || thread_.shares[share].losses != 0) break;
    const std::optional<Reach> reach = ReachOf(calls.change, open);
    if (!reach || reach->lowest <= below) break;
    reaches.push_back(*reach);
    next = calls.next;
  }
  return reaches;
}

// Empty: it returns from a call that is not known, or elsewhere than to where that was made. `open`
// has the return addresses of all calls.
std::optional<ShareWalk::Reach> ShareWalk::ReachOf(const CallChange& change,
                                                   std::vector<uint64_t>& open) {
  if (change.returned.size() >= open.size()) return std::nullopt;
  for (const uint64_t target : change.returned) {
    if (open.back() != target || target == 0) return std::nullopt;
    open.pop_back();
  }
  Reach reach{.lowest = open.size(),
              .touched = open.size() - (change.replaced ? 1 : 0),
              .behind = 0,
              .return_address = open.back(),
              .replaced = change.replaced};
  if (reach.replaced && reach.return_address == 0) return std::nullopt;
  if (open.size() + change.deepest > CallStack::kMostCalls / 2) return std::nullopt;
  const std::span<const uint64_t> called = change.called.all();
  open.insert(open.end(), called.begin(), called.end());
  reach.behind = open.size();
  return reach;
}

// False: what was played is not what was foreseen, and the player is what it was before.
bool ShareWalk::Leap(size_t from, const std::vector<Reach>& reaches) {
  if (!player_.Keep(IndexSpaces::Of(index_))) return false;
  std::vector<size_t> shares;  // that are played, the last first
  size_t touched = SIZE_MAX;
  for (size_t i = reaches.size(); i-- != 0;) {
    if (reaches[i].touched >= touched) continue;
    touched = player_.NeedsSites() ? reaches[i].lowest : reaches[i].touched;
    shares.push_back(i);
  }
  bool has_begun = false;
  for (auto i = shares.rbegin(); i != shares.rend(); ++i) {
    const Reach& reach = reaches[*i];
    if (player_.Leap(LeapTo(from + *i, reach))) {
      Play(from + *i);
      has_begun = true;
      if (player_.calls().size() == reach.behind) continue;
    }
    went_wrong_ = went_wrong_ || player_.TookAll();
    if (has_begun) player_.GoBack(IndexSpaces::Of(index_));
    return false;
  }
  passed_over_ += reaches.size() - shares.size();
  return true;
}

StackLeap ShareWalk::LeapTo(size_t share, const Reach& reach) const {
  const ShareCalls& calls = (*calls_)[share];
  const std::vector<uint64_t>& returned = calls.change.returned;
  const bool keeps_replaced = player_.NeedsSites();
  StackLeap leap{.keep = keeps_replaced ? reach.lowest : reach.touched,
                 .unknown = {},
                 .lowest = reach.lowest - 1,
                 .lowest_return = reach.return_address,
                 .lowest_address = returned.empty() ? calls.first : returned.back(),
                 .instructions = thread_.shares[share].first};
  if (reach.replaced && !keeps_replaced)
    leap.unknown.push_back(
        {.return_address = reach.return_address, .address = leap.lowest_address});
  for (size_t i = returned.size(); i-- != 0;)
    leap.unknown.push_back(
        {.return_address = returned[i], .address = i == 0 ? calls.first : returned[i - 1]});
  return leap;
}

}  // namespace flowback
