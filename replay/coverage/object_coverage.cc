// SPDX-License-Identifier: MIT
#include "replay/coverage/object_coverage.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/path_text.h"
#include "replay/coverage/line_counts.h"
#include "replay/coverage/reachable_code.h"
#include "replay/coverage/static_lines.h"

namespace flowback {
namespace {

struct CountAt {
  uint64_t address = 0;
  uint64_t times = 0;
};

std::vector<CountAt> CountsByAddress(const ObjectCounts& counts, const ObjectImage& image) {
  std::vector<CountAt> result;
  result.reserve(counts.instructions.size());
  for (const InstructionCount& each : counts.instructions)
    if (const auto address = image.AddressOf(each.offset)) result.push_back({*address, each.times});
  std::ranges::sort(result, {}, &CountAt::address);
  return result;
}

// Both are sorted.
void CountInstructions(ObjectCoverage& object, const std::vector<CountAt>& counts) {
  const auto instructions = object.code->instructions();
  object.times.assign(instructions.size(), 0);
  size_t at = 0;
  for (const CountAt& count : counts) {
    while (at < instructions.size() && instructions[at].address < count.address) ++at;
    if (at < instructions.size() && instructions[at].address == count.address) {
      object.times[at] = count.times;
    } else {
      ++object.outside_instructions;
      object.outside_times += count.times;
    }
  }
}

void FindPlaces(ObjectCoverage& object, SourceLines& source, SourceFileNumbers& files) {
  const StaticLines lines = StaticLines::Of(*object.image, *object.code, source);
  std::vector<uint32_t> numbers;  // by the number of a file in `lines`
  for (const std::string& file : lines.files()) numbers.push_back(files.Of(NormalPath(file)));
  for (const StaticInstruction& instruction : object.code->instructions()) {
    const StaticLine* line = lines.At(instruction.address);
    // The compiler's own code has a name in angle brackets, which is no file's.
    if (line != nullptr && LastPart(lines.files()[line->file]).starts_with('<')) line = nullptr;
    object.places.push_back(line == nullptr
                                ? SourceLine()
                                : SourceLine{.file = numbers[line->file], .line = line->line});
    object.scopes.push_back(line == nullptr ? 0 : line->scope);
    object.inlined.push_back(line != nullptr && line->is_inlined);
    object.statements.push_back(line == nullptr || line->is_statement);
  }
}

// Returns where a function begins whose first instruction comes from an inlined function: in its
// own file, not in the inlined function's.
SourceLine OwnBegin(const SourcePlace& first, SourceFileNumbers& files) {
  if (!first.known()) return {};
  const SourceFrame& own = first.frames.back();
  if (own.file.empty() || LastPart(own.file).starts_with('<')) return {};
  return {.file = files.Of(NormalPath(own.file)),
          .line = own.first_line != 0 ? own.first_line : own.line};
}

void FindBegins(ObjectCoverage& object, SourceLines& source, SourceFileNumbers& files) {
  const auto functions = object.code->functions();
  for (size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].block_count == 0) continue;
    const uint32_t first = object.code->blocks()[functions[i].first_block].first;
    SourceLine begin;
    if (object.inlined[first])
      begin = OwnBegin(
          source.Find(object.image->space(), object.code->instructions()[first].address), files);
    object.begins[i] = begin.line != 0 ? begin : object.places[first];
  }
}

std::vector<BranchCoverage> BranchesOf(const ObjectCoverage& object) {
  std::vector<BranchCoverage> result;
  const auto instructions = object.code->instructions();
  for (size_t i = 0; i < instructions.size(); ++i)
    if (instructions[i].kind == InstructionClass::kConditional)
      result.push_back({.address = instructions[i].address,
                        .target = instructions[i].target,
                        .at = object.places[i]});
  for (const BranchCount& count : object.counts->branches) {
    const auto address = object.image->AddressOf(count.offset);
    if (!address) continue;
    const auto found = std::ranges::lower_bound(result, *address, {}, &BranchCoverage::address);
    if (found == result.end() || found->address != *address) continue;
    found->taken = count.taken;
    found->not_taken = count.not_taken;
  }
  return result;
}

// Marks the instructions in whose place other code ran.
void MarkReplaced(ObjectCoverage& object) {
  for (const ReplacedRange& range : object.counts->replaced) {
    const auto instructions = object.code->instructions();
    for (size_t i = 0; i < instructions.size(); ++i) {
      const auto offset = object.image->OffsetOf(instructions[i].address);
      if (offset && *offset < range.end && *offset + instructions[i].length > range.begin)
        object.unknown[i] = true;
    }
  }
}

// Whether only trace is missing: then all executed code is among the known code, and the facts
// about it are right.
bool AreOfTrace(const std::map<std::string, uint64_t>& losses) {
  constexpr LossCause kOfTrace[] = {LossCause::kNoSync,     LossCause::kOverflow,
                                    LossCause::kBadPacket,  LossCause::kTruncated,
                                    LossCause::kAuxLost,    LossCause::kReturnAcrossLoss,
                                    LossCause::kAuxPartial, LossCause::kAuxCollision,
                                    LossCause::kThrottled,  LossCause::kNotKept};
  return std::ranges::all_of(losses, [&](const auto& loss) {
    return std::ranges::any_of(kOfTrace,
                               [&](LossCause cause) { return loss.first == Name(cause); });
  });
}

// Makes functions, branches, lines and shares of one object.
class ObjectTotals {
 public:
  ObjectTotals(ObjectCoverage& object, const CoverageChoice& choice,
               const std::vector<std::string>& files)
      : object_(object), code_(*object.code), choice_(choice), files_(files) {}

  void Run() {
    object_.branches = BranchesOf(object_);
    arrivals_ = ArrivalsInLines(object_);
    const auto functions = code_.functions();
    std::vector<std::vector<uint32_t>> parts(functions.size());
    for (uint32_t i = 0; i < functions.size(); ++i) parts[functions[i].whole].push_back(i);
    for (uint32_t i = 0; i < functions.size(); ++i) {
      if (functions[i].whole != i || !MayCount(functions[i])) continue;
      IsWantedBySource(i) ? AddFunction(i, parts[i]) : AddInlinedLines(i, parts[i]);
    }
    KeepWantedBranches();
    AddLines();
  }

 private:
  bool MayCount(const StaticFunction& function) const {
    if (function.is_stub || function.block_count == 0) return false;
    return !choice_.function || choice_.function(function);
  }
  bool IsWantedBySource(uint32_t function) const {
    const SourceLine& begin = object_.begins[function];
    return IsWanted(begin) && !IsMarked(choice_.excludes_line, begin);
  }
  // A choice by source excludes code without a line.
  bool IsWanted(const SourceLine& place) const {
    return !choice_.source || (place.line != 0 && choice_.source(files_[place.file]));
  }

  // Whether the source itself says that the place is not to be counted.
  bool IsMarked(const std::function<bool(const std::string&, uint32_t)>& excludes,
                const SourceLine& place) const {
    return excludes && place.line != 0 && excludes(files_[place.file], place.line);
  }

  // What the compiler moved away is a part of the function, not one of its own.
  void AddFunction(uint32_t number, const std::vector<uint32_t>& parts) {
    const StaticFunction& function = code_.functions()[number];
    FunctionCoverage& result = object_.functions.emplace_back();
    result.number = number;
    result.at = object_.begins[number];
    if (const StaticInstruction* first = code_.InstructionAt(function.begin))
      result.entries = object_.times[static_cast<size_t>(first - code_.instructions().data())];
    AddBlocks(parts, result);
    result.state = ObjectCoverage::StateOfAll(result.shares.instructions.executed,
                                              result.shares.instructions.unknown != 0);
    result.shares.functions.Add(result.state);
    AddFunctionLines(result);
    const CoverageShare lines = std::exchange(result.shares.lines, {});
    object_.shares.Add(result.shares);  // lines are added up by line: functions share some
    result.shares.lines = lines;
  }

  // The function's file was not chosen: only code that was inlined into it from a chosen file
  // counts, by lines and branches.
  void AddInlinedLines(uint32_t number, const std::vector<uint32_t>& parts) {
    if (!choice_.source || IsMarked(choice_.excludes_line, object_.begins[number])) return;
    FunctionCoverage unlisted;
    AddBlocks(parts, unlisted);
    object_.shares.branches.Add(unlisted.shares.branches);
    all_lines_.insert(all_lines_.end(), lines_.begin(), lines_.end());
  }

  void AddBlocks(const std::vector<uint32_t>& parts, FunctionCoverage& result) {
    lines_.clear();
    for (const uint32_t part : parts) {
      const StaticFunction& code = code_.functions()[part];
      for (const StaticCodeBlock& block :
           code_.blocks().subspan(code.first_block, code.block_count))
        AddBlock(block, result);
    }
  }

  void AddBlock(const StaticCodeBlock& block, FunctionCoverage& result) {
    uint64_t most = 0;
    bool unknown = false;
    for (uint32_t i = block.first; i < block.first + block.count; ++i) {
      most = std::max(most, object_.times[i]);
      unknown |= object_.unknown[i];
      result.shares.instructions.Add(object_.StateOf(object_.times[i], i));
      if (code_.instructions()[i].kind == InstructionClass::kConditional) AddBranch(i, result);
      if (object_.places[i].line != 0 && IsWanted(object_.places[i]) &&
          !IsMarked(choice_.excludes_line, object_.places[i]))
        lines_.push_back({object_.places[i], i});
    }
    result.shares.blocks.Add(ObjectCoverage::StateOfAll(most, unknown));
  }

  void AddBranch(uint32_t instruction, FunctionCoverage& result) {
    const SourceLine& place = object_.places[instruction];
    // Inlined code of a file that was not chosen is left out, too.
    if (!IsWanted(place) || IsMarked(choice_.excludes_line, place) ||
        IsMarked(choice_.excludes_branches, place))
      return;
    const uint64_t address = code_.instructions()[instruction].address;
    const auto found =
        std::ranges::lower_bound(object_.branches, address, {}, &BranchCoverage::address);
    result.shares.branches.Add(object_.StateOf(found->taken, instruction));
    result.shares.branches.Add(object_.StateOf(found->not_taken, instruction));
    wanted_branches_.push_back(static_cast<uint32_t>(found - object_.branches.begin()));
  }

  struct LineInstruction {
    SourceLine at;
    uint32_t instruction = 0;
  };

  void AddFunctionLines(FunctionCoverage& result) {
    std::ranges::stable_sort(lines_, {}, &LineInstruction::at);
    for (size_t i = 0, end = 0; i < lines_.size(); i = end) {
      uint64_t most = 0;
      bool unknown = false;
      for (end = i; end < lines_.size() && lines_[end].at == lines_[i].at; ++end) {
        most = std::max(most, object_.times[lines_[end].instruction]);
        unknown |= object_.unknown[lines_[end].instruction];
      }
      result.shares.lines.Add(ObjectCoverage::StateOfAll(most, unknown));
      if (lines_[i].at.file == result.at.file)
        result.last_line = std::max(result.last_line, lines_[i].at.line);
    }
    all_lines_.insert(all_lines_.end(), lines_.begin(), lines_.end());
  }

  // Drops branches of other functions.
  void KeepWantedBranches() {
    std::ranges::sort(wanted_branches_);
    std::vector<BranchCoverage> kept;
    kept.reserve(wanted_branches_.size());
    for (const uint32_t number : wanted_branches_) kept.push_back(object_.branches[number]);
    object_.branches = std::move(kept);
  }

  void AddLines() {
    std::ranges::stable_sort(all_lines_, {}, &LineInstruction::at);
    for (size_t i = 0, end = 0; i < all_lines_.size(); i = end) {
      LineCoverage& line = object_.lines.emplace_back();
      line.at = all_lines_[i].at;
      uint64_t most = 0;
      bool unknown = false;
      for (end = i; end < all_lines_.size() && all_lines_[end].at == line.at; ++end) {
        most = std::max(most, object_.times[all_lines_[end].instruction]);
        unknown |= object_.unknown[all_lines_[end].instruction];
        line.times += arrivals_[all_lines_[end].instruction];
      }
      if (line.times == 0) line.times = most;
      line.state = ObjectCoverage::StateOfAll(most, unknown);
      AddCopies(std::span(all_lines_).subspan(i, end - i), line);
      object_.shares.lines.Add(line.state);
    }
    for (uint32_t i = 0; i < object_.branches.size(); ++i)
      if (LineCoverage* line = LineAt(object_.branches[i].at)) line->branches.push_back(i);
  }

  void AddCopies(std::span<const LineInstruction> line, LineCoverage& result) {
    const auto scope_of = [this](const LineInstruction& at) {
      return object_.scopes[at.instruction];
    };
    if (std::ranges::all_of(line,
                            [&](const auto& at) { return scope_of(at) == scope_of(line[0]); }))
      return;
    std::unordered_map<uint64_t, size_t> copies;  // by scope
    std::vector<uint64_t> most;
    std::vector<bool> unknown;
    for (const LineInstruction& at : line) {
      const auto [copy, is_new] = copies.emplace(scope_of(at), result.copies.size());
      if (is_new) {
        most.push_back(0);
        unknown.push_back(false);
        result.copies.push_back({.function = FunctionOf(at.instruction)});
      }
      most[copy->second] = std::max(most[copy->second], object_.times[at.instruction]);
      if (object_.unknown[at.instruction]) unknown[copy->second] = true;
      result.copies[copy->second].times += arrivals_[at.instruction];
    }
    for (size_t i = 0; i < most.size(); ++i) {
      LineCopy& copy = result.copies[i];
      if (copy.times == 0) copy.times = most[i];
      copy.state = ObjectCoverage::StateOfAll(most[i], unknown[i]);
    }
  }

  uint32_t FunctionOf(uint32_t instruction) const {
    const StaticFunction* function = code_.FunctionAt(code_.instructions()[instruction].address);
    return function == nullptr ? 0 : function->whole;
  }

  LineCoverage* LineAt(const SourceLine& at) {
    const auto found = std::ranges::lower_bound(object_.lines, at, {}, &LineCoverage::at);
    return found == object_.lines.end() || found->at != at ? nullptr : &*found;
  }

  ObjectCoverage& object_;
  const StaticCode& code_;
  const CoverageChoice& choice_;
  const std::vector<std::string>& files_;
  std::vector<uint64_t> arrivals_;      // by instruction
  std::vector<LineInstruction> lines_;  // of one function
  std::vector<LineInstruction> all_lines_;
  std::vector<uint32_t> wanted_branches_;
};

}  // namespace

uint32_t SourceFileNumbers::Of(const std::string& file) {
  return numbers_.emplace(file, static_cast<uint32_t>(numbers_.size())).first->second;
}

SourceFileNumbers::Sorted SourceFileNumbers::Take() const {
  std::vector<std::pair<std::string, uint32_t>> all(numbers_.begin(), numbers_.end());
  std::ranges::sort(all);
  Sorted result;
  result.numbers.resize(all.size());
  for (auto& [name, number] : all) {
    result.numbers[number] = static_cast<uint32_t>(result.names.size());
    result.names.push_back(std::move(name));
  }
  return result;
}

ObjectCoverage HoldAgainstCode(const ObjectCounts& counts, const CoverageSources& sources,
                               SourceFileNumbers& files) {
  ObjectCoverage object;
  object.counts = &counts;
  if (counts.id.made_at_run_time) return object;
  Result<ObjectImage> image = sources.open(counts.id);
  if (!image) {
    object.problem = image.error().message();
    return object;
  }
  object.image = std::make_shared<const ObjectImage>(*std::move(image));
  const std::vector<CountAt> executed = CountsByAddress(counts, *object.image);
  std::vector<uint64_t> addresses;
  addresses.reserve(executed.size());
  std::ranges::transform(executed, std::back_inserter(addresses), &CountAt::address);
  Result<StaticCode> code = StaticCode::Of(*object.image, sources.search, addresses);
  if (!code) {
    object.problem = code.error().message();
    return object;
  }
  object.code = std::make_shared<const StaticCode>(*std::move(code));
  CountInstructions(object, executed);
  object.begins.assign(object.code->functions().size(), {});
  if (sources.lines != nullptr) {
    FindPlaces(object, *sources.lines, files);
    FindBegins(object, *sources.lines, files);
  } else {
    object.places.assign(object.times.size(), {});
  }
  object.scopes.resize(object.times.size());
  object.inlined.resize(object.times.size());
  object.statements.resize(object.times.size(), true);
  object.unknown.resize(object.times.size());
  return object;
}

void MarkUnknown(std::vector<ObjectCoverage>& objects, const CoverageCounts& counts,
                 const CoverageSources& sources) {
  std::optional<ReachableCode> reachable;
  for (ObjectCoverage& object : objects) {
    if (object.code == nullptr || object.counts->IsKnown()) continue;
    MarkReplaced(object);
    if (object.counts->losses.empty()) continue;
    std::vector<bool> reached;
    if (AreOfTrace(object.counts->losses)) {
      if (!reachable) reachable.emplace(counts, sources.open);
      reached = reachable->Of(*object.image, *object.code, object.times);
    }
    for (const StaticCodeBlock& block : object.code->blocks())
      if (reached.empty() || reached[block.function])
        for (uint32_t i = block.first; i < block.first + block.count; ++i) object.unknown[i] = true;
  }
}

void SumUp(ObjectCoverage& object, const CoverageChoice& choice,
           const std::vector<std::string>& files) {
  if (object.code != nullptr) ObjectTotals(object, choice, files).Run();
}

}  // namespace flowback
