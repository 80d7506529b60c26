// SPDX-License-Identifier: MIT
#include "replay/locks/lock_walk.h"

#include <algorithm>

#include "replay/calls/share_walk.h"

namespace flowback {

// Plays a share to the search alone, up to where that finds something: from there on to the calls,
// too.
class LockWalk::Follower final : public ExecutionConsumer {
 public:
  Follower(LockWalk& walk, size_t share) : walk_(walk), share_(share) {}

  void OnBlock(const BlockRun& run) override {
    Tell([&](ExecutionConsumer& player) { player.OnBlock(run); });
  }
  void OnBlocks(const BlockBatch& batch) override {
    Tell([&](ExecutionConsumer& player) { player.OnBlocks(batch); });
  }
  void OnEvent(const TraceEvent& event) override {
    Tell([&](ExecutionConsumer& player) { player.OnEvent(event); });
  }
  void OnLoss(const DataLoss& loss) override {
    Tell([&](ExecutionConsumer& player) { player.OnLoss(loss); });
  }
  void OnUnknown(const UnknownFlow&) override { ++told_; }
  bool with_calls() const { return with_calls_; }

 private:
  using Part = LockPlayer::Part;

  template <class Item>
  void Tell(Item item) {
    LockPlayer& player = walk_.player_;
    player.set_part(with_calls_ ? Part::kAll : Part::kSearch);
    item(player);
    if (!with_calls_ && player.HasFound()) {
      walk_.BringCalls(share_);
      player.set_part(Part::kCalls);
      walk_.segment_.Play(0, told_, player);
      item(player);
      with_calls_ = true;
    }
    ++told_;
  }

  LockWalk& walk_;
  const size_t share_;
  size_t told_ = 0;  // items
  bool with_calls_ = false;
};

bool LockWalk::Play() {
  for (size_t number = 0; number < flows_.size(); ++number) {
    if (flows_[number]->pieces.empty()) continue;
    player_.OnThreadBegin(*flows_[number], number);
    PlayThread(number);
    player_.set_part(LockPlayer::Part::kAll);
    player_.OnThreadEnd(*flows_[number], number);
    if (IsOver()) return false;
  }
  return true;
}

void LockWalk::PlayThread(size_t number) {
  thread_ = &index_.threads()[number];
  share_calls_ = leaps_ ? IndexCalls::Of(index_, number) : nullptr;
  search_at_ = calls_at_ = 0;
  const size_t count = thread_->shares.size();
  for (size_t share = 0; share < count && !IsOver(); ++share) {
    ++seen_;
    passive_.Note(StepsOf(share));
    PassOrPlay(share);
  }
  if (IsOver()) return;
  if (search_at_ < count) player_.PassTo(player_.searched() + InstructionsOf(search_at_, count));
  if (calls_at_ == count) return;
  if (!player_.MayLeaveCalls()) return BringCalls(count);
  for (size_t share = calls_at_; share < count; ++share) left_.push_back(&StepsOf(share));
}

// A Player plays faster, because it decodes ahead. But a walk first has to learn which loops never
// wait, which takes some shares of each thread.
bool LockWalk::GivesUp() const {
  constexpr size_t kFew = 128;
  constexpr size_t kEnough = 1024;
  if (!gives_up_ || seen_ < kFew) return false;
  return seen_ < kEnough ? passed_over_ == 0 : passed_over_ < seen_ / 4;
}

void LockWalk::PassOrPlay(size_t share) {
  using Calls = PassiveSteps::Calls;
  const Calls calls = passive_.CallsOf(StepsOf(share));
  if (calls == Calls::kAll || !MayPass(share)) return PlayShare(share);
  ++passed_over_;
  if (calls == Calls::kOfLocks) PlayCalls(share);
}

// Whether the search may pass over it. The first share of a thread is where its search begins.
bool LockWalk::MayPass(size_t share) {
  if (share == 0 || thread_->shares[share].losses != 0) return false;
  if (search_at_ == share && !player_.MayPass()) return false;
  // What happens behind a system call that may wait belongs to it.
  if (calls_at_ == share && player_.is_stopped()) return false;
  return passive_.IsPassive(StepsOf(share), StepsOf(share - 1));
}

// The search passes over it: no wait begins in it, so it need not be played from further ahead.
void LockWalk::PlayCalls(size_t share) {
  LeapTo(share + 1);
  BringCalls(share);
  if (player_.MissesCalls()) return;
  PlayAs(share, LockPlayer::Part::kCalls);
  calls_at_ = share + 1;
}

void LockWalk::PlayShare(size_t share) {
  BringSearch(share);
  search_at_ = share + 1;
  const bool has_losses = thread_->shares[share].losses != 0;
  if (left_calls_ && StepsOf(share).addresses) player_.NoteMissing();
  if (has_losses || passive_.NeedsCalls(StepsOf(share))) BringCalls(share);
  if (calls_at_ == share) {
    calls_at_ = share + 1;
    return PlayAs(share, LockPlayer::Part::kAll);
  }
  index_.Load(thread_->shares[share], segment_);
  Follower follower(*this, share);
  segment_.Play(follower);
  if (follower.with_calls()) calls_at_ = share + 1;
}

// In the last share that was passed over there is a store, mostly. What comes behind that is found
// as if all had been played. If that share has no store, some shares before it are played, too.
void LockWalk::BringSearch(size_t to) {
  if (search_at_ == to) return;
  const auto place = player_.SavePlace();
  const uint64_t position = player_.searched();
  for (size_t shares = 1; search_at_ < to; shares *= 2) {
    const size_t from = to - std::min(shares, to - search_at_);
    if (from == search_at_)
      player_.Return(*place);
    else
      player_.PassTo(position + InstructionsOf(search_at_, from));
    for (size_t share = from; share < to; ++share) PlayAs(share, LockPlayer::Part::kSearch);
    if (from == search_at_ || player_.KnowsTrail()) search_at_ = to;
  }
}

void LockWalk::BringCalls(size_t to) {
  const bool may_leave = leaves_calls_ && calls_at_ + 1 < to && player_.MayLeaveCalls();
  if (may_leave && player_.LeaveCalls(InstructionsOf(calls_at_, to - 1))) {
    for (; calls_at_ + 1 < to; ++calls_at_) left_.push_back(&StepsOf(calls_at_));
    left_calls_ = true;
  }
  LeapTo(to);
  for (; calls_at_ < to && !player_.MissesCalls(); ++calls_at_)
    PlayAs(calls_at_, LockPlayer::Part::kCalls);
}

// Leaps up to the last share, in which a found wait may have begun. No address of a lock may be
// left out.
void LockWalk::LeapTo(size_t to) {
  if (share_calls_ == nullptr || calls_at_ + 2 >= to) return;
  const auto has_addresses = [&](size_t share) { return StepsOf(share).addresses; };
  for (size_t share = calls_at_; share + 1 < to; ++share)
    if (has_addresses(share)) return;
  player_.set_part(LockPlayer::Part::kCalls);
  ShareWalk walk(index_, *thread_, share_calls_, player_);
  const size_t from = calls_at_;
  calls_at_ = walk.Go(from, to - 1, true);
  if (walk.passed_over() == 0) return;
  for (size_t share = from; share < calls_at_; ++share) left_.push_back(&StepsOf(share));
}

uint64_t LockWalk::InstructionsOf(size_t from, size_t to) const {
  uint64_t sum = 0;
  for (size_t share = from; share < to; ++share) sum += thread_->shares[share].instructions;
  return sum;
}

void LockWalk::PlayAs(size_t share, LockPlayer::Part part) {
  player_.set_part(part);
  index_.Play(thread_->shares[share], player_);
}

}  // namespace flowback
