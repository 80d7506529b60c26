// SPDX-License-Identifier: MIT
#include "cli/listing/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "cli/options/arguments.h"
#include "cli/text/suggestion.h"

namespace flowback::cli {
namespace {

constexpr std::string_view kWords[] = {
#define FLOWBACK_FIELD(name, word) word,
#include "cli/listing/fields.def"
#undef FLOWBACK_FIELD
};

std::string AllWords() {
  std::string all;
  for (const std::string_view word : kWords) all += (all.empty() ? "" : ",") + std::string(word);
  return all;
}

Result<Field> FindField(std::string_view word) {
  const auto found = std::ranges::find(kWords, word);
  if (found != std::end(kWords)) return static_cast<Field>(found - std::begin(kWords));
  const std::vector<std::string> known(std::begin(kWords), std::end(kWords));
  return Fail(
      Error(ErrorCode::kUsage, fmt::format("-F: no field '{}'{}", word, DidYouMean(word, known)))
          .Remedy("-F with any of " + AllWords()));
}

std::string_view WithoutSign(std::string_view word) {
  return word.starts_with('+') || word.starts_with('-') ? word.substr(1) : word;
}

}  // namespace

Result<Fields> Fields::Parse(const std::string& words) {
  Fields fields;
  for (const std::string& word : SplitAtCommas(words)) {
    const Result<Field> field = FindField(word);
    if (!field) return Fail(field.error());
    fields.Add(*field);
  }
  if (fields.empty())
    return Fail(Error(ErrorCode::kUsage, "-F: no fields").Remedy("-F with any of " + AllWords()));
  return fields;
}

Result<Fields> Fields::Changed(const std::string& usual, const std::string& words) {
  Fields fields;
  if (!usual.empty()) {
    const Result<Fields> begin = Parse(usual);
    if (!begin) return begin;
    fields = *begin;
  }
  bool add = true;
  for (const std::string& word : SplitAtCommas(words)) {
    if (Change(word)) add = word[0] == '+';
    const Result<Field> field = FindField(WithoutSign(word));
    if (!field) return Fail(field.error());
    if (add)
      fields.Add(*field);
    else
      fields.bits_ &= ~Bit(*field);
  }
  return fields;
}

Status Fields::CheckOnly(const std::string& words, const std::string& allowed,
                         std::string_view kind) const {
  std::string wrong;
  const std::vector<std::string> fitting = SplitAtCommas(allowed);
  for (const std::string& each : SplitAtCommas(words)) {
    const std::string_view word = WithoutSign(each);
    if (std::ranges::find(fitting, word) == fitting.end())
      wrong += (wrong.empty() ? "" : ",") + std::string(word);
  }
  if (wrong.empty()) return {};
  Error error(ErrorCode::kUsage, fmt::format("decode --as {}: -F {} does not apply", kind, wrong));
  return Fail(error.Remedy(allowed.empty() ? "leave -F out" : "-F with any of " + allowed));
}

}  // namespace flowback::cli
