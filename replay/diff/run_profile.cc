// SPDX-License-Identifier: MIT
#include "replay/diff/run_profile.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "base/name_pattern.h"
#include "replay/coverage/report/report_lists.h"
#include "replay/coverage/report/source_reader.h"

namespace flowback {
namespace {

// Gathers one object's part of a profile.
class ObjectProfiler {
 public:
  ObjectProfiler(const ObjectCoverage& object, uint32_t number, SourceLines* lines,
                 RunProfile& profile)
      : object_(object), number_(number), lines_(lines), profile_(profile) {}

  void Run() {
    if (object_.code == nullptr) {
      AddWithoutCode();
      return;
    }
    AddFunctions();
    AddOutside();
    AddLines();
    AddDirections();
    if (lines_ != nullptr) AddInlined();
  }

 private:
  // Returns the number of the instruction at the address; empty: none begins there.
  std::optional<size_t> InstructionAt(uint64_t address) const {
    const auto all = object_.code->instructions();
    const auto found = std::ranges::lower_bound(all, address, {}, &StaticInstruction::address);
    if (found == all.end() || found->address != address) return std::nullopt;
    return static_cast<size_t>(found - all.begin());
  }
  SourceLine PlaceAt(uint64_t address) const {
    const auto number = InstructionAt(address);
    return number && *number < object_.places.size() ? object_.places[*number] : SourceLine();
  }

  // Code without a file: how much of it ran is all that is known.
  void AddWithoutCode() {
    uint64_t times = 0;
    for (const InstructionCount& each : object_.counts->instructions) times += each.times;
    AddNameless(times);
  }
  void AddOutside() {
    if (!profile_.is_part) AddNameless(object_.outside_times);
  }
  void AddNameless(uint64_t times) {
    if (times == 0) return;
    ProfiledFunction rest{.object = number_, .name = {}, .state = Executed::kYes};
    rest.sums.self = times;
    profile_.functions.push_back(std::move(rest));
  }

  void AddFunctions();
  void AddLines();
  void AddDirections();
  void AddInlined();
  void AddDirection(const BranchCoverage& branch, uint32_t function, size_t instruction,
                    bool taken);
  uint64_t InstructionsOf(const StaticFunction& function) const;
  // Whether the file was not changed since the object was compiled, as far as dates show.
  bool IsAsCompiled(uint32_t file) {
    const auto [at, is_new] = as_compiled_.try_emplace(file);
    if (is_new) at->second = !IsNewer(profile_.files[file], object_.image->file());
    return at->second;
  }

  const ObjectCoverage& object_;
  const uint32_t number_;
  SourceLines* const lines_;
  RunProfile& profile_;
  std::map<uint32_t, bool> as_compiled_;    // by file
  std::map<uint32_t, uint32_t> functions_;  // by number in the static code
};

uint64_t ObjectProfiler::InstructionsOf(const StaticFunction& function) const {
  uint64_t sum = 0;
  const auto blocks = object_.code->blocks();
  for (uint32_t i = 0; i < function.block_count; ++i) {
    const StaticCodeBlock& block = blocks[function.first_block + i];
    for (uint32_t k = 0; k < block.count; ++k) sum += object_.times[block.first + k];
  }
  return sum;
}

void ObjectProfiler::AddFunctions() {
  const auto all = object_.code->functions();
  for (const FunctionCoverage& each : object_.functions) {
    const StaticFunction& code = object_.Code(each);
    functions_.emplace(each.number, static_cast<uint32_t>(profile_.functions.size()));
    ProfiledFunction function{.object = number_,
                              .address = code.begin,
                              .name = WithoutCopyMarks(code.name),
                              .at = each.at,
                              .last_line = each.last_line,
                              .state = each.state};
    function.sums.calls = IsMovedPart(code.name) ? 0 : each.entries;
    profile_.functions.push_back(std::move(function));
  }
  // Parts that the compiler moved away belong to the function as a whole.
  for (uint32_t i = 0; i < all.size(); ++i) {
    const auto found = functions_.find(all[i].whole);
    if (found == functions_.end()) continue;
    profile_.functions[found->second].sums.self += InstructionsOf(all[i]);
    functions_.emplace(i, found->second);
  }
}

void ObjectProfiler::AddLines() {
  std::map<SourceLine, uint64_t> sums;
  for (size_t i = 0; i < object_.places.size(); ++i)
    if (object_.places[i].line != 0 && object_.times[i] != 0)
      sums[object_.places[i]] += object_.times[i];
  for (const LineCoverage& each : object_.lines) {
    ProfiledLine line{
        .at = each.at, .object = number_, .state = each.state, .times = each.times, .text = {}};
    if (const auto sum = sums.find(each.at); sum != sums.end()) line.instructions = sum->second;
    if (lines_ != nullptr && IsAsCompiled(each.at.file))
      line.text = std::string(lines_->Text(profile_.files[each.at.file], each.at.line));
    profile_.lines.push_back(std::move(line));
  }
}

void ObjectProfiler::AddDirections() {
  for (const BranchCoverage& branch : object_.branches) {
    const auto instruction = InstructionAt(branch.address);
    if (!instruction) continue;
    const StaticFunction* const code = object_.code->FunctionAt(branch.address);
    if (code == nullptr) continue;
    const auto function =
        functions_.find(static_cast<uint32_t>(code - object_.code->functions().data()));
    if (function == functions_.end()) continue;
    for (const bool taken : {true, false})
      AddDirection(branch, function->second, *instruction, taken);
  }
}

// Most code never runs, and its directions are of no use.
void ObjectProfiler::AddDirection(const BranchCoverage& branch, uint32_t function,
                                  size_t instruction, bool taken) {
  const uint64_t times = taken ? branch.taken : branch.not_taken;
  const bool reached = branch.taken != 0 || branch.not_taken != 0;
  const Executed state = object_.StateOf(times, instruction);
  if (!reached && state == Executed::kNo) return;
  const StaticInstruction& at = object_.code->instructions()[instruction];
  profile_.directions.push_back({.function = function,
                                 .address = branch.address,
                                 .taken = taken,
                                 .state = state,
                                 .at = branch.at,
                                 .to = PlaceAt(taken ? branch.target : at.address + at.length),
                                 .times = times});
}

// A scope is one copy of an inlined function, and all of its instructions have the same names.
void ObjectProfiler::AddInlined() {
  std::unordered_set<uint64_t> seen;
  std::set<std::string>& names = profile_.objects[number_].inlined;
  for (size_t i = 0; i < object_.inlined.size(); ++i) {
    if (!object_.inlined[i] || object_.times[i] == 0 || !seen.insert(object_.scopes[i]).second)
      continue;
    const SourcePlace place =
        lines_->Find(object_.image->space(), object_.code->instructions()[i].address);
    for (const SourceFrame& frame : place.frames)
      if (frame.is_inlined)
        names.insert(WithoutParameterTypes(WithoutCopyMarks(std::string(frame.function))));
  }
}

}  // namespace

void FunctionSums::Add(const FunctionSums& other) {
  calls += other.calls;
  self += other.self;
  total += other.total;
  time += other.time;
  total_time += other.total_time;
  off_cpu += other.off_cpu;
}

void ProfiledWait::Add(const ProfiledWait& other) {
  waits += other.waits;
  trips += other.trips;
  waiting += other.waiting;
}

RunProfile RunProfile::Of(const CoverageCounts& counts, const CoverageReport& report,
                          SourceLines* lines, bool is_part) {
  RunProfile profile;
  profile.files = report.files;
  profile.shares = report.shares;
  profile.emulated = counts.emulated;
  profile.is_part = is_part;
  const ObjectCoverage* const main = MainObject(report);
  for (const ObjectCoverage& object : report.objects) {
    profile.sampled |= object.counts->losses.contains(kSampledCause);
    const auto number = static_cast<uint32_t>(profile.objects.size());
    const bool executed = !object.counts->instructions.empty();
    const bool is_unknown = object.code == nullptr && (executed || !object.counts->IsKnown());
    profile.objects.push_back({.id = object.counts->id,
                               .has_code = object.code != nullptr,
                               .executed = executed,
                               .is_main = &object == main,
                               .lines_unknown = is_unknown,
                               .functions_unknown = is_unknown});
    ObjectProfiler(object, number, lines, profile).Run();
  }
  profile.instructions = counts.instructions;
  if (!is_part) return profile;
  profile.instructions = 0;
  for (const ProfiledFunction& each : profile.functions) profile.instructions += each.sums.self;
  return profile;
}

std::string WithoutCopyMarks(std::string_view name) {
  const std::string_view plain = WithoutCloneMark(name);
  const size_t at = plain.find(".llvm.");
  return std::string(at == 0 ? plain : plain.substr(0, at));
}

std::string WithoutParameterTypes(const std::string& name) {
  return name.contains("operator") ? name : std::string(WithoutParameters(name));
}

bool IsMovedPart(std::string_view name) {
  return name.contains(".cold") || name.contains(".part.");
}

}  // namespace flowback
