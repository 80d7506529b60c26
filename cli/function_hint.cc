// SPDX-License-Identifier: MIT
#include "cli/function_hint.h"

#include <algorithm>
#include <vector>

#include "base/name_pattern.h"
#include "cli/suggestion.h"
#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "replay/symbols/elf_symbols.h"

namespace flowback::cli {
namespace {

// The time of a spelling check.
constexpr size_t kMostNames = 100'000;

void AppendFunctions(const std::string& path, std::vector<std::string>& names) {
  if (const auto file = symbols::SymbolFile::Open(path))
    symbols::ElfSymbols::Read(*file, nullptr).AppendNames(kMostNames, names);
}

}  // namespace

std::string DidYouMeanFunction(const std::string& recording, const std::string& function) {
  const Result<NamePattern> pattern = NamePattern::Parse(function);
  OpenOptions options;
  options.input = recording;
  const Result<Recording> opened = OpenRecording(options);
  if (!pattern || !pattern->is_plain() || !opened) return {};
  const Result<RecordingCode> code = RecordingCode::Load(*opened, {});
  if (!code) return {};
  std::vector<std::string> names;
  for (const ImageStatus& image : code->images())
    if (image.usable) AppendFunctions(image.file, names);
  for (std::string& name : names)
    name.resize(std::min({name.size(), name.find('('), name.find('@')}));
  return DidYouMean(function, names);
}

}  // namespace flowback::cli
