// SPDX-License-Identifier: MIT
#include "replay/symbols/kallsyms.h"

#include <algorithm>
#include <cstdio>

#include "base/text_words.h"

namespace flowback::symbols {
namespace {

// Between the kernel's text and the modules lie gaps without symbols.
constexpr uint64_t kMostSize = 1 << 20;

}  // namespace

std::optional<Kallsyms::Symbol> Kallsyms::ReadLine(std::string_view line) {
  Words words(line);
  const std::optional<uint64_t> address = Number(words.Next(), 16);
  const std::string_view type = words.Next();
  const std::string_view name = words.Next();
  if (!address || type.size() != 1 || name.empty()) return std::nullopt;
  return Symbol{*address, std::string_view("tTwW").contains(type[0]), std::string(name)};
}

bool Kallsyms::IsLine(std::string_view line) { return ReadLine(line).has_value(); }

Kallsyms Kallsyms::Read(Bytes text) {
  Kallsyms list;
  ForEachLine(text, [&list](std::string_view line, uint64_t) {
    std::optional<Symbol> symbol = ReadLine(line);
    if (symbol && symbol->address != 0) list.symbols_.push_back(std::move(*symbol));
    return true;
  });
  // If several names have one address, the first code symbol is taken, as the list has it.
  std::ranges::stable_sort(list.symbols_, [](const Symbol& a, const Symbol& b) {
    return a.address != b.address ? a.address < b.address : a.is_code && !b.is_code;
  });
  const auto doubles = std::ranges::unique(list.symbols_, {}, &Symbol::address);
  list.symbols_.erase(doubles.begin(), doubles.end());
  return list;
}

Kallsyms Kallsyms::ReadFile(const std::string& path) {
  // /proc/kallsyms can't be mapped and says that it has no bytes; it has to be read.
  FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return {};
  std::vector<uint8_t> text;
  constexpr size_t kPart = 1 << 20;
  constexpr size_t kMost = 256 * kPart;
  for (size_t got = kPart; got == kPart && text.size() < kMost;) {
    text.resize(text.size() + kPart);
    got = std::fread(text.data() + text.size() - kPart, 1, kPart, file);
    text.resize(text.size() - kPart + got);
  }
  std::fclose(file);
  return Read(text);
}

std::optional<Kallsyms::Hit> Kallsyms::Find(uint64_t address) const {
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
  if (after == symbols_.begin()) return std::nullopt;
  const Symbol& symbol = *std::prev(after);
  const uint64_t size =
      after == symbols_.end() ? kMostSize : std::min(after->address - symbol.address, kMostSize);
  if (!symbol.is_code || address - symbol.address >= size) return std::nullopt;
  return Hit{.name = symbol.name, .offset = address - symbol.address, .size = size};
}

}  // namespace flowback::symbols
