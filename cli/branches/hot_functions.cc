// SPDX-License-Identifier: MIT
#include "cli/branches/hot_functions.h"

#include <fmt/format.h>

#include <algorithm>

namespace flowback::cli {
namespace {

bool IsCall(InstructionClass kind) {
  return kind == InstructionClass::kCall || kind == InstructionClass::kIndirectCall;
}

}  // namespace

Result<HotObject> HotObject::Open(const BranchesView& view, uint32_t number) {
  HotObject object;
  const std::string& file = view.report.objects[number];
  object.path_ = view.opened.RecordedPath(file);
  Result<ObjectImage> image = ObjectImage::Open({.path = object.path_, .build_id = {}}, file);
  if (!image) return Fail(image.error());
  object.image_ = *std::move(image);
  std::vector<uint64_t> executed;
  const auto address_of = [&](const CodePlace& place) {
    return place.object == number ? object.image_->AddressOf(place.offset)
                                  : std::optional<uint64_t>();
  };
  for (const RangeSum& range : view.report.ranges) {
    const auto begin = address_of(range.begin), end = address_of(range.end);
    if (!begin || !end) continue;
    executed.insert(executed.end(), {*begin, *end});
    object.times_.Add(*begin, *end, range.times);
    object.begun_[*begin] += range.times;
    if (range.cycles.count() != 0) object.lines_[{*begin, *end}] = &range.cycles;
  }
  object.times_.Sum();
  for (const BranchSum& sum : view.report.branches) {
    const auto address = address_of(sum.place);
    if (!address) continue;
    object.branches_[*address] = &sum;
    if (IsCall(sum.kind)) continue;
    for (const auto& [place, edge] : sum.edges)
      if (const auto target = address_of(place))
        object.jumps_[*target].push_back({*address, edge.times});
  }
  std::ranges::sort(executed);
  Result<StaticCode> code = StaticCode::Of(*object.image_, view.opened.options().search, executed);
  if (!code) return Fail(code.error());
  object.code_ = *std::move(code);
  return object;
}

const BranchSum* HotObject::BranchAt(uint64_t address) const {
  const auto found = branches_.find(address);
  return found == branches_.end() ? nullptr : found->second;
}

const CycleSums* HotObject::CyclesOf(const StaticCodeBlock& block) const {
  const StaticInstruction& last = code_->instructions()[block.first + block.count - 1];
  const auto found = lines_.find({block.begin, last.address});
  return found == lines_.end() ? nullptr : found->second;
}

uint64_t HotObject::InstructionsIn(const StaticFunction& function) const {
  uint64_t instructions = 0;
  for (const StaticCodeBlock& block :
       code_->blocks().subspan(function.first_block, function.block_count))
    for (uint32_t i = block.first; i < block.first + block.count; ++i)
      instructions += TimesAt(code_->instructions()[i].address);
  return instructions;
}

uint64_t HotObject::CallsOf(const StaticFunction& function) const {
  const auto begun = begun_.find(function.begin);
  if (begun == begun_.end()) return 0;
  uint64_t calls = begun->second;
  const auto jumps = jumps_.find(function.begin);
  if (jumps == jumps_.end()) return calls;
  for (const Jump& jump : jumps->second) {
    const StaticFunction* from = code_->FunctionAt(jump.from);
    if (from != nullptr && from->whole == function.whole) calls -= std::min(calls, jump.times);
  }
  return calls;
}

Result<std::vector<HotFunction>> HotFunctions(const BranchesView& view, const NamePattern& pattern,
                                              std::vector<HotObject>& objects) {
  objects.reserve(view.report.objects.size());
  std::vector<HotFunction> functions;
  bool any = false;
  for (uint32_t number = 0; number < view.report.objects.size(); ++number) {
    Result<HotObject> opened = HotObject::Open(view, number);
    if (!opened) continue;  // code without a file has no functions that could be named
    objects.push_back(*std::move(opened));
    const HotObject& object = objects.back();
    for (const StaticFunction& function : object.code().functions()) {
      if (function.name.empty() || !pattern.Matches(function.name)) continue;
      any = true;
      const uint64_t instructions = object.InstructionsIn(function);
      if (instructions != 0) functions.push_back({&object, &function, instructions});
    }
  }
  if (functions.empty())
    return Fail(
        Error(ErrorCode::kUsage,
              fmt::format("branches: {} in the files that ran is called '{}'",
                          any ? "nothing that was executed" : "no function", pattern.text()))
            .Remedy("flowback branches tells which functions branch most; a pattern with * "
                    "or /a regular expression/ fits more"));
  std::ranges::stable_sort(functions, std::ranges::greater(), &HotFunction::instructions);
  return functions;
}

}  // namespace flowback::cli
