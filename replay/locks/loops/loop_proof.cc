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
  bool goes_on = false;     // the flow may go on behind it
  bool is_unclear = false;  // what lies here, or where it leads, decides nothing
  bool leads_back = false;  // some way leads from it to the loop's jump
};

// The bytes from there on.
Bytes CodeFrom(const AddressSpace* space, uint64_t address) {
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(address);
  if (mapping == nullptr) return {};
  const uint64_t within = address - mapping->address;
  const uint64_t offset = mapping->section_offset + within;
  const Bytes bytes = mapping->section->bytes();
  if (offset >= bytes.size()) return {};
  return bytes.subspan(offset, std::min(bytes.size() - offset, mapping->size - within));
}

class LoopProof {
 public:
  explicit LoopProof(const LoopBlock& block) : block_(block) {}

  bool Holds() {
    if (!Explore()) return false;
    FindWaysBack();
    const auto may_wait = [](const auto& each) {
      return each.second.is_unclear && each.second.leads_back;
    };
    return stretches_.at(block_.target).leads_back && std::ranges::none_of(stretches_, may_wait) &&
           AreAllWork(block_.target);
  }

 private:
  static constexpr size_t kMostStretches = 256;
  static constexpr size_t kMostParts = 64;  // of a way
  static constexpr unsigned kMostWays = 128;
  static constexpr size_t kMostInstructions = 256;  // of a stretch, as of a block

  bool Explore();
  Stretch Read(uint64_t address) const;
  bool ReadNext(Bytes code, Stretch& stretch) const;
  void FindWaysBack();
  // A trip begins where the flow came to the jump's target last.
  bool LeadsBack(uint64_t address) const {
    if (address == block_.target) return false;
    const auto found = stretches_.find(address);
    return found != stretches_.end() && found->second.leads_back;
  }
  bool IsEnd(const Stretch& stretch) const { return stretch.last == block_.branch; }
  bool IsOnWay(uint64_t address) const;
  bool AreWork(uint64_t address) { return !LeadsBack(address) || AreAllWork(address); }
  bool AreAllWork(uint64_t address);
  bool GoOn(const Stretch& stretch);

  const LoopBlock& block_;
  std::map<uint64_t, Stretch> stretches_;  // by the first instruction's address
  std::vector<TripPart> way_;
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
    if (at->second.target != 0) open.push_back(at->second.target);
    if (at->second.goes_on) open.push_back(at->second.end);
  }
  return true;
}

Stretch LoopProof::Read(uint64_t address) const {
  const Bytes code = CodeFrom(block_.space, address);
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
      return false;
    case InstructionClass::kCall:
    case InstructionClass::kIndirectCall:
      stretch.goes_on = true;
      [[fallthrough]];
    default:
      stretch.is_unclear = true;
      return false;
  }
}

// What nobody knows where it leads may lead back.
void LoopProof::FindWaysBack() {
  for (bool found = true; found;) {
    found = false;
    for (auto& [address, stretch] : stretches_) {
      if (stretch.leads_back) continue;
      stretch.leads_back = IsEnd(stretch) || (stretch.is_unclear && !stretch.goes_on) ||
                           (stretch.target != 0 && LeadsBack(stretch.target)) ||
                           (stretch.goes_on && LeadsBack(stretch.end));
      found = found || stretch.leads_back;
    }
  }
}

bool LoopProof::IsOnWay(uint64_t address) const {
  return std::ranges::any_of(way_, [&](const TripPart& part) {
    return address >= part.address && address - part.address < part.code.size();
  });
}

// Whether all ways that go on there, up to the loop's jump, are work.
bool LoopProof::AreAllWork(uint64_t address) {
  if (way_.size() == kMostParts) return false;
  const Stretch& stretch = stretches_.at(address);
  way_.push_back(stretch.part);
  const bool are = GoOn(stretch);
  way_.pop_back();
  return are;
}

// A jump back over code on the way closes a loop within this one. Its trip ends what came before it
// if that is work, and else is left out, as if the jump had not been taken.
bool LoopProof::GoOn(const Stretch& stretch) {
  TripPart& part = way_.back();
  if (IsEnd(stretch)) {
    part.taken = true;
    if (++ways_ > kMostWays) return false;
    const TripVerdict verdict = JudgeTrip(way_);
    return verdict.kind == LoopKind::kWork && !verdict.pauses && !verdict.atomic;
  }
  if (stretch.goes_on && !AreWork(stretch.end)) return false;
  if (stretch.target == 0 || (stretch.target <= stretch.last && IsOnWay(stretch.target)))
    return true;
  way_.back().taken = true;
  return AreWork(stretch.target);
}

}  // namespace

bool IsWorkByCode(const LoopBlock& block) { return LoopProof(block).Holds(); }

}  // namespace flowback
