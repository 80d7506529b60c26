// SPDX-License-Identifier: MIT
#include "cli/quantity.h"

#include <fmt/format.h>

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
constexpr Unit kSizes[] = {{"", 1}, {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}};
constexpr Unit kTimes[] = {{"", 1e9},  {"ns", 1},   {"us", 1e3},  {"ms", 1e6},
                           {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};

std::optional<uint64_t> Parse(const std::string& text, std::span<const Unit> units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (code != std::errc() || !(number >= 0)) return std::nullopt;
  const std::string_view unit(stop, static_cast<size_t>(end - stop));
  for (const Unit& known : units) {
    if (known.name != unit) continue;
    const double value = number * known.factor;
    if (value >= 0x1p63) return std::nullopt;
    return static_cast<uint64_t>(std::llround(value));
  }
  return std::nullopt;
}

}  // namespace

Result<uint64_t> ParseSize(const std::string& text, const std::string& option) {
  if (const auto value = Parse(text, kSizes)) return *value;
  return Fail(Error(ErrorCode::kUsage, fmt::format("{}: '{}' is no size", option, text))
                  .Remedy(option + " 4096, 64K or 2M"));
}

Result<uint64_t> ParseDuration(const std::string& text, const std::string& option) {
  if (const auto value = Parse(text, kTimes)) return *value;
  return Fail(Error(ErrorCode::kUsage, fmt::format("{}: '{}' is no duration", option, text))
                  .Remedy(option + " 50us, 10ms or 2s"));
}

}  // namespace flowback::cli
