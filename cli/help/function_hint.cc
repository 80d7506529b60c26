// SPDX-License-Identifier: MIT
#include "cli/help/function_hint.h"

#include <algorithm>
#include <set>

#include "base/name_pattern.h"
#include "cli/text/suggestion.h"
#include "flowback/capture/open.h"
#include "replay/symbols/elf/debug_file.h"
#include "replay/symbols/elf/elf_symbols.h"

namespace flowback::cli {

void AppendFunctions(const std::string& path, const ImageSearch& search, size_t most,
                     std::vector<std::string>& names) {
  const auto file = symbols::SymbolFile::Open(path);
  if (file == nullptr) return;
  const auto debug_file =
      file->Find(".symtab") == nullptr ? symbols::OpenDebugFile(*file, search) : nullptr;
  symbols::ElfSymbols::Read(*file, debug_file.get()).AppendNames(most, names);
}

std::vector<std::string> RecordedFunctions(const Recording& recording, const ImageSearch& search,
                                           size_t most) {
  std::vector<std::string> names;
  const Result<RecordingCode> code = RecordingCode::Load(recording, search);
  if (!code) return names;
  std::set<std::string> files;
  for (const ImageStatus& image : code->images())
    if (image.usable && files.insert(image.file).second)
      AppendFunctions(image.file, search, most, names);
  return names;
}

std::string DidYouMeanFunction(const std::string& recording, const std::string& function) {
  const Result<NamePattern> pattern = NamePattern::Parse(function);
  OpenOptions options;
  options.input = recording;
  const Result<Recording> opened = OpenRecording(options);
  if (!pattern || !pattern->is_plain() || !opened) return {};
  std::vector<std::string> names = RecordedFunctions(*opened, {}, kMostNamesToCompare);
  for (std::string& name : names)
    name.resize(std::min({name.size(), name.find('('), name.find('@')}));
  return DidYouMean(function, names);
}

}  // namespace flowback::cli
