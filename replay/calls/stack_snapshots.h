// SPDX-License-Identifier: MIT
// Takes a thread's call stacks at places of its flow while it is played.
//
//   StackSnapshots taker(functions, {{.kind = StackPlace::Kind::kEnd}}, {}, {});
//   player.Play({&thread}, taker);
//   for (const ThreadStack& stack : taker.Take()) Use(stack.frames);
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/model/execution.h"
#include "flowback/model/recording.h"
#include "flowback/replay/functions.h"
#include "flowback/replay/player.h"
#include "flowback/replay/thread_stack.h"
#include "replay/calls/leaping_player.h"
#include "replay/flow/space_names.h"

namespace flowback {

// What a thread's taker needs to know of it beside its flow.
struct ThreadOrigin {
  bool life_begins = false;  // its flow begins with the thread, or with the program that it runs
  ThreadStack inherited{};   // of a child of fork: its parent's at that time, with its calls
};

// Plays one thread. Done when later flow cannot change its result.
class StackSnapshots final : public LeapingPlayer {
 public:
  struct Options {
    CallStack::ExecBetween exec_between{};  // as CallStack::LookForExec
    bool keep_calls = false;
    const MachineInfo* machine = nullptr;  // as CallStack::LookForPauses; outlives the taker
  };
  // `places`: of one kind each, in the order of the flow. `functions` must outlive it.
  StackSnapshots(FunctionFinder& functions, std::vector<StackPlace> places, ThreadOrigin origin,
                 Options options);
  ~StackSnapshots() override;

  void OnThreadEnd(const ThreadFlow& thread, size_t number) override;
  void OnBlock(const BlockRun& run) override;
  void OnBlocks(const BlockBatch& batch) override;
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss& loss) override;
  void OnUnknown(const UnknownFlow& unknown) override;
  bool Done() const override;

  // In the order of the places, once all has been played.
  std::vector<ThreadStack> Take();

  // The rest serves KeptStacks, which plays only parts of the flow (replay/calls/kept_stacks.h).

  // Whether the flow has reached all places.
  bool TookAll() const override;
  // Later facts about stacks taken before.
  struct Told {
    bool outside = false;           // callers outside of them, or their end
    std::vector<uint64_t> guesses;  // about these, which were made before
  };
  // Returns the facts since the last call.
  Told TakeTold();
  // Whether that changes a stack that was taken.
  bool MayChange(const Told& told) const;
  // Serializes its state between two elements of the flow, as CallStack::ToBytes, without facts
  // about places and the loss before it.
  std::vector<uint8_t> ToBytes(const SpaceNames& spaces) const;
  const std::vector<Call>& calls() const override;
  uint64_t next() const override;
  bool MayLeap() const override;
  size_t NoLeapBelow() const override;
  bool Leap(const StackLeap& leap) override;
  bool Keep(const SpaceNames& spaces) override;
  void GoBack(const SpaceNames& spaces) override;
  // Returns the part that CallStack::FromBytes reads.
  static Bytes StackPart(Bytes bytes);
  // Goes on from there; places that were come to stay. False: as CallStack::FromBytes.
  bool FromBytes(Bytes bytes, const SpaceNames& spaces);
  // True if callers outside of the outermost call were lost.
  bool IsBehindLoss() const;
  // Known last of the flow so far; 0: none.
  uint64_t tsc() const;
  void SetLoss(const DataLoss& loss);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
  std::vector<uint8_t> kept_;
};

// `flows`: all of the recording's threads. Plays those whose child the thread is, where there are
// any. Errors: as Player::Play's.
Result<ThreadOrigin> OriginOf(const ThreadFlow& thread, const std::vector<const ThreadFlow*>& flows,
                              const Recording& recording, FunctionFinder& functions,
                              Player& player);

}  // namespace flowback
