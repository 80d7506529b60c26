// SPDX-License-Identifier: MIT
#include "cli/text/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

namespace flowback::cli {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kSizes[] = {{"", 1}, {"k", 0x1p10}, {"m", 0x1p20}, {"g", 0x1p30}, {"t", 0x1p40}};
constexpr Unit kTimes[] = {{"", 1e9},   {"ns", 1},     {"us", 1e3},   {"ms", 1e6},   {"s", 1e9},
                           {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};

const Unit* FindUnit(std::string_view name, std::span<const Unit> units) {
  const auto unit = std::ranges::find(units, name, &Unit::name);
  return unit == units.end() ? nullptr : &*unit;
}

struct Part {
  double value = 0;
  bool has_unit = false;
};

// Takes a number and its unit off the begin of `text`.
std::optional<Part> TakePart(std::string_view& text, std::span<const Unit> units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (code != std::errc() || !(number >= 0)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  const size_t length = std::min(text.find_first_of("0123456789.-"), text.size());
  const Unit* unit = FindUnit(text.substr(0, length), units);
  if (unit == nullptr) return std::nullopt;
  text.remove_prefix(length);
  return Part{number * unit->factor, length != 0};
}

std::optional<uint64_t> Whole(double value) {
  if (value >= 0x1p63) return std::nullopt;
  return static_cast<uint64_t>(std::llround(value));
}

// "4K", "4k", "4KB" and "4KiB" are the same: powers of 1024, as perf has them.
std::optional<uint64_t> Size(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  std::string_view rest = lower;
  if (rest.ends_with("ib"))
    rest.remove_suffix(2);
  else if (rest.ends_with('b'))
    rest.remove_suffix(1);
  const auto part = TakePart(rest, kSizes);
  return part && rest.empty() ? Whole(part->value) : std::nullopt;
}

// "1h30m" is a sum of parts, each with its unit; a number alone is in seconds.
std::optional<uint64_t> Duration(std::string_view text) {
  double sum = 0;
  for (bool first = true; first || !text.empty(); first = false) {
    const auto part = TakePart(text, kTimes);
    if (!part || (!part->has_unit && !(first && text.empty()))) return std::nullopt;
    sum += part->value;
  }
  return Whole(sum);
}

}  // namespace

Result<uint64_t> ParseSize(const std::string& text, const std::string& option) {
  if (const auto value = Size(text)) return *value;
  return Fail(Error(ErrorCode::kUsage, fmt::format("{}: '{}' is no size", option, text))
                  .Remedy(option + " 4096, 64K or 2M"));
}

Result<uint64_t> ParseDuration(const std::string& text, const std::string& option) {
  if (const auto value = Duration(text)) return *value;
  return Fail(Error(ErrorCode::kUsage, fmt::format("{}: '{}' is no duration", option, text))
                  .Remedy(option + " 50us, 10ms, 2s or 1h30m"));
}

}  // namespace flowback::cli
