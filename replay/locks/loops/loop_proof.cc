// SPDX-License-Identifier: MIT
#include "replay/locks/loops/loop_proof.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "decode/instruction/classify.h"
#include "decode/instruction/effects.h"
#include "flowback/decode/code_image.h"

namespace flowback {
namespace {

// Instructions from one place up to the next one that may lead elsewhere.
struct Stretch {
  TripPart part;
  uint64_t end = 0;         // the address after the last instruction
  uint64_t last = 0;        // of that one
  uint64_t target = 0;      // of a jump; 0: it has none
  uint64_t callee = 0;      // of a call; 0: it has none
  bool goes_on = false;     // the flow may go on behind it
  bool returns = false;     // its last instruction is a return
  bool branches = false;    // its last instruction may lead elsewhere
  bool is_call = false;     // and comes back
  bool is_unclear = false;  // what lies here, or where it leads, decides nothing
  bool leads_back = false;  // some way leads from it to the loop's jump
  bool may_return = false;  // some way leads from it to where its function returns
};

// A call that is under way on a way round the loop.
struct OpenCall {
  uint64_t callee = 0;
  uint64_t end = 0;     // where it returns to
  unsigned number = 0;  // of the calls so far
};

// The bytes from there on, in the same file as `within`: the dynamic linker's stores would not
// count.
Bytes CodeFrom(const AddressSpace* space, uint64_t address, uint64_t within) {
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(address);
  const CodeMapping* own = space == nullptr ? nullptr : space->Find(within);
  if (mapping == nullptr || own == nullptr || mapping->section != own->section) return {};
  const uint64_t offset = mapping->section_offset + (address - mapping->address);
  const Bytes bytes = mapping->section->bytes();
  if (offset >= bytes.size()) return {};
  return bytes.subspan(offset,
                       std::min(bytes.size() - offset, mapping->address + mapping->size - address));
}

}  // namespace

class LoopProof {
 public:
  explicit LoopProof(const LoopBlock& block) : block_(block) {}
  // By the ways in the graph alone; those that it lacks are added to `untaken`.
  LoopProof(const LoopBlock& block, const StepGraph& graph,
            std::vector<ProofByWays::Untaken>& untaken)
      : block_(block), graph_(&graph), untaken_(&untaken) {}

  bool Holds() {
    if (!Explore()) return false;
    FindWaysBack();
    const auto may_wait = [](const auto& each) {
      return each.second.is_unclear && each.second.leads_back;
    };
    if (std::ranges::any_of(stretches_, may_wait)) return false;
    // A loop that is round by no way of its code is not understood. The ways that were gone so far
    // may well be none.
    if (!stretches_.at(block_.target).leads_back) return graph_ != nullptr;
    return AreAllWork(block_.target);
  }

 private:
  static constexpr size_t kMostStretches = 256;
  static constexpr size_t kMostParts = 64;  // of a way
  static constexpr unsigned kMostWays = 128;
  static constexpr size_t kMostInstructions = 256;  // of a stretch, as of a block
  static constexpr size_t kMostCalls = 8;           // within one another

  bool Explore();
  Stretch Read(uint64_t address) const;
  bool ReadNext(Bytes code, Stretch& stretch) const;
  bool IsTaken(const Stretch& stretch, uint8_t way);
  void LeaveOutUntaken(Stretch& stretch);
  void FindWaysBack();
  // A trip begins where the flow came to the jump's target last.
  bool LeadsBack(uint64_t address) const {
    if (address == block_.target) return false;
    const auto found = stretches_.find(address);
    return found != stretches_.end() && found->second.leads_back;
  }
  bool MayReturn(uint64_t address) const {
    const auto found = stretches_.find(address);
    return found != stretches_.end() && found->second.may_return;
  }
  bool IsEnd(const Stretch& stretch) const { return stretch.last == block_.branch; }
  bool FindWays(Stretch& stretch) const;
  bool IsOnWay(uint64_t address) const;
  unsigned Call() const { return calls_.empty() ? 0 : calls_.back().number; }
  // Whether the way may go on there, in the call that is under way.
  bool Leads(uint64_t address) const {
    return calls_.empty() ? LeadsBack(address) : MayReturn(address);
  }
  bool AreWork(uint64_t address) { return !Leads(address) || AreAllWork(address); }
  bool AreAllWork(uint64_t address);
  bool GoOn(const Stretch& stretch);
  bool IsTripWork();
  bool GoInto(const Stretch& call);
  bool GoBack();

  const LoopBlock& block_;
  const StepGraph* graph_ = nullptr;  // null: all ways that the code has count
  std::vector<ProofByWays::Untaken>* untaken_ = nullptr;
  std::map<uint64_t, Stretch> stretches_;  // by the first instruction's address
  std::vector<TripPart> way_;
  std::vector<unsigned> call_of_part_;  // of the parts of the way: OpenCall::number; 0: the loop's
  std::vector<OpenCall> calls_;
  unsigned begun_ = 0;  // calls
  unsigned ways_ = 0;
};

// What executes between the jump's target and the jump. False: it is too much.
bool LoopProof::Explore() {
  std::vector<uint64_t> open{block_.target};
  for (size_t i = 0; i < open.size(); ++i) {
    const auto [at, is_new] = stretches_.try_emplace(open[i]);
    if (!is_new) continue;
    if (stretches_.size() > kMostStretches) return false;
    at->second = Read(open[i]);
    if (IsEnd(at->second)) continue;
    if (graph_ != nullptr) LeaveOutUntaken(at->second);
    for (const uint64_t next : {at->second.target, at->second.callee})
      if (next != 0) open.push_back(next);
    if (at->second.goes_on) open.push_back(at->second.end);
  }
  return true;
}

Stretch LoopProof::Read(uint64_t address) const {
  const Bytes code = CodeFrom(block_.space, address, block_.target);
  Stretch stretch{.part = {.address = address, .code = {}, .mode = block_.mode}, .end = address};
  for (size_t count = 0; ReadNext(code.subspan(stretch.end - address), stretch); ++count) {
    stretch.is_unclear = count == kMostInstructions;
    if (stretch.is_unclear || stretch.end == block_.target) break;
  }
  stretch.part.code = code.first(stretch.end - address);
  return stretch;
}

// Returns whether the next instruction follows. Where one stores, or returns, the way ends.
bool LoopProof::ReadNext(Bytes code, Stretch& stretch) const {
  MemoryTraits traits;
  Instruction read;
  const bool is_known = MemoryTraitsOf(code, block_.mode, traits) && traits.length != 0 &&
                        Classify(code, block_.mode, read) && read.length == traits.length;
  stretch.is_unclear = !is_known || traits.atomic || traits.pauses;
  if (stretch.is_unclear || traits.stores) return false;
  stretch.last = stretch.end;
  stretch.end += read.length;
  stretch.branches = read.kind != InstructionClass::kOther;
  switch (read.kind) {
    case InstructionClass::kOther:
      return true;
    case InstructionClass::kConditional:
      stretch.goes_on = true;
      stretch.target = read.Target(stretch.last);
      return false;
    case InstructionClass::kJump:
      stretch.target = read.Target(stretch.last);
      return false;
    case InstructionClass::kReturn:
      stretch.returns = true;
      return false;
    case InstructionClass::kCall:
      stretch.goes_on = stretch.is_call = true;
      stretch.callee = read.Target(stretch.last);
      return false;
    case InstructionClass::kIndirectCall:
      stretch.goes_on = stretch.is_call = true;
      [[fallthrough]];
    default:
      stretch.is_unclear = true;
      return false;
  }
}

bool LoopProof::IsTaken(const Stretch& stretch, uint8_t way) {
  if (graph_->WasLeft(block_.space, stretch.last, way)) return true;
  untaken_->push_back({.last = stretch.last, .way = way});
  return false;
}

// More ways make no proof hold that did not, so a way that is left out matters only if it holds.
void LoopProof::LeaveOutUntaken(Stretch& stretch) {
  if (!stretch.branches) return;
  const bool falls_through = stretch.goes_on && !stretch.is_call;
  if (falls_through && !IsTaken(stretch, step_way::kOn)) stretch.goes_on = false;
  if (IsTaken(stretch, step_way::kTaken)) return;
  stretch.target = stretch.callee = 0;
  stretch.returns = stretch.is_unclear = false;
  if (stretch.is_call) stretch.goes_on = false;
}

// A branch whose target is not known may lead back, and may return.
void LoopProof::FindWaysBack() {
  for (bool found = true; found;) {
    found = false;
    for (auto& [address, stretch] : stretches_) found = FindWays(stretch) || found;
  }
}

// Returns whether more is known of the stretch than before. What a function does before it returns
// is on a way back only where something behind its call is.
bool LoopProof::FindWays(Stretch& stretch) const {
  const bool known = stretch.leads_back && stretch.may_return;
  if (known) return false;
  const bool is_unknown = stretch.is_unclear && !stretch.goes_on;
  const bool goes_on = stretch.goes_on && (stretch.callee == 0 || MayReturn(stretch.callee));
  const auto leads = [&](auto where) {
    return is_unknown || (stretch.target != 0 && where(stretch.target)) ||
           (goes_on && where(stretch.end));
  };
  const bool leads_back = IsEnd(stretch) || LeadsBack(stretch.callee) ||
                          leads([&](uint64_t at) { return LeadsBack(at); });
  const bool may_return = stretch.returns || leads([&](uint64_t at) { return MayReturn(at); });
  const bool is_more = leads_back != stretch.leads_back || may_return != stretch.may_return;
  stretch.leads_back = leads_back;
  stretch.may_return = may_return;
  return is_more;
}

// In the same call: the code of a function that is called twice is on the way twice.
bool LoopProof::IsOnWay(uint64_t address) const {
  for (size_t i = 0; i < way_.size(); ++i)
    if (call_of_part_[i] == Call() && address >= way_[i].address &&
        address - way_[i].address < way_[i].code.size())
      return true;
  return false;
}

// Whether all ways that go on there, up to the loop's jump, are work.
bool LoopProof::AreAllWork(uint64_t address) {
  if (way_.size() == kMostParts) return false;
  const Stretch& stretch = stretches_.at(address);
  way_.push_back(stretch.part);
  call_of_part_.push_back(Call());
  const bool are = GoOn(stretch);
  way_.pop_back();
  call_of_part_.pop_back();
  return are;
}

// A jump back over code on the way closes a loop within this one. Its trip ends what came before it
// if that is work, and else is left out, as if the jump had not been taken.
bool LoopProof::GoOn(const Stretch& stretch) {
  if (stretch.is_unclear) return false;
  // The loop's own function may be called within the loop.
  const bool is_again = IsEnd(stretch) || stretch.part.address == block_.target;
  if (is_again && !calls_.empty()) return false;
  if (IsEnd(stretch)) return IsTripWork();
  if (stretch.callee != 0) return GoInto(stretch);
  if (stretch.returns) return GoBack();
  if (stretch.goes_on && !AreWork(stretch.end)) return false;
  if (stretch.target == 0 || (stretch.target <= stretch.last && IsOnWay(stretch.target)))
    return true;
  way_.back().taken = true;
  return AreWork(stretch.target);
}

bool LoopProof::IsTripWork() {
  way_.back().taken = true;
  if (++ways_ > kMostWays) return false;
  const TripVerdict verdict = JudgeTrip(way_);
  return verdict.kind == LoopKind::kWork && !verdict.pauses && !verdict.atomic;
}

// A function without a way to its end that stores nothing ends the way.
bool LoopProof::GoInto(const Stretch& call) {
  if (LeadsBack(call.callee)) return false;
  if (!MayReturn(call.callee) || !Leads(call.end)) return true;
  const bool is_recursion =
      std::ranges::any_of(calls_, [&](const OpenCall& each) { return each.callee == call.callee; });
  if (is_recursion || calls_.size() == kMostCalls) return false;
  way_.back().taken = true;
  calls_.push_back({.callee = call.callee, .end = call.end, .number = ++begun_});
  const bool are = AreAllWork(call.callee);
  calls_.pop_back();
  return are;
}

// REQUIRES: a call is under way.
bool LoopProof::GoBack() {
  const OpenCall call = calls_.back();
  way_.back().taken = true;
  calls_.pop_back();
  const bool are = AreWork(call.end);
  calls_.push_back(call);
  return are;
}

bool IsWorkByCode(const LoopBlock& block) { return LoopProof(block).Holds(); }

bool ProofByWays::Holds(const LoopBlock& block, const StepGraph& graph) {
  constexpr unsigned kMostAttempts = 16;
  if (attempts_ != 0 && (!holds_ || changes_ == graph.changes())) return holds_;
  changes_ = graph.changes();
  const bool is_old = std::ranges::none_of(untaken_, [&](const Untaken& each) {
    return graph.WasLeft(block.space, each.last, each.way);
  });
  if (attempts_ != 0 && is_old) return holds_;
  untaken_.clear();
  holds_ = ++attempts_ <= kMostAttempts && LoopProof(block, graph, untaken_).Holds();
  return holds_;
}

bool IsProvenWork(LoopBlock& block) {
  if (!block.work_by_code) block.work_by_code = IsWorkByCode(block);
  return *block.work_by_code;
}

}  // namespace flowback
