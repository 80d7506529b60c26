// SPDX-License-Identifier: MIT
// Brings a LeapingPlayer along a thread's flow, and plays no more of it than it must.
//
// Where it is known what shares did to the call stack (replay/flow/share_calls.h), most of them
// need not be played: their calls have returned. The calls that are open in the end were made, or
// replaced by a jump, in a few shares, and only these are played. Going back from the end, each is
// the last one that reached further down the stack than all behind it. Where it matters where a
// replaced call was made, the share that made it is played, too:
//
//   depth    4 |        _                        _
//            3 |   __--- -_      _-_-_-_-_   _--- -
//            2 | --        ----_-         ---
//            1 |
//   shares     |   a   |   b   |   c   |   d   |   e   |
//
//   At the end two calls are open that e made, and two from before a: e alone is played, with
//   unknown calls in the place of those that it returned from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "flowback/replay/flow_index.h"
#include "replay/calls/leaping_player.h"
#include "replay/flow/share_calls.h"

namespace flowback {

class ShareWalk {
 public:
  struct Listener {
    std::function<void(size_t share)> begins;  // the player is what it is there
    std::function<void(size_t share)> played;
  };
  // `calls`: of the thread's shares; null: all are played. All arguments must outlive it.
  ShareWalk(FlowIndex& index, const IndexedThread& thread, const std::vector<ShareCalls>* calls,
            LeapingPlayer& player)
      : index_(index), thread_(thread), calls_(calls), player_(player) {}

  // Goes from the begin of one share to the begin of another, or until all places have been taken.
  // Returns where it ended. `leaps` false: plays all shares.
  size_t Go(size_t from, size_t to, bool leaps, const Listener* listener = nullptr);
  // A place was taken where shares were not played, which is wrong.
  bool went_wrong() const { return went_wrong_; }
  // Shares that were not played.
  size_t passed_over() const { return passed_over_; }

 private:
  // What a share does to the stack as it is there. Calls are counted from the outermost one.
  struct Reach {
    size_t lowest = 0;            // the fewest calls open at a time
    size_t touched = 0;           // outermost calls that it leaves unchanged
    size_t behind = 0;            // calls open behind it
    uint64_t return_address = 0;  // of the innermost call then
    bool replaced = false;        // a jump replaced that
  };

  std::vector<Reach> Foresee(size_t from, size_t to) const;
  static std::optional<Reach> ReachOf(const CallChange& change, std::vector<uint64_t>& open);
  bool Leap(size_t from, const std::vector<Reach>& reaches);
  StackLeap LeapTo(size_t share, const Reach& reach) const;
  void Play(size_t share) { index_.Play(thread_.shares[share], player_); }

  FlowIndex& index_;
  const IndexedThread& thread_;
  const std::vector<ShareCalls>* calls_;
  LeapingPlayer& player_;
  bool went_wrong_ = false;
  size_t passed_over_ = 0;
};

}  // namespace flowback
