// SPDX-License-Identifier: MIT
#include "decode/branch_stack/stack_flow.h"

#include <algorithm>
#include <span>

#include "base/hex.h"
#include "base/number_bytes.h"
#include "decode/branch_stack/judge.h"

namespace flowback::branch_stack {

struct StackFlow::Kept final : State {
  explicit Kept(uint64_t kept) : at(kept) {}
  uint64_t at;
};

StackFlow::StackFlow(const DecodeInput& input, flow::GraphCache& graphs)
    : input_(input), config_(BranchStackConfigOf(input.config)), graphs_(graphs), at_(input.from) {}

void StackFlow::ReadTo(uint64_t offset, ExecutionConsumer& consumer) {
  while (!at_end() && at_ <= offset && !consumer.Done()) {
    Tell(consumer);
    at_ += kBranchRecordSize;
    if (input_.progress != nullptr) *input_.progress += kBranchRecordSize;
  }
}

std::shared_ptr<const FlowReader::State> StackFlow::Save() { return std::make_shared<Kept>(at_); }

void StackFlow::Return(const State& state) {
  at_ = static_cast<const Kept&>(state).at;
  code_.reset();
}

std::vector<uint8_t> StackFlow::ToBytes(const State& state) const {
  NumberWriter numbers;
  numbers.Number(static_cast<const Kept&>(state).at);
  return numbers.Take();
}

std::shared_ptr<const FlowReader::State> StackFlow::FromBytes(Bytes bytes) {
  NumberReader numbers(bytes);
  const uint64_t at = numbers.Number();
  if (!numbers.ok() || at > input_.bytes.size() || at % kBranchRecordSize != 0) return nullptr;
  return std::make_shared<Kept>(at);
}

std::optional<uint64_t> StackFlow::LastBefore(uint64_t offset) const {
  while (offset > input_.from) {
    offset -= kBranchRecordSize;
    const BranchRecord record = At(offset);
    if (!record.empty() && !record.on_wrong_path()) return offset;
  }
  return std::nullopt;
}

StackFlow::Place StackFlow::PlaceBefore(uint64_t offset) const {
  if (!config_.all_kinds) return {};
  for (; offset > input_.from; offset -= kBranchRecordSize) {
    if (At(offset).begins_stack) return {};
    const BranchRecord before = At(offset - kBranchRecordSize);
    if (!before.empty() && !before.on_wrong_path()) return {.certain = true, .ip = before.to};
  }
  return {};
}

// Some hardware delivers the newest record twice. A loop of one branch looks the same, but there
// the code is straight.
bool StackFlow::IsToldTwice(const BranchRecord& record) const {
  if (!record.ends_stack || at_ == input_.from) return false;
  const BranchRecord before = At(at_ - kBranchRecordSize);
  return before.from == record.from && before.to == record.to;
}

// Linux hands out what leads from the kernel to the program even where the kernel is not recorded.
bool StackFlow::IsHidden(uint64_t address) const {
  return address == 0 || (IsKernelAddress(address) && !config_.levels.kernel.value_or(true));
}

void StackFlow::UseCodeOf(const BranchRecord& record) {
  const auto next = std::ranges::upper_bound(input_.changes, at_, {}, &StayChange::offset);
  stay_ = next == input_.changes.begin() ? nullptr : std::prev(next)->stay;
  const bool own = stay_ != nullptr && stay_->code != nullptr && !stay_->code->epochs.empty();
  const AddressSpaceHistory& history = own ? *stay_->code : *input_.code;
  if (!code_) code_.emplace(history, graphs_);
  code_->Use(history);
  code_->Advance(input_.time.known() ? input_.time.ToNanoseconds(record.time) : record.time, 0);
}

flow::BlockGraph& StackFlow::GraphAt(uint64_t address) {
  flow::BlockGraph& usual = code_->Graph(config_.mode);
  const CodeMapping* mapping = usual.space().Find(address);
  const CodeMode mode =
      mapping == nullptr ? config_.mode : mapping->section->file_mode().value_or(config_.mode);
  return mode == config_.mode ? usual : code_->Graph(mode);
}

void StackFlow::Tell(ExecutionConsumer& consumer) {
  const BranchRecord record = At(at_);
  if (record.empty() || record.on_wrong_path()) {
    ++account_.padding;
    return;
  }
  UseCodeOf(record);
  const Place place = PlaceBefore(at_);
  if (const auto before = place.certain ? std::nullopt : LastBefore(at_)) {
    const BranchRecord last = At(*before);
    TellUnknown(last.to, IsHidden(record.from) ? record.to : record.from, last, consumer);
  }
  if (!config_.readable_code)
    Lose(LossCause::kForeignCode, "", record, place, consumer);
  else if (IsHidden(record.from))
    Resume(record, place, consumer);
  else
    Follow(record, place, consumer);
}

// The program goes on at the record's target.
void StackFlow::Resume(const BranchRecord& record, const Place& place,
                       ExecutionConsumer& consumer) {
  ++account_.decoded;
  if (config_.tiled)
    TellEvent(EventKind::kStarted, record.to, 0, record, consumer);
  else if (place.certain)
    TellUnknown(place.ip, record.to, record, consumer);
}

void StackFlow::Follow(const BranchRecord& record, const Place& place,
                       ExecutionConsumer& consumer) {
  const bool goes_on = place.certain && place.ip != 0;
  if (place.certain && !goes_on) TellUnknown(0, record.from, record, consumer);
  graph_ = &GraphAt(record.from);
  WalkStraight(*graph_, goes_on ? place.ip : record.from, record.from, line_);
  if (line_.broken) return LoseForTheCode(record, place, consumer);
  if (config_.names_compare) PassCompare(record);
  const Judgement judgement = Judge(record, *graph_, line_);
  if (judgement.verdict == Verdict::kContradicts)
    return Lose(judgement.cause, "", record, place, consumer);
  ++account_.decoded;
  if (input_.blocks) TellPassed(record, consumer);
  if (judgement.verdict == Verdict::kBranch)
    TellBranch(record, consumer);
  else
    TellInterrupt(record, consumer);
}

// The record may name the compare ahead of its branch: nothing else can be meant where a
// conditional branch to the record's target comes next.
void StackFlow::PassCompare(const BranchRecord& record) {
  const CodeBlock block = graph_->Block(line_.node);
  const bool comes_next =
      line_.ahead + 2 == block.count && block.last == InstructionClass::kConditional;
  if (!comes_next || graph_->SuccessorAddress(line_.node, 1) != record.to) return;
  ++line_.ahead;
  line_.at_branch = true;
}

BlockRun StackFlow::RunOf(const CodeBlock& block, const BranchRecord& record) const {
  BlockRun run;
  run.address = block.address;
  run.lengths = {block.lengths, block.count};
  run.next = block.address + block.size;
  run.tsc = record.told_time();
  // The sample was taken behind its newest branch. How long ago the others were is not told.
  if (input_.times) run.bounds = {.lo = 0, .hi = record.told_time()};
  run.last = block.last;
  run.exit = ExitOf(block.last, false);
  run.mode = graph_->mode();
  run.in_transaction = record.in_transaction;
  run.space = &graph_->space();
  run.stay = stay_;
  return run;
}

void StackFlow::TellPassed(const BranchRecord& record, ExecutionConsumer& consumer) {
  for (const uint32_t id : line_.passed) consumer.OnBlock(RunOf(graph_->Block(id), record));
}

void StackFlow::TellBranch(const BranchRecord& record, ExecutionConsumer& consumer) {
  const bool stops = record.to == 0;
  if (input_.blocks) {
    BlockRun run = RunOf(graph_->Block(line_.node), record);
    run.exit = stops ? BlockExit::kStopped : BlockExit::kTaken;
    run.next = record.to;
    run.branch = record.facts();
    consumer.OnBlock(run);
  }
  if (stops) TellEvent(EventKind::kStopped, 0, 0, record, consumer);
}

// What lies ahead of the source executed; that did not.
void StackFlow::TellInterrupt(const BranchRecord& record, ExecutionConsumer& consumer) {
  if (input_.blocks && line_.ahead != 0) {
    BlockRun run = RunOf(graph_->Block(line_.node), record);
    run.lengths = run.lengths.first(line_.ahead);
    run.last = InstructionClass::kOther;
    run.exit = BlockExit::kFallThrough;
    run.next = record.from;
    consumer.OnBlock(run);
  }
  const EventKind kind = record.aborted   ? EventKind::kTransactionAbort
                         : record.to == 0 ? EventKind::kStoppedAsync
                                          : EventKind::kInterrupted;
  TellEvent(kind, record.from, record.to, record, consumer);
}

void StackFlow::TellEvent(EventKind kind, uint64_t ip, uint64_t target, const BranchRecord& record,
                          ExecutionConsumer& consumer) {
  TraceEvent event;
  event.kind = kind;
  event.offset = at_;
  event.tsc = record.told_time();
  if (input_.times) event.bounds = {.lo = 0, .hi = record.told_time()};
  event.ip = ip;
  event.has_ip = ip != 0;
  event.target = target;
  event.stay = stay_;
  consumer.OnEvent(event);
}

// `before` is what was certain last: its time is not behind the unknown's begin.
void StackFlow::TellUnknown(uint64_t from, uint64_t to, const BranchRecord& before,
                            ExecutionConsumer& consumer) {
  const BranchRecord record = At(at_);
  UnknownFlow unknown;
  unknown.offset = at_;
  unknown.from = from;
  unknown.to = to;
  unknown.tsc = before.told_time();
  unknown.end_tsc = record.told_time();
  if (input_.times) {
    unknown.bounds = {.lo = 0, .hi = before.told_time()};
    unknown.end_bounds = {.lo = 0, .hi = record.told_time()};
  }
  unknown.stay = stay_;
  consumer.OnUnknown(unknown);
}

void StackFlow::LoseForTheCode(const BranchRecord& record, const Place& place,
                               ExecutionConsumer& consumer) {
  LossCause cause = *line_.broken;
  if (cause == LossCause::kNotStraight && IsToldTwice(record)) cause = LossCause::kRecordTwice;
  Lose(cause, ", at " + Hex(line_.where), record, place, consumer);
}

void StackFlow::Lose(LossCause cause, const std::string& why, const BranchRecord& record,
                     const Place& place, ExecutionConsumer& consumer) {
  ++account_.lost;
  DataLoss loss;
  loss.cause = cause;
  loss.begin = at_;
  loss.end = at_ + kBranchRecordSize;
  loss.tsc = loss.end_tsc = record.told_time();
  if (input_.times) loss.bounds = loss.end_bounds = {.lo = 0, .hi = record.told_time()};
  loss.last_ip = place.certain && place.ip != 0 ? place.ip : record.from;
  loss.detail = "record " + std::to_string(at_ / kBranchRecordSize) + ", " + Hex(record.from) +
                " to " + Hex(record.to) + why;
  loss.stay = stay_;
  const uint64_t where = line_.broken ? line_.where : record.from;
  if (config_.readable_code) loss.code = graph_->space().SectionOrReason(where);
  consumer.OnLoss(loss);
}

}  // namespace flowback::branch_stack
