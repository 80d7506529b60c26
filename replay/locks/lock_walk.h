// SPDX-License-Identifier: MIT
// Brings a LockPlayer along threads' flow, and plays no more of it than it must.
//
//   shares    |  0  |  1  |  2  |  3  |  4  |  5  |  6  |  7  |
//   passive                 x     x     x           x     x
//   search     ====================== s ============        s     s: from the first store on
//   calls      ======                             c c c           only where they matter: in 5
//
// The search for loops that wait passes over shares that are passive (passive_steps.h), and finds
// its way again in the last of them. The calls follow only as far as something of a lock was found;
// then they are brought along from where they were left. Where it is known what shares did to the
// call stack, they are played in those alone whose calls are open then (share_walk.h). In a passive
// share that calls a lock's function, but has no system call that may wait, only the calls are
// played.
#pragma once

#include <cstddef>
#include <vector>

#include "flowback/model/flow_segment.h"
#include "flowback/replay/flow_index.h"
#include "replay/flow/share_calls.h"
#include "replay/locks/lock_player.h"
#include "replay/locks/passive_steps.h"

namespace flowback {

class LockWalk {
 public:
  // `index`: of `flows`, with FlowIndex::Options::steps. All must outlive it.
  LockWalk(FlowIndex& index, const std::vector<const ThreadFlow*>& flows, LockPlayer& player,
           PassiveSteps& passive)
      : index_(index), flows_(flows), player_(player), passive_(passive) {}

  // Where the calls matter again they need not know in which other calls they are.
  void LeaveCalls() { leaves_calls_ = true; }
  // They are brought along by leaps, where the index has followed them.
  void LeapOverCalls() { leaps_ = true; }
  // It gives up where too little can be passed over.
  void GiveUpWhereSlow() { gives_up_ = true; }
  // All threads. False: an assumption was wrong, or it gave up; the result is useless.
  bool Play();
  // Whether calls have been left and gone on with again.
  bool left_calls() const { return left_calls_; }
  // Shares over which the search has passed.
  size_t passed_over() const { return passed_over_; }
  // The segments of those whose calls were not looked at.
  const std::vector<const SegmentSteps*>& left() const { return left_; }

 private:
  class Follower;

  void PlayThread(size_t number);
  void PassOrPlay(size_t share);
  bool MayPass(size_t share);
  void PlayCalls(size_t share);
  bool GivesUp() const;
  bool IsOver() const { return player_.MissesCalls() || GivesUp(); }
  void BringSearch(size_t to);
  void BringCalls(size_t to);
  void LeapTo(size_t to);
  void PlayShare(size_t share);
  // For shares without losses: only for these the index has the number.
  uint64_t InstructionsOf(size_t from, size_t to) const;
  void PlayAs(size_t share, LockPlayer::Part part);
  const SegmentSteps& StepsOf(size_t share) const {
    return IndexSteps::Of(index_, thread_->shares[share]);
  }

  FlowIndex& index_;
  const std::vector<const ThreadFlow*>& flows_;
  LockPlayer& player_;
  PassiveSteps& passive_;
  // The current thread.
  const IndexedThread* thread_ = nullptr;
  const std::vector<ShareCalls>* share_calls_ = nullptr;  // null: they were not followed
  size_t search_at_ = 0;  // the search has been brought to the begin of that share
  size_t calls_at_ = 0;   // and the calls to the begin of this one
  FlowSegment segment_;
  size_t seen_ = 0;  // shares
  size_t passed_over_ = 0;
  std::vector<const SegmentSteps*> left_;
  bool gives_up_ = false;
  bool leaps_ = false;
  bool leaves_calls_ = false;
  bool left_calls_ = false;
};

}  // namespace flowback
