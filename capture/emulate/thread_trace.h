// SPDX-License-Identifier: MIT
// What a thread's trace is made of: packets of Intel PT, or branch stacks.
#pragma once

#include <cstdint>
#include <optional>

#include "capture/record/generate/branch_trace.h"
#include "capture/record/generate/packet_generator.h"

namespace flowback::emulate {

// Each function forwards to the active one; record::PacketGenerator documents them. Where it is
// branches there are no outcomes that may be held back.
class ThreadTrace {
 public:
  // `branch_depth`: of the stacks; 0: packets.
  ThreadTrace(const record::PtSettings& settings, const record::TraceClock& clock,
              const uint64_t& executed, uint32_t branch_depth)
      : packets_(settings, clock, executed) {
    if (branch_depth != 0) branches_.emplace(branch_depth, packets_.clock());
  }

  bool is_branches() const { return branches_.has_value(); }
  bool on() const { return branches_ ? branches_->on() : packets_.on(); }
  record::ThreadClock& clock() { return packets_.clock(); }
  Bytes bytes() const { return branches_ ? branches_->bytes() : packets_.bytes(); }
  void Discard() { branches_ ? branches_->Discard() : packets_.Discard(); }

  void Begin(uint64_t ip, CodeMode mode) {
    branches_ ? branches_->Begin(ip) : packets_.Begin(ip, mode);
  }
  void BlockEnded(const Instruction& last, uint64_t ip, bool taken, uint64_t next, CodeMode mode) {
    if (!branches_) return packets_.BlockEnded(last, ip, taken, next, mode);
    if (taken) branches_->Branched(ip, last.kind, next);
  }
  // A direct jump, or a call that acts as one: it needs no packet.
  void Jumped(const Instruction& last, uint64_t ip, uint64_t next) {
    if (branches_) branches_->Branched(ip, last.kind, next);
  }
  // By the instruction at `ip`; 0: it is not known by which.
  void LeftForKernel(uint64_t ip) {
    branches_ ? branches_->LeftForKernel(ip) : packets_.LeftForKernel();
  }
  void Interrupted(uint64_t ip) {
    branches_ ? branches_->Interrupted(ip) : packets_.Interrupted(ip);
  }
  void Faulted(uint64_t ip, CodeMode mode) {
    if (!branches_) return packets_.Faulted(ip, mode);
    branches_->Begin(ip);
    branches_->Interrupted(ip);
  }
  void Lost(uint64_t ip, CodeMode mode) {
    branches_ ? branches_->Lost(ip) : packets_.Lost(ip, mode);
  }
  // Branch stacks record each branch, so they need no count.
  void TellCount() {
    if (!branches_) packets_.TellCount();
  }
  void TellAddress(const pt::LockAddress& address) {
    if (!branches_) packets_.TellAddress(address);
  }
  void Sync(uint64_t ip, CodeMode mode) {
    branches_ ? branches_->Sync(ip) : packets_.Sync(ip, mode);
  }

  // For packets only.
  void StartElsewhere() { packets_.StartElsewhere(); }
  void SetPending(pt::PendingTnt pending) { packets_.SetPending(pending); }
  pt::PendingTnt pending() const { return packets_.pending(); }
  void Called(uint64_t return_address) { packets_.Called(return_address); }
  bool ReturnIsOutcome(uint64_t target) { return packets_.ReturnIsOutcome(target); }

 private:
  record::PacketGenerator packets_;
  std::optional<record::BranchTrace> branches_;
};

}  // namespace flowback::emulate
