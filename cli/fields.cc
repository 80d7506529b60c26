// SPDX-License-Identifier: MIT
#include "cli/fields.h"

#include <fmt/format.h>

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
  if (fields.Has(Field::kSrcline))
    return Fail(
        Error(ErrorCode::kUnsupported, "-F srcline: this build does not read debug information")
            .Remedy("-F sym,symoff,dso, and addr2line for the source line"));
  return fields;
}

}  // namespace flowback::cli
