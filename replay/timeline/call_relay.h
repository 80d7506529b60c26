// SPDX-License-Identifier: MIT
// Passes a thread's calls to a ThreadTimelineBuilder, parallel to the model that finds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ordered_pipeline.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"
#include "flowback/replay/call_stack.h"
#include "replay/timeline/thread_timeline_builder.h"

namespace flowback {

// Finding out which calls there are and what their times were is about as much work, and the latter
// needs nothing but what was found. So where there is more than one core, the output of the model
// of calls is collected, and another thread hands it on, in the same order.
class CallRelay final : public CallListener {
 public:
  // The former two must outlive it. `beside`: by a thread of its own.
  CallRelay(FunctionFinder& finder, ThreadTimelineBuilder& teller, bool beside);
  CallRelay(const CallRelay&) = delete;
  CallRelay& operator=(const CallRelay&) = delete;

  void LookForExec(CallStack::ExecBetween exec) { stack_.LookForExec(std::move(exec)); }
  void LookForPauses(const MachineInfo& machine) { stack_.LookForPauses(machine); }
  void OnBlock(const BlockRun& run);
  void OnBlocks(const BlockBatch& batch);
  void OnEvent(const TraceEvent& event);
  void OnLoss(const DataLoss& loss);
  // The flow has ended, and with it all calls.
  void Finish() { stack_.Finish(); }
  // Returns when all has been handed on.
  void Flush();
  // As ThreadTimeline has it.
  uint64_t other_stacks() const { return other_stacks_; }

  UsualCallDelivery WantsUsual() const override { return UsualCallDelivery::kTogether; }
  void OnUsual(std::span<const UsualMove> moves, const AddressSpace* space) override;
  void OnEnter(const Call& call, size_t depth) override;
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override;
  bool WantsCallNumbers() const override { return true; }
  void OnGap(const UntracedGap& gap, size_t depth) override;
  void OnSwitch(uint32_t stack) override;
  // Earlier calls stay as they are, with their times.
  void OnCorrection(uint64_t, uint64_t, uint32_t, const LeftStack&) override { ++other_stacks_; }

 private:
  enum class Kind : uint8_t {
    kUsual,
    kEnter,
    kExit,
    kSystemCall,
    kSwitch,
    kCycles,
    kProgress,
    kLost
  };
  struct Usual {
    size_t count = 0;  // of Batch::moves
    const AddressSpace* space = nullptr;
  };
  struct Entered {
    Call call;
    size_t depth = 0;
  };
  struct Left {
    size_t depth = 0;
    BuilderExit exit;
  };
  struct Switched {
    uint32_t stack = 0;
    uint64_t instructions = 0;
  };
  struct Cycles {
    uint64_t behind = 0;
    CycleMark mark;
    uint64_t tsc = 0;
  };
  // The collected output, in order, and by kind.
  struct Batch {
    std::vector<Kind> kinds;
    std::vector<Usual> usual;
    std::vector<UsualMove> moves;
    std::vector<Entered> entered;
    std::vector<Left> left;
    std::vector<BuilderSystemCall> system_calls;
    std::vector<Switched> switched;
    std::vector<Cycles> cycles;
    std::vector<BuilderProgress> progress;

    void Clear() {
      kinds.clear();
      usual.clear();
      moves.clear();
      entered.clear();
      left.clear();
      system_calls.clear();
      switched.clear();
      cycles.clear();
      progress.clear();
    }
  };
  static constexpr size_t kBatch = 512;
  static constexpr size_t kMoves = 4096;
  static constexpr size_t kInFlight = 8;
  static constexpr size_t kManyMarks = 4096;

  void AddCycles(uint64_t behind, CycleMark mark, uint64_t tsc);
  void TellProgress();
  Batch& Add(Kind kind);
  void Send();
  void HandOn(Batch& batch) const;

  ThreadTimelineBuilder& teller_;
  CallStack stack_;
  TscInterval started_;  // when the flow began last to be traced again
  size_t marks_ = 0;     // of cycles, since the last progress
  uint64_t other_stacks_ = 0;
  std::unique_ptr<Batch> batch_;                    // null: what comes is handed on at once
  std::optional<OrderedPipeline<Batch>> pipeline_;  // the last one: its thread uses the teller
};

}  // namespace flowback
