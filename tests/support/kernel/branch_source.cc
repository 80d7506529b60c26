// SPDX-License-Identifier: MIT
#include "tests/support/kernel/branch_source.h"

#include <algorithm>

#include "capture/kernel/pmu.h"

namespace flowback::test {
namespace {

constexpr uint64_t kCyclesOfSecond = 1'000'000'000;  // a cycle is a nanosecond
constexpr uint64_t kMostCycles = 0xffff;             // that an entry can hold

struct FilterOfKind {
  InstructionClass kind;
  uint64_t filters;  // those that let it through, besides PERF_SAMPLE_BRANCH_ANY
  unsigned type;     // perf_branch_entry::type
};
constexpr FilterOfKind kFilters[] = {
    {InstructionClass::kConditional, PERF_SAMPLE_BRANCH_COND, PERF_BR_COND},
    {InstructionClass::kJump, 0, PERF_BR_UNCOND},
    {InstructionClass::kCall, PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_CALL, PERF_BR_CALL},
    {InstructionClass::kIndirectJump, PERF_SAMPLE_BRANCH_IND_JUMP, PERF_BR_IND},
    {InstructionClass::kIndirectCall, PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_IND_CALL,
     PERF_BR_IND_CALL},
    {InstructionClass::kReturn, PERF_SAMPLE_BRANCH_ANY_RETURN, PERF_BR_RET},
    {InstructionClass::kFarReturn, PERF_SAMPLE_BRANCH_ANY_RETURN, PERF_BR_SYSRET},
};

const FilterOfKind& FilterOf(InstructionClass kind) {
  static constexpr FilterOfKind kOther{InstructionClass::kOther, 0, PERF_BR_UNKNOWN};
  const auto found = std::ranges::find(kFilters, kind, &FilterOfKind::kind);
  return found == std::end(kFilters) ? kOther : *found;
}

bool IsBranchEvent(const perf_event_attr& attr) {
  return (attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
}

uint64_t PeriodOf(const perf_event_attr& attr) {
  return attr.freq ? kCyclesOfSecond / attr.sample_freq : attr.sample_period;
}

}  // namespace

BranchHardware BranchHardwareOf(const kernel::SystemKernel& kernel) {
  const std::vector<kernel::Pmu> pmus = kernel::ReadPmus(kernel);
  const auto core = std::ranges::find_if(pmus, &kernel::Pmu::of_core);
  if (core == pmus.end()) return {};
  const std::string cpu = kernel.ReadFile("/proc/cpuinfo").value_or("");
  const bool amd = cpu.contains("AuthenticAMD");
  const bool architectural = cpu.contains(" arch_lbr");
  return {.depth = core->Cap("branches"),
          .cycles = !amd,
          .mispredictions = !core->events.contains("branch-brs"),
          .index = !amd && !architectural && core->name == "cpu",
          .hides_kernel = !core->name.starts_with("cpu"),
          .own_event = core->events.contains("branch-brs")};
}

std::vector<SimulatedKernel::Event*> BranchSource::Events() {
  std::vector<SimulatedKernel::Event*> all, here;
  std::vector<int> cpus;
  for (const uint32_t type : {PERF_TYPE_HARDWARE, PERF_TYPE_RAW})
    for (SimulatedKernel::Event* event : kernel_.EventsOf(type)) {
      if (!IsBranchEvent(event->attr)) continue;
      all.push_back(event);
      if (std::ranges::find(cpus, event->cpu) == cpus.end()) cpus.push_back(event->cpu);
    }
  if (cpus.empty()) return all;
  const int cpu = cpus[move_every_ == 0 ? 0 : taken_ / move_every_ % cpus.size()];
  std::ranges::copy_if(all, std::back_inserter(here),
                       [&](const SimulatedKernel::Event* event) { return event->cpu == cpu; });
  return here;
}

bool BranchSource::Go() {
  for (size_t i = 0; i < pace_ && taken_ < flow_.branches.size(); ++i) {
    const FlowBranch& branch = flow_.branches[taken_++];
    kernel_.Elapse(branch.cycles);
    counted_ += hardware_.own_event ? 1 : branch.cycles;
    for (SimulatedKernel::Event* event : Events()) {
      const uint64_t period = PeriodOf(event->attr);
      if (counted_ < period) continue;
      counted_ -= period;
      Sample(*event, period);
    }
  }
  return taken_ < flow_.branches.size();
}

bool BranchSource::Wants(const perf_event_attr& attr, const FlowBranch& branch) const {
  constexpr uint64_t kLevels =
      PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
  const uint64_t wanted = attr.branch_sample_type;
  const bool user =
      (wanted & kLevels) == 0 ? !attr.exclude_user : (wanted & PERF_SAMPLE_BRANCH_USER) != 0;
  return user &&
         ((wanted & PERF_SAMPLE_BRANCH_ANY) != 0 || (wanted & FilterOf(branch.kind).filters) != 0);
}

// Hardware remembers only those that pass its filter.
std::vector<size_t> BranchSource::StackOf(const perf_event_attr& attr) const {
  std::vector<size_t> stack;
  for (size_t i = taken_; i-- > 0 && stack.size() < hardware_.depth;)
    if (Wants(attr, flow_.branches[i])) stack.push_back(i);
  std::ranges::reverse(stack);
  return stack;
}

// Cycles are counted from one branch that is remembered to the next. The oldest has those since the
// branch before it, which is forgotten.
SampleContent BranchSource::ContentOf(const perf_event_attr& attr,
                                      const std::vector<size_t>& stack) const {
  SampleContent content;
  content.ip = flow_.branches[taken_ - 1].to;
  content.hardware_index = hardware_.index ? (taken_ - 1) % hardware_.depth : ~uint64_t{0};
  const bool flags = (attr.branch_sample_type & PERF_SAMPLE_BRANCH_NO_FLAGS) == 0;
  const bool cycles = (attr.branch_sample_type & PERF_SAMPLE_BRANCH_NO_CYCLES) == 0;
  for (size_t i = stack.size(); i-- > 0;) {
    const FlowBranch& branch = flow_.branches[stack[i]];
    uint64_t since = branch.cycles;
    for (size_t before = i == 0 ? stack[i] : stack[i - 1] + 1; before < stack[i]; ++before)
      since += flow_.branches[before].cycles;
    perf_branch_entry entry{};
    const bool hidden = hardware_.hides_kernel && branch.kind == InstructionClass::kFarReturn;
    entry.from = hidden ? 0 : branch.from;
    entry.to = branch.to;
    entry.mispred = hardware_.mispredictions && flags && branch.mispredicted;
    entry.predicted = hardware_.mispredictions && flags && !branch.mispredicted;
    entry.cycles = hardware_.cycles && cycles ? std::min(since, kMostCycles) & kMostCycles : 0;
    if ((attr.branch_sample_type & PERF_SAMPLE_BRANCH_TYPE_SAVE) != 0)
      entry.type = FilterOf(branch.kind).type & 0xf;
    content.branches.push_back(entry);
  }
  return content;
}

void BranchSource::Sample(SimulatedKernel::Event& event, uint64_t period) {
  const std::vector<size_t> stack = StackOf(event.attr);
  SampleContent content = ContentOf(event.attr, stack);
  content.period = period;
  stacks_.push_back(stack);
  kernel_.WriteSample(event, content);
}

}  // namespace flowback::test
