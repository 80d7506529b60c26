// SPDX-License-Identifier: MIT
#include "decode/branch_stack/stack_flow.h"

#include <algorithm>
#include <span>

#include "base/hex.h"
#include "base/number_bytes.h"
#include "decode/branch_stack/judge.h"

namespace flowback::branch_stack {
namespace {

// "record 12, 0x401000 to 0x401020, at 0x401010". There may be very many: one piece of memory each.
std::string DetailOf(const BranchRecord& record, uint64_t number, std::optional<uint64_t> where) {
  std::string detail;
  detail.reserve(96);
  detail.append("record ").append(std::to_string(number)).append(", ");
  AppendHex(record.from, detail);
  AppendHex(record.to, detail.append(" to "));
  if (where) AppendHex(*where, detail.append(", at "));
  return detail;
}

}  // namespace

struct StackFlow::Kept final : State {
  explicit Kept(uint64_t kept) : at(kept) {}
  uint64_t at;
};

StackFlow::StackFlow(const DecodeInput& input, LearnedCode& learned)
    : input_(input),
      config_(BranchStackConfigOf(input.config)),
      learned_(learned),
      records_(input.bytes, input.joined),
      at_(input.from) {}

// From here to ReadTo is what every record needs: the compiler puts it into one loop.

// Linux hands out what leads from the kernel to the program even where the kernel is not recorded.
inline bool StackFlow::IsHidden(uint64_t address) const {
  return address == 0 || (IsKernelAddress(address) && !config_.levels.kernel.value_or(true));
}

inline void StackFlow::TellLine(std::span<const uint32_t> passed, uint32_t node, uint32_t number,
                                const BranchRecord& record, ExecutionConsumer& consumer) {
  ++account_.decoded;
  const bool stops = record.to == 0;
  if (input_.blocks && input_.only_branches) {
    if (record.told_time() != branches_tsc_) TellBranches(consumer);
    branches_tsc_ = record.told_time();
    if (!stops)
      branches_.push_back(
          {.from = record.from, .to = record.to, .facts = record.facts(), .number = number});
    if (record.ends_stack) TellBranches(consumer);
  } else if (input_.blocks) {
    TellPassed(passed, record, consumer);
    TellTaken(node, record, consumer);
  }
  if (stops) TellEvent(EventKind::kStopped, 0, 0, record, consumer);
}

// The record may name the compare ahead of its branch: nothing else can be meant where a
// conditional branch to the record's target comes next.
void StackFlow::PassCompare(const BranchRecord& record) {
  const CodeBlock block = graph_->Block(line_.node);
  const bool comes_next =
      line_.ahead + 2 == block.count && block.last == InstructionClass::kConditional;
  if (!comes_next) return;
  if (!record.not_taken && graph_->SuccessorAddress(line_.node, 1) != record.to) return;
  ++line_.ahead;
  line_.at_branch = true;
}

BlockRun StackFlow::RunOf(const CodeBlock& block, const BranchRecord& record) const {
  BlockRun run;
  run.address = block.address;
  run.lengths = {block.lengths, block.count};
  run.next = block.address + block.size;
  run.tsc = record.told_time();
  // The sample was taken behind its newest branch. The age of the others is unknown.
  if (input_.times) run.bounds = {.lo = 0, .hi = record.told_time()};
  run.last = block.last;
  run.exit = ExitOf(block.last, false);
  run.mode = graph_->mode();
  run.in_transaction = record.in_transaction;
  run.space = &graph_->space();
  run.stay = stay_;
  return run;
}

inline void StackFlow::TellKnown(const KnownLine& known, const BranchRecord& record,
                                 ExecutionConsumer& consumer) {
  if (totals_ != nullptr) {
    ++account_.decoded;
    totals_->OnLine(known, record.told_time(), stay_);
    if (record.to == 0) TellEvent(EventKind::kStopped, 0, 0, record, consumer);
    return;
  }
  graph_ = known.graph;
  TellLine(learned_.lines.Passed(known), known.node, known.number, record, consumer);
}

inline void StackFlow::Follow(const BranchRecord& record, ExecutionConsumer& consumer) {
  const bool goes_on = place_.certain && place_.ip != 0;
  if (place_.certain && !goes_on) TellUnknown(0, record.from, record.told_time(), record, consumer);
  if (goes_on && place_.ip == record.from && IsAsynchronous(record)) [[unlikely]]
    return TellArrival(record, consumer);
  const LineMemo::Key key{.begin = goes_on ? place_.ip : record.from,
                          .from = record.from,
                          .to = record.to,
                          .code = LineMemo::WithKind(code_number_, record.kind)};
  const KnownLine* const known = record.aborted ? nullptr : learned_.lines.Find(key);
  if (known == nullptr) return Walk(record, key, consumer);
  TellKnown(*known, record, consumer);
}

inline void StackFlow::TellRecord(const BranchRecord& record, ExecutionConsumer& consumer) {
  const bool hidden = IsHidden(record.from);
  if (!place_.certain && last_.known)
    TellUnknown(last_.to, hidden ? record.to : record.from, last_.time, record, consumer);
  if (!config_.readable_code)
    Lose(LossCause::kForeignCode, {}, record, consumer);
  else if (hidden)
    Resume(record, consumer);
  else if (record.not_taken)
    FollowPassed(record, consumer);
  else
    Follow(record, consumer);
}

inline void StackFlow::Tell(ExecutionConsumer& consumer) {
  const BranchRecord& record = records_.At(at_);  // no other one is asked for but the one before
  if (record.begins_stack) place_ = {};
  if (record.empty() || record.on_wrong_path()) {
    ++account_.padding;
    return;
  }
  if (!code_is_known_ || record.time != code_time_ || at_ >= next_change_) UseCodeOf(record);
  if (place_.passed) place_ = {.certain = true, .ip = BehindBranch(place_.ip)};
  TellRecord(record, consumer);
  place_ = PlaceAfter(record, config_.all_kinds);
  last_ = {.known = true, .to = record.led_to(), .time = record.told_time()};
}

void StackFlow::ReadTo(uint64_t offset, ExecutionConsumer& consumer) {
  constexpr uint64_t kNotedAtATime = 1024 * kBranchRecordSize;
  uint64_t noted = at_;
  while (!at_end() && at_ <= offset && !consumer.Done()) {
    Tell(consumer);
    at_ += kBranchRecordSize;
    if (at_ - noted < kNotedAtATime) continue;
    NoteProgress(noted);
    noted = at_;
  }
  TellBranches(consumer);
  NoteProgress(noted);
}

std::shared_ptr<const FlowReader::State> StackFlow::Save() { return std::make_shared<Kept>(at_); }

void StackFlow::Return(const State& state) {
  at_ = static_cast<const Kept&>(state).at;
  code_.reset();
  code_is_known_ = false;
  FindPlace();
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

// Finds the place from the records before `at_`, the last one first.
void StackFlow::FindPlace() {
  place_ = {};
  last_ = {};
  bool same_stack = config_.all_kinds && !at_end() && !records_.At(at_).begins_stack;
  for (uint64_t at = at_; at > input_.from;) {
    at -= kBranchRecordSize;
    const BranchRecord& before = records_.At(at);
    if (!before.empty() && !before.on_wrong_path()) {
      last_ = {.known = true, .to = before.led_to(), .time = before.told_time()};
      if (same_stack) place_ = PlaceAfter(before, true);
      return;
    }
    same_stack = same_stack && !before.begins_stack;
  }
}

// Some hardware delivers the newest record twice. A loop of one branch looks the same, but there
// the code is straight.
bool StackFlow::IsToldTwice(const BranchRecord& record) {
  if (!record.ends_stack || at_ == input_.from) return false;
  const BranchRecord& before = records_.At(at_ - kBranchRecordSize);
  return before.from == record.from && before.to == record.to;
}

void StackFlow::UseCodeOf(const BranchRecord& record) {
  const auto next = std::ranges::upper_bound(input_.changes, at_, {}, &StayChange::offset);
  stay_ = next == input_.changes.begin() ? nullptr : std::prev(next)->stay;
  const bool own = stay_ != nullptr && stay_->code != nullptr && !stay_->code->epochs.empty();
  const AddressSpaceHistory& history = own ? *stay_->code : *input_.code;
  if (!code_) code_.emplace(history, learned_.graphs);
  code_->Use(history);
  code_->Advance(input_.time.known() ? input_.time.ToNanoseconds(record.time) : record.time, 0);
  code_number_ = learned_.lines.CodeNumber(code_->Graph(config_.mode), config_.names_compare);
  next_change_ = next == input_.changes.end() ? ~uint64_t{0} : next->offset;
  code_time_ = record.time;
  code_is_known_ = true;
}

flow::BlockGraph& StackFlow::GraphAt(uint64_t address) {
  flow::BlockGraph& usual = code_->Graph(config_.mode);
  const CodeMapping* mapping = usual.space().Find(address);
  const CodeMode mode =
      mapping == nullptr ? config_.mode : mapping->section->file_mode().value_or(config_.mode);
  return mode == config_.mode ? usual : code_->Graph(mode);
}

// The program goes on at the record's target.
void StackFlow::Resume(const BranchRecord& record, ExecutionConsumer& consumer) {
  ++account_.decoded;
  if (config_.tiled)
    TellEvent(EventKind::kStarted, record.to, 0, record, consumer);
  else if (place_.certain)
    TellUnknown(place_.ip, record.to, record.told_time(), record, consumer);
}

void StackFlow::Walk(const BranchRecord& record, const LineMemo::Key& key,
                     ExecutionConsumer& consumer) {
  graph_ = &GraphAt(record.from);
  WalkStraight(*graph_, key.begin, record.from, line_);
  if (line_.broken) return LoseForTheCode(record, consumer);
  if (config_.names_compare) PassCompare(record);
  const Judgement judgement = Judge(record, *graph_, line_);
  if (judgement.verdict == Verdict::kContradicts)
    return Lose(judgement.cause, {}, record, consumer);
  if (judgement.verdict == Verdict::kBranch) {
    if (const KnownLine* const known = learned_.lines.Add(key, *graph_, line_))
      return TellKnown(*known, record, consumer);
    return TellLine(line_.passed, line_.node, TakenBranch::kNoNumber, record, consumer);
  }
  ++account_.decoded;
  if (input_.blocks && !input_.only_branches) TellPassed(line_.passed, record, consumer);
  TellInterrupt(record, consumer);
}

// Where control goes on behind a branch that was not taken, the code says, not the record: so a
// state is where it stands, whichever code was read before.
StackFlow::Place StackFlow::PlaceAfter(const BranchRecord& record, bool certain) {
  if (!certain) return {};
  if (!record.not_taken) return {.certain = true, .ip = record.to};
  return {.certain = true, .ip = record.from, .passed = record.from != 0};
}

// Returns 0 if no code is known there. A record may name the compare ahead of its branch.
uint64_t StackFlow::BehindBranch(uint64_t address) {
  flow::BlockGraph& graph = GraphAt(address);
  const uint32_t id = graph.NodeAt(address);
  const flow::NodeKind kind = graph.node(id).kind;
  if (kind == flow::NodeKind::kNoImage || kind == flow::NodeKind::kBadInstruction) return 0;
  const CodeBlock block = graph.Block(id);
  const bool is_compare =
      config_.names_compare && block.count == 2 && block.last == InstructionClass::kConditional;
  return block.address + (is_compare ? block.size : block.lengths[0]);
}

std::optional<LossCause> StackFlow::ContradictionOf(const BranchRecord& passed) const {
  if (!line_.at_branch) return LossCause::kNoBranchThere;
  if (graph_->node(line_.node).last != InstructionClass::kConditional) return LossCause::kOtherKind;
  const bool known = passed.to == 0 || passed.to == graph_->SuccessorAddress(line_.node, 0) ||
                     passed.to == graph_->SuccessorAddress(line_.node, 1);
  return known ? std::nullopt : std::optional(LossCause::kOtherTarget);
}

// They are few: no line of theirs is known by heart.
void StackFlow::FollowPassed(const BranchRecord& record, ExecutionConsumer& consumer) {
  const bool goes_on = place_.certain && place_.ip != 0;
  if (place_.certain && !goes_on) TellUnknown(0, record.from, record.told_time(), record, consumer);
  graph_ = &GraphAt(record.from);
  WalkStraight(*graph_, goes_on ? place_.ip : record.from, record.from, line_);
  if (line_.broken) return LoseForTheCode(record, consumer);
  if (config_.names_compare) PassCompare(record);
  if (const auto cause = ContradictionOf(record)) return Lose(*cause, {}, record, consumer);
  ++account_.decoded;
  TellPassedBranch(record, consumer);
}

void StackFlow::TellPassedBranch(const BranchRecord& record, ExecutionConsumer& consumer) {
  if (!input_.blocks) return;
  if (input_.only_branches) {
    if (record.ends_stack) TellBranches(consumer);
    return;
  }
  TellPassed(line_.passed, record, consumer);
  BlockRun run = RunOf(graph_->Block(line_.node), record);
  run.branch = record.facts();
  consumer.OnBlock(run);
}

void StackFlow::TellBranches(ExecutionConsumer& consumer) {
  if (branches_.empty()) return;
  consumer.OnBranches(branches_, branches_tsc_);
  branches_.clear();
}

void StackFlow::TellPassed(std::span<const uint32_t> passed, const BranchRecord& record,
                           ExecutionConsumer& consumer) {
  for (const uint32_t id : passed) consumer.OnBlock(RunOf(graph_->Block(id), record));
}

void StackFlow::TellTaken(uint32_t node, const BranchRecord& record, ExecutionConsumer& consumer) {
  BlockRun run = RunOf(graph_->Block(node), record);
  run.exit = record.to == 0 ? BlockExit::kStopped : BlockExit::kTaken;
  run.next = record.to;
  run.branch = record.facts();
  consumer.OnBlock(run);
}

// Instructions before the source executed; the source itself did not.
void StackFlow::TellInterrupt(const BranchRecord& record, ExecutionConsumer& consumer) {
  if (input_.blocks && !input_.only_branches && line_.ahead != 0) {
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

// Nothing executed since the branch before: control need not have come to code.
void StackFlow::TellArrival(const BranchRecord& record, ExecutionConsumer& consumer) {
  ++account_.decoded;
  line_.ahead = 0;
  TellInterrupt(record, consumer);
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
  TellBranches(consumer);
  consumer.OnEvent(event);
}

// `since`: the time of the last certain place.
void StackFlow::TellUnknown(uint64_t from, uint64_t to, uint64_t since, const BranchRecord& record,
                            ExecutionConsumer& consumer) {
  UnknownFlow unknown;
  unknown.offset = at_;
  unknown.from = from;
  unknown.to = to;
  unknown.tsc = since;
  unknown.end_tsc = record.told_time();
  if (input_.times) {
    unknown.bounds = {.lo = 0, .hi = since};
    unknown.end_bounds = {.lo = 0, .hi = record.told_time()};
  }
  unknown.stay = stay_;
  TellBranches(consumer);
  consumer.OnUnknown(unknown);
}

void StackFlow::LoseForTheCode(const BranchRecord& record, ExecutionConsumer& consumer) {
  LossCause cause = *line_.broken;
  if (cause == LossCause::kNotStraight && IsToldTwice(record)) cause = LossCause::kRecordTwice;
  Lose(cause, line_.where, record, consumer);
}

void StackFlow::Lose(LossCause cause, std::optional<uint64_t> where, const BranchRecord& record,
                     ExecutionConsumer& consumer) {
  ++account_.lost;
  DataLoss loss;
  loss.cause = cause;
  loss.begin = at_;
  loss.end = at_ + kBranchRecordSize;
  loss.tsc = loss.end_tsc = record.told_time();
  if (input_.times) loss.bounds = loss.end_bounds = {.lo = 0, .hi = record.told_time()};
  loss.last_ip = place_.certain && place_.ip != 0 ? place_.ip : record.from;
  loss.detail = DetailOf(record, at_ / kBranchRecordSize, where);
  loss.stay = stay_;
  if (config_.readable_code)
    loss.code = graph_->space().SectionOrReason(where.value_or(record.from));
  TellBranches(consumer);
  consumer.OnLoss(loss);
}

}  // namespace flowback::branch_stack
