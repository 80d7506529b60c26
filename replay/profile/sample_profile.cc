// SPDX-License-Identifier: MIT
#include "replay/profile/sample_profile.h"

#include <algorithm>
#include <set>
#include <vector>

#include "replay/branches/range_times.h"
#include "replay/symbols/elf/split_names.h"

namespace flowback {
namespace {

// A discriminator holds several numbers, the lowest bits first: which part of its line the code is,
// then how many copies of the code an optimization made, as of an unrolled loop. A number is 0
// where its lowest bit is set; else it takes 5 bits, or 12 where a seventh says so.
uint32_t FirstNumber(uint32_t bits) {
  if ((bits & 1) != 0) return 0;
  bits >>= 1;
  const uint32_t low = bits & 0x1f;
  return (bits & 0x20) != 0 ? ((bits >> 1) & 0xfe0) | low : low;
}

uint32_t BehindFirst(uint32_t bits) {
  if ((bits & 1) != 0) return bits >> 1;
  return bits >> ((bits & 0x40) != 0 ? 14 : 7);
}

// Returns how many of the source's runs one run of an instruction stands for.
uint32_t CopiesOf(uint32_t discriminator) {
  return std::max(FirstNumber(BehindFirst(discriminator)), uint32_t{1});
}

LineOfFunction LineOf(const SourceFrame& frame) {
  return {(frame.line - frame.first_line) & 0xffff, FirstNumber(frame.discriminator)};
}

// A line that calls ran at least as often as it called: of copies of a line each has only its own
// times, and the calls of all.
void RaiseToCalls(FunctionProfile& function) {
  for (const auto& [line, targets] : function.calls_from) {
    uint64_t calls = 0;
    for (const auto& [name, times] : targets) calls += times;
    uint64_t& times = function.lines[line];
    times = std::max(times, calls);
  }
  for (auto& [line, inlined] : function.inlined)
    for (auto& [name, each] : inlined) RaiseToCalls(each);
}

class Maker {
 public:
  Maker(const CompilerProfile& profile, const StaticCode& code, SourceLines& lines)
      : profile_(profile), code_(code), space_(profile.image->space()), lines_(lines) {
    for (const StaticFunction& each : code.functions()) names_.insert(each.linkage_name);
  }

  std::map<std::string, FunctionProfile> Make() {
    SumRanges();
    for (const StaticInstruction& each : code_.instructions()) {
      const uint64_t times = times_.At(each.address);
      const StaticFunction* function = code_.FunctionAt(each.address);
      if (times == 0 && !(function != nullptr && HasRun(*function))) continue;
      AddInstruction(each, times);
    }
    for (const ProfileBranch& branch : profile_.branches) AddCall(branch);
    std::erase_if(functions_, [](const auto& each) {
      return each.second.bytes == 0 && each.second.calls == 0;
    });
    for (auto& [name, function] : functions_) RaiseToCalls(function);
    return std::move(functions_);
  }

 private:
  void SumRanges() {
    for (const ProfileRange& range : profile_.ranges) {
      times_.Add(range.begin, range.end, range.times);
      NoteRun(range.begin, range.end);
    }
    times_.Sum();
  }
  void NoteRun(uint64_t begin, uint64_t end) {
    const auto functions = code_.functions();
    auto each = std::ranges::upper_bound(functions, begin, {}, &StaticFunction::begin);
    if (each != functions.begin()) --each;
    for (; each != functions.end() && each->begin <= end; ++each)
      if (each->end > begin) run_.insert(each->whole);
  }
  bool HasRun(const StaticFunction& function) const { return run_.contains(function.whole); }

  // Null where no function's name is known.
  FunctionProfile* InnermostAt(std::span<const SourceFrame> frames, uint64_t bytes) {
    if (frames.empty() || frames.back().linkage_name.empty()) return nullptr;
    FunctionProfile* at = &functions_[CanonicalName(frames.back().linkage_name)];
    at->bytes += bytes;
    for (size_t i = frames.size() - 1; i-- != 0;) {
      at = &at->inlined[LineOf(frames[i + 1])][CanonicalName(frames[i].linkage_name)];
      at->bytes += bytes;
    }
    return at;
  }

  void AddInstruction(const StaticInstruction& instruction, uint64_t times) {
    const std::span<const SourceFrame> frames = lines_.Find(space_, instruction.address).frames;
    FunctionProfile* function = InnermostAt(frames, times * instruction.length);
    if (function == nullptr) return;
    uint64_t& most = function->lines[LineOf(frames.front())];
    most = std::max(most, times * CopiesOf(frames.front().discriminator));
  }

  // Whether `callee` begins where the function of that name is entered. Debug information has one
  // name for all parts of a function, and for its copies.
  bool IsEntry(const StaticFunction& callee, std::string_view name) const {
    if (code_.functions()[callee.whole].begin != callee.begin) return false;
    const std::string_view symbol = symbols::WithoutCopyMarks(callee.linkage_name);
    if (symbol == symbols::WithoutCopyMarks(name)) return true;
    return symbols::PartOf(callee.linkage_name).empty() && !names_.contains(name);
  }
  // Control that stays in a function calls nothing, unless an instruction calls.
  bool StaysInside(const ProfileBranch& branch, const StaticFunction& callee) const {
    const bool calls =
        branch.kind == InstructionClass::kCall || branch.kind == InstructionClass::kIndirectCall;
    const StaticFunction* caller = code_.FunctionAt(branch.from);
    return !calls && caller != nullptr && caller->whole == callee.whole;
  }

  void AddCall(const ProfileBranch& branch) {
    if (branch.to_outside) return;
    const StaticFunction* callee = code_.FunctionAt(branch.to);
    if (callee == nullptr || callee->begin != branch.to || callee->is_stub) return;
    const auto entered = lines_.Find(space_, branch.to).frames;
    if (entered.empty() || entered.back().linkage_name.empty()) return;
    const std::string_view entered_name = entered.back().linkage_name;
    if (!IsEntry(*callee, entered_name)) return;
    if (!branch.from_outside && StaysInside(branch, *callee)) return;
    const std::string name = CanonicalName(entered_name);
    functions_[name].calls += branch.times;
    if (branch.from_outside) return;
    const auto frames = lines_.Find(space_, branch.from).frames;
    if (FunctionProfile* caller = InnermostAt(frames, 0))
      caller->calls_from[LineOf(frames.front())][name] += branch.times;
  }

  const CompilerProfile& profile_;
  const StaticCode& code_;
  const AddressSpace& space_;
  SourceLines& lines_;
  RangeTimes times_;
  std::set<uint32_t> run_;            // functions
  std::set<std::string_view> names_;  // of all functions, as the symbol table has them
  std::map<std::string, FunctionProfile> functions_;
};

}  // namespace

std::string CanonicalName(std::string_view name) {
  for (const std::string_view suffix : {".llvm.", ".part."}) {
    const size_t at = name.rfind(suffix);
    if (at != name.npos && name.rfind('.') == at + suffix.size() - 1) name = name.substr(0, at);
  }
  return std::string(name);
}

std::map<std::string, FunctionProfile> MakeSampleProfile(const CompilerProfile& profile,
                                                         const StaticCode& code,
                                                         SourceLines& lines) {
  return Maker(profile, code, lines).Make();
}

}  // namespace flowback
