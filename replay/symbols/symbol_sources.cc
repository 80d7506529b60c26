// SPDX-License-Identifier: MIT
#include "replay/symbols/symbol_sources.h"

#include <string>
#include <vector>

namespace flowback {

void NoteSources(NumberWriter& out, const Symbolizer& symbolizer) {
  const std::vector<std::string> files = symbolizer.FilesRead();
  out.Number(files.size());
  for (const std::string& file : files)
    for (const std::string& text : {file, symbolizer.SourceOf(file)})
      out.Block({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

bool HaveStayed(NumberReader& in, const Symbolizer& symbolizer) {
  const auto text = [&in] {
    const Bytes bytes = in.Block();
    return std::string(bytes.begin(), bytes.end());
  };
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    const std::string file = text();
    if (text() != symbolizer.SourceOf(file)) return false;
  }
  return in.ok();
}

}  // namespace flowback
