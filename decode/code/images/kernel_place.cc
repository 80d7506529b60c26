// SPDX-License-Identifier: MIT
#include "decode/code/images/kernel_place.h"

#include <fstream>
#include <string_view>
#include <variant>
#include <vector>

#include "base/linux/kernel_address.h"
#include "base/text_words.h"

namespace flowback {

KernelPlace RecordedPlace(const Recording& recording) {
  for (const SidebandRecord& any : recording.sideband) {
    const auto* const map = std::get_if<MmapRecord>(&any);
    if (map == nullptr || !map->kernel || !map->path.starts_with(kKernelMap)) continue;
    const std::string symbol = map->path.substr(kKernelMap.size());
    if (symbol.empty() || !IsKernelAddress(map->file_offset)) return {};
    return {.symbol = symbol, .address = map->file_offset};
  }
  return {};
}

// The kernel's text is near the list's beginning, and making the whole list takes the kernel a
// tenth of a second.
uint64_t PlaceInSymbols(const std::string& kallsyms, const std::string& symbol) {
  if (symbol.empty()) return 0;
  std::ifstream file(kallsyms);
  std::vector<char> line(kLongestLine);
  while (file.getline(line.data(), static_cast<std::streamsize>(line.size()))) {
    Words words(line.data());
    const std::string_view address = words.Next();
    words.Next();
    if (words.Next() == symbol) return Number(address, 16).value_or(0);
  }
  return 0;
}

}  // namespace flowback
