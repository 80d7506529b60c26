// SPDX-License-Identifier: MIT
#include "capture/record/emulate/mapped_file_text.h"

#include <sys/stat.h>

#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

namespace flowback::record {
namespace {

constexpr int kHex = 16;

std::optional<uint64_t> TakeHex(std::string_view& rest) {
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, kHex);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

std::string HexDigits(uint64_t number) {
  char text[kHex];
  return {text, std::to_chars(text, text + sizeof text, number, kHex).ptr};
}

}  // namespace

MappedFileText MappedFileText::Of(const ExecutableMapping& mapping) {
  struct stat info{};
  std::string version = mapping.path + '\n' + mapping.identity;
  if (!mapping.deleted && stat(mapping.path.c_str(), &info) == 0)
    for (const auto number : {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec})
      version += ' ' + std::to_string(number);
  return {mapping, std::hash<std::string>()(version) | 1};  // never 0, which is nothing's
}

std::optional<MappedFileText> MappedFileText::Parse(const std::string& text) {
  std::string_view rest = text;
  MappedFileText parsed;
  const auto key = TakeHex(rest);
  const auto begin = TakeHex(rest);
  const auto end = TakeHex(rest);
  const auto deleted = TakeHex(rest);
  if (!key || !begin || !end || !deleted) return std::nullopt;
  parsed.key = *key;
  parsed.mapping.begin = *begin;
  parsed.mapping.end = *end;
  parsed.mapping.deleted = *deleted != 0;
  parsed.mapping.has_file = true;
  parsed.mapping.identity = rest;
  return parsed;
}

std::string MappedFileText::Text() const {
  return HexDigits(key) + ' ' + HexDigits(mapping.begin) + ' ' + HexDigits(mapping.end) +
         (mapping.deleted ? " 1 " : " 0 ") + mapping.identity;
}

}  // namespace flowback::record
