// SPDX-License-Identifier: MIT
#include "replay/branches/hot_functions.h"

#include <algorithm>
#include <functional>

namespace flowback {
namespace {

bool IsCallClass(InstructionClass kind) {
  return kind == InstructionClass::kCall || kind == InstructionClass::kIndirectCall;
}

}  // namespace

Result<HotObject> HotObject::Open(const BranchReport& report, uint32_t number,
                                  const RecordingCode& code, const ImageSearch& search) {
  HotObject object;
  const std::string& file = report.objects[number];
  object.path_ = code.RecordedPath(file);
  Result<ObjectImage> image = ObjectImage::Open({.path = object.path_, .build_id = {}}, file);
  if (!image) return Fail(image.error());
  object.image_ = *std::move(image);
  std::vector<uint64_t> executed;
  const auto address_of = [&](const CodePlace& place) {
    return place.object == number ? object.image_->AddressOf(place.offset)
                                  : std::optional<uint64_t>();
  };
  for (const RangeSum& range : report.ranges) {
    const auto begin = address_of(range.begin), end = address_of(range.end);
    if (!begin || !end) continue;
    executed.insert(executed.end(), {*begin, *end});
    object.times_.Add(*begin, *end, range.times);
    object.begun_[*begin] += range.times;
    if (range.cycles.count() != 0) object.lines_[{*begin, *end}] = &range.cycles;
  }
  object.times_.Sum();
  for (const BranchSum& sum : report.branches) {
    const auto address = address_of(sum.place);
    if (!address) continue;
    object.branches_[*address] = &sum;
    if (IsCallClass(sum.kind)) continue;
    for (const auto& [place, edge] : sum.edges)
      if (const auto target = address_of(place))
        object.jumps_[*target].push_back({*address, edge.times});
  }
  std::ranges::sort(executed);
  Result<StaticCode> found = StaticCode::Of(*object.image_, search, executed);
  if (!found) return Fail(found.error());
  object.code_ = *std::move(found);
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

HotFunctions FindHotFunctions(const BranchReport& report, const RecordingCode& code,
                              const ImageSearch& search, const NamePattern& pattern) {
  HotFunctions found;
  found.objects.reserve(report.objects.size());
  for (uint32_t number = 0; number < report.objects.size(); ++number) {
    Result<HotObject> opened = HotObject::Open(report, number, code, search);
    if (!opened) continue;  // code without a file has no functions that could be named
    found.objects.push_back(*std::move(opened));
    const HotObject& object = found.objects.back();
    for (const StaticFunction& function : object.code().functions()) {
      if (function.name.empty() || !pattern.Matches(function.name)) continue;
      found.any_fits = true;
      const uint64_t instructions = object.InstructionsIn(function);
      if (instructions != 0) found.functions.push_back({&object, &function, instructions});
    }
  }
  std::ranges::stable_sort(found.functions, std::ranges::greater(), &HotFunction::instructions);
  return found;
}

}  // namespace flowback
