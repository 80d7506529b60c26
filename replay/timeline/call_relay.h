// SPDX-License-Identifier: MIT
// Tells a ThreadTeller of a thread's calls, beside the model that finds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ordered_pipeline.h"
#include "flowback/replay/call_stack.h"
#include "replay/timeline/thread_teller.h"

namespace flowback {

// Finding out which calls there are and what their times were is about as much work, and the latter
// needs nothing but what was found. So where there is more than one core, what the model of calls
// tells is collected, and a thread of its own hands it on, in the same order.
class CallRelay final : public CallListener {
 public:
  // The former two must outlive it. `beside`: by a thread of its own.
  CallRelay(FunctionFinder& finder, ThreadTeller& teller, bool beside);
  CallRelay(const CallRelay&) = delete;
  CallRelay& operator=(const CallRelay&) = delete;

  // Which the flow is told to.
  CallStack& stack() { return stack_; }
  // Returns when all has been handed on.
  void Flush();

  void OnEnter(const Call& call, size_t depth) override;
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override;
  void OnGap(const UntracedGap&, size_t) override {}
  void OnSwitch(uint32_t stack) override;

 private:
  enum class Kind : uint8_t { kEnter, kExit, kSwitch };
  struct Entered {
    Call call;
    size_t depth = 0;
  };
  struct Left {
    size_t depth = 0;
    TellerExit exit;
  };
  // What was told, in order, and by kind.
  struct Batch {
    std::vector<Kind> kinds;
    std::vector<Entered> entered;
    std::vector<Left> left;
    std::vector<uint32_t> stacks;  // that were switched to
  };
  static constexpr size_t kBatch = 512;
  static constexpr size_t kInFlight = 8;

  Batch& Add(Kind kind);
  void Send();
  void HandOn(Batch& batch) const;

  ThreadTeller& teller_;
  CallStack stack_;
  std::unique_ptr<Batch> batch_;                    // null: what comes is handed on at once
  std::optional<OrderedPipeline<Batch>> pipeline_;  // the last one: its thread uses the teller
};

}  // namespace flowback
