// SPDX-License-Identifier: MIT
// From single instructions and events to block runs in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/decode/schedule.h"
#include "flowback/model/execution.h"

namespace flowback::libipt {

// One instruction that completed.
struct Completed {
  uint64_t ip = 0;
  uint8_t size = 0;
  InstructionClass kind = InstructionClass::kOther;
  CodeMode mode = CodeMode::kX86_64;
  bool in_transaction = false;
  BlockExit exit = BlockExit::kFallThrough;
  uint64_t next = 0;  // 0: not known yet
};

// libipt reveals an indirect branch's target only as the next instruction's address, so a finished
// run, and events without an address after it, wait here until that is known. A writer is a value:
// a copy goes on from where it was made.
class FlowWriter {
 public:
  explicit FlowWriter(ExecutionConsumer& consumer) : consumer_(&consumer) {}
  // Sends everything from now on there.
  void Use(ExecutionConsumer& consumer) { consumer_ = &consumer; }

  void Add(const Completed& instruction, const AddressSpace* space);
  // Control is known to stand at `ip`: ends the run at hand.
  void NextIs(uint64_t ip);
  // The same for a run that waits for its branch's target; others may go on.
  void Reveal(uint64_t ip) {
    if (Waits()) NextIs(ip);
  }
  // The last instruction ended the traced part; `target` is 0 when unknown.
  void Stop(uint64_t target);
  void Event(TraceEvent event);
  void Loss(DataLoss loss);
  // Sends everything that waits.
  void Close();

  // Everything added from now on belongs to `stay`.
  void set_stay(const ThreadStay* stay) {
    if (stay != stay_) Close();
    stay_ = stay;
  }
  void set_tsc(uint64_t tsc) { tsc_ = tsc; }
  // libipt's time, limited to the stay: meanwhile the thread may have been on other CPUs.
  uint64_t tsc() const {
    if (stay_ == nullptr || tsc_ == 0) return tsc_;
    return std::min(std::max(tsc_, stay_->begin_tsc), stay_->end_tsc);
  }
  bool Done() const { return consumer_->Done(); }
  // The mode of the latest kExecMode event; empty before the first.
  std::optional<CodeMode> mode() const { return mode_; }
  // Runs and events that are kept back.
  size_t waiting() const { return waiting_.size() + (lengths_.empty() ? 0 : 1); }
  // Where control stands as far as known, for losses; 0 when not.
  uint64_t position() const { return position_; }

 private:
  bool Waits() const {
    return !lengths_.empty() && ended_ && run_.next == 0 && run_.exit != BlockExit::kStopped;
  }
  void Send(const TraceEvent& event);
  void Begin(const Completed& instruction, const AddressSpace* space);

  ExecutionConsumer* consumer_;
  BlockRun run_;
  std::vector<uint8_t> lengths_;  // of run_; empty: no run at hand
  bool ended_ = false;            // run_'s last instruction is a branch
  uint64_t fall_through_ = 0;     // address behind run_
  std::vector<TraceEvent> waiting_;
  const ThreadStay* stay_ = nullptr;
  uint64_t tsc_ = 0;
  uint64_t position_ = 0;
  std::optional<CodeMode> mode_;
};

}  // namespace flowback::libipt
