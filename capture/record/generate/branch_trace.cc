// SPDX-License-Identifier: MIT
#include "capture/record/generate/branch_trace.h"

#include <algorithm>

namespace flowback::record {
namespace {

// perf_branch_entry::flags.
constexpr unsigned kCyclesShift = 4;
constexpr uint64_t kMostBranchCycles = 0xffff;
constexpr unsigned kTypeShift = 20;
constexpr unsigned kPrivilegeShift = 30;
constexpr uint64_t kUserPrivilege = 1;

}  // namespace

BranchKind KindOfBranch(InstructionClass instruction) {
  switch (instruction) {
    case InstructionClass::kConditional:
      return BranchKind::kConditional;
    case InstructionClass::kJump:
      return BranchKind::kJump;
    case InstructionClass::kCall:
      return BranchKind::kCall;
    case InstructionClass::kIndirectJump:
      return BranchKind::kIndirectJump;
    case InstructionClass::kIndirectCall:
      return BranchKind::kIndirectCall;
    case InstructionClass::kReturn:
      return BranchKind::kReturn;
    default:
      return BranchKind::kNotTold;
  }
}

BranchEntry MakeBranchEntry(uint64_t from, uint64_t to, BranchKind kind, uint64_t cycles) {
  return {.from = from,
          .to = to,
          .flags = std::min(cycles, kMostBranchCycles) << kCyclesShift |
                   static_cast<uint64_t>(kind) << kTypeShift | kUserPrivilege << kPrivilegeShift};
}

void BranchTrace::Begin(uint64_t ip) {
  if (on_) return;
  on_ = true;
  Add(0, ip, BranchKind::kExceptionReturn);
}

void BranchTrace::Branched(uint64_t ip, InstructionClass instruction, uint64_t target) {
  Add(ip, target, KindOfBranch(instruction));
}

void BranchTrace::LeftForKernel(uint64_t ip) {
  if (!on_) return;
  if (ip != 0) Add(ip, 0, BranchKind::kSystemCall);
  EndStack(ip, ip == 0 ? BranchEntry::kHole : 0);
  on_ = false;
  clock_.Publish();
}

void BranchTrace::Interrupted(uint64_t ip) {
  if (!on_) return;
  Add(ip, 0, BranchKind::kInterrupt);
  EndStack(ip);
  on_ = false;
  clock_.Publish();
}

void BranchTrace::Lost(uint64_t ip) {
  if (on_) EndStack(ip, BranchEntry::kHole);
  on_ = false;
  Begin(ip);
}

// The newest branch was written just now, after later work, but it is older.
void BranchTrace::Sync(uint64_t ip) {
  last_time_ = before_last_time_;
  EndStack(ip);
}

void BranchTrace::Add(uint64_t from, uint64_t to, BranchKind kind) {
  const uint64_t now = clock_.Now();
  // The time spent in the kernel is unknown.
  const uint64_t cycles = last_time_ == 0 || from == 0 ? 0 : now - last_time_;
  before_last_time_ = last_time_ == 0 ? now : last_time_;
  last_time_ = now;
  entries_.push_back(MakeBranchEntry(from, to, kind, cycles));
  if (++in_stack_ == depth_) EndStack(to != 0 ? to : from);
}

// Uses the time of the newest branch: later work has later times. A hole is written even without an
// entry before it.
void BranchTrace::EndStack(uint64_t ip, uint64_t flags) {
  if (in_stack_ == 0 && flags == 0) return;
  entries_.push_back({.from = last_time_, .to = ip, .flags = BranchEntry::kStackEnds | flags});
  in_stack_ = 0;
}

}  // namespace flowback::record
