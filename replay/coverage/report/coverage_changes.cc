// SPDX-License-Identifier: MIT
#include "replay/coverage/report/coverage_changes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/hex.h"
#include "base/path_text.h"
#include "replay/coverage/report/by_source.h"

namespace flowback {
namespace {

struct Known {
  Executed state = Executed::kNo;
  uint64_t bytes = 0;
};
using ByName = std::map<std::pair<std::string, std::string>, Known>;

std::string NameOf(const ObjectCoverage& object, const StaticFunction& function) {
  if (!function.name.empty()) return function.name;
  return "[function at " + Hex(function.begin) + " of " + object.counts->id.build_id.ToHex() + "]";
}

ByName FunctionsOf(const CoverageReport& report) {
  ByName result;
  for (const ObjectCoverage& object : report.objects)
    for (const FunctionCoverage& function : object.functions) {
      const StaticFunction& code = object.Code(function);
      const auto [at, is_new] =
          result.try_emplace({std::string(LastPart(object.counts->id.path)), NameOf(object, code)});
      at->second.state = is_new ? function.state : EitherState(at->second.state, function.state);
      at->second.bytes += code.code_bytes;
    }
  return result;
}

// Returns the functions that executed in `some`, and did not in `others`, which know them.
std::vector<CoverageChange> OnlyIn(const ByName& some, const ByName& others) {
  std::vector<CoverageChange> result;
  for (const auto& [name, known] : some) {
    const auto other = others.find(name);
    if (known.state == Executed::kYes && other != others.end() &&
        other->second.state == Executed::kNo)
      result.push_back({name.first, name.second, known.bytes});
  }
  std::ranges::stable_sort(result, std::greater{}, &CoverageChange::bytes);
  return result;
}

}  // namespace

CoverageChanges CoverageChanges::Between(const CoverageReport& old, const CoverageReport& now) {
  const ByName before = FunctionsOf(old);
  const ByName after = FunctionsOf(now);
  return {.newly_executed = OnlyIn(after, before), .no_longer_executed = OnlyIn(before, after)};
}

}  // namespace flowback
