// SPDX-License-Identifier: MIT
// A name is written as a function in C++'s namespaces; the last one is a hash. Letters that no
// linker takes stand between dollars.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "replay/symbols/demangle/rust_names.h"
#include "replay/symbols/demangle/utf8.h"

namespace flowback::symbols {
namespace {

// Whether it is the hash: "h" and sixteen hexadecimal digits.
bool IsHash(std::string_view part) {
  return part.size() == 17 && part[0] == 'h' && std::ranges::all_of(part.substr(1), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// What stands between two "$"; empty: nothing that is known.
std::string Escaped(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kWords = {{{"SP", "@"},
                                                                                    {"BP", "*"},
                                                                                    {"RF", "&"},
                                                                                    {"LT", "<"},
                                                                                    {"GT", ">"},
                                                                                    {"LP", "("},
                                                                                    {"RP", ")"},
                                                                                    {"C", ","}}};
  for (const auto& [known, text] : kWords)
    if (known == word) return std::string(text);
  uint64_t code = 0;
  if (word.size() < 2 || word[0] != 'u') return {};
  const auto read = std::from_chars(word.data() + 1, word.data() + word.size(), code, 16);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size() || code < 0x20) return {};
  return Character(code);
}

std::string Unescaped(std::string_view part) {
  if (part.starts_with("_$")) part.remove_prefix(1);  // no name may begin with "$"
  std::string text;
  while (!part.empty()) {
    const size_t end = part[0] == '$' ? part.find('$', 1) : part.npos;
    const std::string escaped = end == part.npos ? std::string() : Escaped(part.substr(1, end - 1));
    if (!escaped.empty()) {
      text += escaped;
      part.remove_prefix(end + 1);
    } else if (part.starts_with("..")) {
      text += "::";
      part.remove_prefix(2);
    } else {
      text += part[0];
      part.remove_prefix(1);
    }
  }
  return text;
}

}  // namespace

std::optional<std::string> OlderRustName(std::string_view mangled) {
  if (!mangled.starts_with("_ZN")) return std::nullopt;
  mangled.remove_prefix(3);
  std::string text;
  std::string_view last;
  while (!mangled.empty() && mangled[0] >= '0' && mangled[0] <= '9') {
    size_t length = 0;
    const auto read = std::from_chars(mangled.data(), mangled.data() + mangled.size(), length);
    mangled.remove_prefix(static_cast<size_t>(read.ptr - mangled.data()));
    if (read.ec != std::errc() || length == 0 || length > mangled.size()) return std::nullopt;
    if (!last.empty()) text += (text.empty() ? "" : "::") + Unescaped(last);
    last = mangled.substr(0, length);
    mangled.remove_prefix(length);
  }
  const bool ends = mangled == "E" || mangled.starts_with("E.");
  if (!ends || !IsHash(last) || text.empty()) return std::nullopt;
  return text;
}

}  // namespace flowback::symbols
