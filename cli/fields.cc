// SPDX-License-Identifier: MIT
#include "cli/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "cli/arguments.h"

namespace flowback::cli {
namespace {

constexpr std::string_view kWords[] = {
#define FLOWBACK_FIELD(name, word) word,
#include "cli/fields.def"
#undef FLOWBACK_FIELD
};

std::string AllWords() {
  std::string all;
  for (const std::string_view word : kWords) all += (all.empty() ? "" : ",") + std::string(word);
  return all;
}

}  // namespace

Result<Fields> Fields::Parse(const std::string& words) {
  Fields fields;
  for (const std::string& word : SplitAtCommas(words)) {
    size_t i = 0;
    while (i < std::size(kWords) && kWords[i] != word) ++i;
    if (i == std::size(kWords))
      return Fail(Error(ErrorCode::kUsage, fmt::format("-F: no field '{}'", word))
                      .Remedy("-F with any of " + AllWords()));
    fields.Add(static_cast<Field>(i));
  }
  if (fields.empty())
    return Fail(Error(ErrorCode::kUsage, "-F: no fields").Remedy("-F with any of " + AllWords()));
  return fields;
}

Status Fields::CheckOnly(const std::string& words, const std::string& allowed,
                         std::string_view kind) const {
  std::string wrong;
  const std::vector<std::string> fitting = SplitAtCommas(allowed);
  for (const std::string& word : SplitAtCommas(words))
    if (std::ranges::find(fitting, word) == fitting.end())
      wrong += (wrong.empty() ? "" : ",") + word;
  if (wrong.empty()) return {};
  Error error(ErrorCode::kUsage, fmt::format("decode --as {}: -F {} does not apply", kind, wrong));
  return Fail(error.Remedy(allowed.empty() ? "leave -F out" : "-F with any of " + allowed));
}

}  // namespace flowback::cli
