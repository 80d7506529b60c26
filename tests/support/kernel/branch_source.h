// SPDX-License-Identifier: MIT
// Hardware with branch stacks: a CPU that executes a flow which the test knows, remembers its last
// taken branches, and samples them as an event asks for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowback/model/instruction.h"
#include "tests/support/kernel/simulated_kernel.h"

namespace flowback::test {

// The records of one kind of hardware, on the machine of a tree.
struct BranchHardware {
  size_t depth = 0;  // entries
  bool cycles = false;
  bool mispredictions = false;
  bool index = false;         // has the place of the newest entry
  bool hides_kernel = false;  // where a return from the kernel came from
  bool own_event = false;     // the event that is sampled counts taken branches itself
};
BranchHardware BranchHardwareOf(const kernel::SystemKernel& kernel);

// A taken branch of the flow. That a system call returned is one, too, from the kernel
// (kFarReturn): hardware with a filter of levels goes by where a branch leads.
struct FlowBranch {
  size_t at = 0;  // its place among all instructions of the flow; of a return, the system call's
  uint64_t from = 0, to = 0;
  InstructionClass kind{};
  uint32_t cycles = 0;  // since the branch before it
  bool mispredicted = false;
};

struct KnownFlow {
  std::vector<uint64_t> instructions;  // the addresses of all that execute, in order
  std::vector<FlowBranch> branches;    // those of them that were taken, to user code
};

// REQUIRES: on each CPU one event at most has branch stacks.
class BranchSource {
 public:
  // Both must outlive it. `pace`: how many branches it takes each time that the kernel waits.
  BranchSource(SimulatedKernel& kernel, const KnownFlow& flow, size_t pace)
      : kernel_(kernel), flow_(flow), pace_(pace), hardware_(BranchHardwareOf(kernel)) {}

  // The thread moves to the next CPU after every `branches` branches.
  void MoveEvery(size_t branches) { move_every_ = branches; }
  // Executes on. False: the flow is at its end.
  bool Go();

  // The stacks of all samples, as numbers of the flow's branches, the oldest first.
  const std::vector<std::vector<size_t>>& stacks() const { return stacks_; }

 private:
  // Those on the CPU on which the thread is.
  std::vector<SimulatedKernel::Event*> Events();
  void Sample(SimulatedKernel::Event& event, uint64_t period);
  bool Wants(const perf_event_attr& attr, const FlowBranch& branch) const;
  std::vector<size_t> StackOf(const perf_event_attr& attr) const;
  SampleContent ContentOf(const perf_event_attr& attr, const std::vector<size_t>& stack) const;

  SimulatedKernel& kernel_;
  const KnownFlow& flow_;
  const size_t pace_;
  const BranchHardware hardware_;
  size_t move_every_ = 0;
  size_t taken_ = 0;      // of the flow's branches
  uint64_t counted_ = 0;  // of what samples are periods of, since the last sample
  std::vector<std::vector<size_t>> stacks_;
};

}  // namespace flowback::test
