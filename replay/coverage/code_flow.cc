// SPDX-License-Identifier: MIT
// From an entry, instructions are read one behind the other until one does not go on; where it
// branches is another entry. An instruction is read once, however many ways lead to it.
//
// A call mostly comes back, but a call of abort does not, and nothing marks such calls. Code after
// a call is followed with two exceptions: where the function ends there, and where there is only
// padding up to its end. Elsewhere compilers put code of the same function behind a call that does
// not come back, so that what is read there is right, but for padding between, which the builder
// leaves out where the call ran and never came back.
#include "replay/coverage/code_flow.h"

#include <algorithm>

#include "decode/instruction/classify.h"
#include "replay/coverage/padding.h"

namespace flowback {
namespace {

constexpr unsigned kLengthBits = 4;
constexpr uint8_t kLengthMask = (1 << kLengthBits) - 1;
static_assert(kLongestInstruction <= kLengthMask);

bool IsX86(CodeMode mode) { return TraitsOf(mode).instruction_set == "x86"; }

// UD0, UD1, UD2: they always fault.
bool AlwaysFaults(Bytes code, CodeMode mode) {
  return IsX86(mode) && code.size() >= 2 && code[0] == 0x0f &&
         (code[1] == 0x0b || code[1] == 0xb9 || code[1] == 0xff);
}

bool IsHalt(Bytes code, CodeMode mode) { return IsX86(mode) && code[0] == 0xf4; }
bool IsInt3(Bytes code) { return !code.empty() && code[0] == 0xcc; }

// Returns whether it is a trap: it leads elsewhere and may come back, but compilers put other code
// after it.
bool IsTrap(Bytes code, CodeMode mode) {
  if (IsX86(mode)) return IsInt3(code) && IsInt3(code.subspan(1));
  // UDF and BRK.
  return (code[2] == 0 && code[3] == 0) || ((code[2] & 0xe0) == 0x20 && code[3] == 0xd4);
}

}  // namespace

CodeFlow::CodeFlow(const ObjectImage& image, const CodeOutline& outline) : mode_(image.mode()) {
  for (const LinkedRange& range : outline.sections) {
    Section section;
    section.begin = range.begin;
    section.code = Slice(image.CodeAt(range.begin), 0, range.end - range.begin);
    section.marks.resize(section.code.size());
    section.flags.resize(section.code.size());
    sections_.push_back(std::move(section));
  }
  for (const StaticFunction& function : outline.functions) {
    if (function.source != StaticFunction::Source::kWholeSection)
      Flag(function.begin, kFunctionBegins);
    Flag(function.end, kFunctionEnds);
  }
}

const CodeFlow::Section* CodeFlow::SectionAt(uint64_t address) const {
  const auto holds = [&](const Section& s) { return address >= s.begin && address < s.end(); };
  if (last_ < sections_.size() && holds(sections_[last_])) return &sections_[last_];
  const auto after = std::ranges::upper_bound(sections_, address, {}, &Section::begin);
  if (after == sections_.begin() || !holds(after[-1])) return nullptr;
  last_ = static_cast<size_t>(after - sections_.begin()) - 1;
  return &sections_[last_];
}

void CodeFlow::Flag(uint64_t address, uint8_t flag) {
  if (Section* section = SectionAt(address)) section->flags[address - section->begin] |= flag;
}

uint8_t CodeFlow::LengthAt(uint64_t address) const {
  const Section* section = SectionAt(address);
  return section == nullptr ? 0 : section->marks[address - section->begin] & kLengthMask;
}

InstructionClass CodeFlow::KindAt(uint64_t address) const {
  const Section* section = SectionAt(address);
  if (section == nullptr) return InstructionClass::kOther;
  return static_cast<InstructionClass>(section->marks[address - section->begin] >> kLengthBits);
}

bool CodeFlow::IsLeader(uint64_t address) const {
  const Section* section = SectionAt(address);
  return section != nullptr && (section->flags[address - section->begin] & kLeader) != 0;
}

void CodeFlow::MakeLeader(uint64_t address) { Flag(address, kLeader); }

Bytes CodeFlow::CodeAt(uint64_t address) const {
  const Section* section = SectionAt(address);
  return section == nullptr ? Bytes() : section->code.subspan(address - section->begin);
}

void CodeFlow::Follow(uint64_t entry) {
  pending_.push_back(entry);
  while (!pending_.empty()) {
    const uint64_t address = pending_.back();
    pending_.pop_back();
    Section* section = SectionAt(address);
    if (section == nullptr) continue;
    const size_t at = address - section->begin;
    Walk(*section, at);
    if (section->marks[at] != 0) section->flags[at] |= kLeader;
  }
}

void CodeFlow::Walk(Section& section, size_t at) {
  while (at < section.code.size() && section.marks[at] == 0) {
    Instruction instruction;
    const Bytes code = section.code.subspan(at);
    if (!Classify(code, mode_, instruction) || instruction.length > code.size()) return;
    section.marks[at] = static_cast<uint8_t>(
        instruction.length | static_cast<unsigned>(instruction.kind) << kLengthBits);
    Push(section.begin + at, instruction);
    if (!GoesOn(section, at, instruction)) return;
    at += instruction.length;
  }
}

void CodeFlow::Push(uint64_t source, const Instruction& instruction) {
  if (instruction.kind == InstructionClass::kIndirectJump) indirect_jumps_.push_back(source);
  if (!IsDirect(instruction.kind)) return;
  const uint64_t target = instruction.Target(source);
  const Section* section = SectionAt(target);
  if (section == nullptr) return;
  if (instruction.kind != InstructionClass::kCall) jumps_.push_back({target, source});
  const size_t at = target - section->begin;
  if (section->marks[at] == 0 || (section->flags[at] & kLeader) == 0) pending_.push_back(target);
}

bool CodeFlow::GoesOn(const Section& section, size_t at, const Instruction& instruction) const {
  bool may_not_return = false;
  const Bytes code = section.code.subspan(at);
  switch (instruction.kind) {
    case InstructionClass::kJump:
    case InstructionClass::kIndirectJump:
    case InstructionClass::kReturn:
    case InstructionClass::kFarJump:
    case InstructionClass::kFarReturn:
      return false;
    case InstructionClass::kFarCall:
      if (IsTrap(code, mode_)) return false;
      may_not_return = true;
      break;
    case InstructionClass::kCall:
    case InstructionClass::kIndirectCall:
      may_not_return = true;
      break;
    case InstructionClass::kConditional:
      break;
    case InstructionClass::kOther:
      if (AlwaysFaults(code, mode_)) return false;
      may_not_return = IsHalt(code, mode_);
      break;
  }
  const size_t next = at + instruction.length;
  if (next >= section.code.size()) return false;
  const uint8_t flags = section.flags[next];
  if (may_not_return && (flags & (kFunctionBegins | kFunctionEnds)) != 0) return false;
  const bool leaves = (flags & kFunctionEnds) != 0 && (flags & kFunctionBegins) == 0 &&
                      instruction.kind != InstructionClass::kConditional;
  return !(may_not_return || leaves) || !IsPaddingUpToFunctionEnd(section, next);
}

bool CodeFlow::IsPaddingUpToFunctionEnd(const Section& section, size_t at) const {
  const auto is_end = [&](size_t place, size_t begin) {
    return place >= section.code.size() ||
           (place != begin && (section.flags[place] & (kFunctionBegins | kFunctionEnds)) != 0);
  };
  size_t place = at;
  while (!is_end(place, at)) {
    const size_t size = PaddingInstruction(section.code.subspan(place), mode_);
    if (size == 0) break;
    place += size;
  }
  while (!is_end(place, at) && section.code[place] == 0) ++place;
  return is_end(place, at);
}

}  // namespace flowback
