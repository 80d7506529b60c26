// SPDX-License-Identifier: MIT
#include "replay/values/value_solver.h"

#include "replay/values/kernel_calls.h"

namespace flowback::values {
namespace {

// More rounds than real code needs: each one proves more addresses, and so more memory.
constexpr int kMostRounds = 64;

}  // namespace

ValueSolver::ValueSolver(const ValueGraph& graph, const Surroundings& surroundings)
    : graph_(graph),
      surroundings_(surroundings),
      values_(graph.values()),
      proofs_(graph.values()),
      cells_(graph, surroundings) {}

void ValueSolver::Learn(ValueId value, const KnownBits& bits) {
  KnownBits& known = values_[value];
  if ((bits.known & ~known.known) == 0 && ((bits.value ^ known.value) & bits.known) == 0) return;
  if (!values::Learn(known, bits)) return Contradict();
  gained_ = true;
  if (!known.all()) return;
  // Control comes to a result by its own step, and back to an operand from another one.
  proofs_[value] = {.kind = direction_, .instruction = instruction_};
}

void ValueSolver::LearnSlice(const ValueSlice& slice, const KnownBits& bits) {
  if (slice.value == kNoValue) {
    if (((bits.value ^ slice.constant) & bits.known) != 0) Contradict();
    return;
  }
  const uint64_t mask = LowBits(slice.bits);
  // Above the slice there is nothing.
  if ((bits.value & ~mask) != 0) return Contradict();
  Learn(slice.value,
        {.known = (bits.known & mask) << slice.shift, .value = (bits.value & mask) << slice.shift});
}

void ValueSolver::LearnResult(const GraphStep& step, const KnownBits& bits) {
  if (step.to.value == kNoValue) return;
  const uint64_t mask = LowBits(step.to.bits);
  LearnSlice(step.to, bits.Masked(mask));
}

// The bits of `to` beside those that are written.
void ValueSolver::Merge(const GraphStep& step) {
  if (step.to.value == kNoValue) return;
  const uint64_t written = LowBits(step.to.bits) << step.to.shift;
  if (step.old != kNoValue) {
    Learn(step.to.value, values_[step.old].Masked(~written));
    Learn(step.old, values_[step.to.value].Masked(~written));
  } else if (step.zero_extends) {
    Learn(step.to.value, {.known = ~written, .value = 0});
  }
}

void ValueSolver::Compute(const GraphStep& step) {
  OperationValues all{.a = BitsOf(step.a, values_),
                      .b = BitsOf(step.b, values_),
                      .c = BitsOf(step.c, values_),
                      .result = ResultOf(step),
                      .bits = step.bits,
                      .condition = step.condition};
  all.same = step.a.value != kNoValue && step.a.value == step.b.value &&
             step.a.shift == step.b.shift && step.a.bits == step.b.bits;
  if (IsOfFlags(step.operation)) all.result = values_[step.to.value];
  // Twice: the operands may prove more of each other through the result.
  Refine(step.operation, all);
  Refine(step.operation, all);
  if (all.conflict) return Contradict();
  direction_ = ProofKind::kBackward;
  LearnSlice(step.a, all.a);
  LearnSlice(step.b, all.b);
  LearnSlice(step.c, all.c);
  direction_ = ProofKind::kForward;
  LearnResult(step, all.result);
}

// base + index * scale + displacement, cut to the address's bits.
void ValueSolver::Address(const GraphStep& step) {
  const GraphAddress& address = graph_.addresses[step.address];
  const KnownBits base = BitsOf(address.base, values_);
  const KnownBits index = BitsOf(address.index, values_);
  const KnownBits segment = BitsOf(address.segment, values_);
  if (!segment.all()) return;
  const uint64_t scale = address.scale == 0 ? 1 : address.scale;
  const auto shift = static_cast<unsigned>(__builtin_ctzll(scale));
  const KnownBits scaled{.known = index.known << shift | LowBits(shift),
                         .value = index.value << shift};
  const uint64_t rest = address.displacement;
  const uint64_t mask = LowBits(address.bits);
  const KnownBits whole = Difference(ResultOf(step), Proven(segment.value));
  direction_ = ProofKind::kBackward;
  const KnownBits sum = Difference(whole, Proven(rest));
  LearnSlice(address.base, Difference(sum, scaled).Masked(mask));
  const KnownBits part = Difference(sum, base).Masked(mask);
  LearnSlice(address.index, {.known = part.known >> shift, .value = part.value >> shift});
  direction_ = ProofKind::kForward;
  const KnownBits made = Sum(Sum(base, scaled), Proven(rest)).ZeroExtended(address.bits);
  LearnResult(step, Sum(made, Proven(segment.value)));
}

// A load's or store's value and the bytes in memory are equal.
void ValueSolver::Transfer(uint32_t number, const ValueSlice& slice, bool is_load) {
  const GraphStep& step = graph_.steps[number];
  const MemoryCells::Bytes* bytes = cells_.BytesOf(number);
  if (bytes == nullptr || step.bits > 8) return;
  direction_ = is_load ? ProofKind::kForward : ProofKind::kBackward;
  KnownBits whole = BitsOf(slice, values_);
  for (unsigned i = 0; i < step.bits && i * 8U < slice.bits; ++i) {
    if ((*bytes)[i] == MemoryCells::kNoCell) continue;
    MemoryCell& cell = cells_[(*bytes)[i]];
    const unsigned shift = i * 8;
    const KnownBits of_cell = cell.bits.Masked(0xff);
    KnownBits mine{.known = whole.known >> shift & 0xff, .value = whole.value >> shift & 0xff};
    if (!values::Learn(cell.bits, mine)) return Contradict();
    LearnSlice(slice, {.known = of_cell.known << shift, .value = of_cell.value << shift});
  }
}

void ValueSolver::Outcome(const GraphStep& step) {
  OperationValues outcome{
      .a = BitsOf(step.a, values_), .result = Proven(step.constant), .condition = step.condition};
  Refine(StepOperation::kCondition, outcome);
  if (outcome.conflict) return Contradict();
  direction_ = ProofKind::kBackward;
  LearnSlice(step.a, outcome.a);
}

void ValueSolver::KeepBase(const GraphStep& step) {
  const KnownBits number = BitsOf(step.a, values_);
  if (!number.all() || MaySetBases(number.value, graph_.mode)) return;
  direction_ = ProofKind::kBackward;
  Learn(step.old, values_[step.to.value]);
  direction_ = ProofKind::kForward;
  Learn(step.to.value, values_[step.old]);
}

void ValueSolver::Sweep(uint32_t number) {
  const GraphStep& step = graph_.steps[number];
  instruction_ = step.instruction;
  direction_ = ProofKind::kForward;
  switch (step.kind) {
    case GraphStep::Kind::kCompute:
      Merge(step);
      return Compute(step);
    case GraphStep::Kind::kMerge:
      return Merge(step);
    case GraphStep::Kind::kAddress:
      Merge(step);
      return Address(step);
    case GraphStep::Kind::kLoad:
      Merge(step);
      return Transfer(number, step.to, true);
    case GraphStep::Kind::kStore:
    case GraphStep::Kind::kStoreIf:
      return Transfer(number, step.a, false);
    case GraphStep::Kind::kOutcome:
      return Outcome(step);
    case GraphStep::Kind::kEqual:
      direction_ = ProofKind::kBackward;
      return LearnSlice(step.a, Proven(step.constant).Masked(step.mask & LowBits(step.a.bits)));
    case GraphStep::Kind::kKeepBase:
      return KeepBase(step);
    case GraphStep::Kind::kSame:
      direction_ = ProofKind::kBackward;
      Learn(step.old, values_[step.to.value]);
      direction_ = ProofKind::kForward;
      return Learn(step.to.value, values_[step.old]);
    case GraphStep::Kind::kForget:
    case GraphStep::Kind::kForgetPart:
    case GraphStep::Kind::kSystemCall:
      return;
  }
}

void ValueSolver::LearnStates() {
  direction_ = ProofKind::kState;
  for (const ValueId value : graph_.narrow) Learn(value, {.known = ~LowBits(32), .value = 0});
  // AArch64 has no parity.
  const bool has_parity = graph_.mode != CodeMode::kAArch64;
  for (const KnownState& state : surroundings_.states) {
    instruction_ = state.point;
    for (const auto& [number, value] : state.registers)
      if (const size_t index = FollowedIndex(number); index != kNotFollowed) {
        const bool hides = number == step_register::kFlags && !has_parity;
        Learn(graph_.registers[state.point][index],
              Proven(value).Masked(hides ? ~flag::kParity : ~uint64_t{0}));
      }
  }
}

void ValueSolver::Solve() {
  LearnStates();
  const auto count = static_cast<uint32_t>(graph_.steps.size());
  gained_ = true;
  for (int round = 0; round < kMostRounds && gained_ && !contradiction_; ++round) {
    gained_ = false;
    if (!cells_.Link(values_)) return Contradict();
    for (uint32_t step = count; step-- != 0 && !contradiction_;) Sweep(step);
    for (uint32_t step = 0; step < count && !contradiction_; ++step) Sweep(step);
  }
}

}  // namespace flowback::values
