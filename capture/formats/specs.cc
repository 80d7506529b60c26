// SPDX-License-Identifier: MIT
// The command line's spellings of sections, images, CPUs and address filters.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "flowback/capture/open.h"

namespace flowback {
namespace {

std::optional<uint64_t> ParseNumber(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes ":NUMBER" off the end of `rest`.
std::optional<uint64_t> TakeLastNumber(std::string_view& rest) {
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto value = ParseNumber(rest.substr(colon + 1));
  if (value) rest = rest.substr(0, colon);
  return value;
}

std::unexpected<Error> Malformed(const std::string& text, std::string expected) {
  return Fail(Error(ErrorCode::kUsage, "`" + text + "` is not " + std::move(expected))
                  .Remedy("numbers are decimal or 0x-hexadecimal"));
}

// Takes the number before the next '/' (or the end) off `rest`; empty when it is above `limit`.
std::optional<uint64_t> TakeCpuNumber(std::string_view& rest, uint64_t limit) {
  const size_t slash = rest.find('/');
  const auto value = ParseNumber(rest.substr(0, slash));
  rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  if (!value || *value > limit) return std::nullopt;
  return value;
}

constexpr std::string_view kFilterExpected =
    "an address filter: none, or START/SIZE, or `filter START/SIZE, ...` as perf takes it";

// Splits a filter at spaces and commas; '@' is a word of its own.
std::vector<std::string_view> FilterWords(std::string_view text) {
  constexpr std::string_view kBetween = " ,\t\n";
  std::vector<std::string_view> words;
  while ((text = text.substr(std::min(text.find_first_not_of(kBetween), text.size()))) != "") {
    const size_t end = text[0] == '@' ? 1 : std::min(text.find_first_of(" ,\t\n@"), text.size());
    words.push_back(text.substr(0, end));
    text = text.substr(end);
  }
  return words;
}

bool IsFilterAction(std::string_view word) {
  return word == "filter" || word == "start" || word == "stop" || word == "tracestop";
}

// START/SIZE.
std::optional<AddressRange> ParseAddressRange(std::string_view word) {
  const size_t slash = word.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto begin = ParseNumber(word.substr(0, slash));
  const auto size = ParseNumber(word.substr(slash + 1));
  if (!begin || !size || *size == 0) return std::nullopt;
  if (*size > std::numeric_limits<uint64_t>::max() - *begin) return std::nullopt;
  return AddressRange{*begin, *begin + *size};
}

}  // namespace

Result<TraceFilter> ParseTraceFilter(const std::string& text) {
  const std::vector<std::string_view> words = FilterWords(text);
  if (words.size() == 1 && words[0] == "none") return TraceFilter{.set = false, .ranges = {}};
  TraceFilter filter;
  for (size_t at = 0; at < words.size();) {
    const bool has_action = IsFilterAction(words[at]);
    const std::string_view action = has_action ? words[at++] : "filter";
    if (at == words.size() || words[at] == "@")
      return Malformed(text, std::string(kFilterExpected));
    const std::optional<AddressRange> range = ParseAddressRange(words[at++]);
    const bool of_file = at < words.size() && words[at] == "@";
    if (of_file) at += 2;
    if (at > words.size() || (!has_action && (!range || of_file)))
      return Malformed(text, std::string(kFilterExpected));
    if (action == "filter" && range && !of_file) filter.ranges.push_back(*range);
  }
  if (words.empty()) return Malformed(text, std::string(kFilterExpected));
  return filter;
}

Result<SectionSpec> ParseSectionSpec(const std::string& text) {
  std::string_view rest = text;
  const auto address = TakeLastNumber(rest);
  const auto size = address ? TakeLastNumber(rest) : std::nullopt;
  const auto offset = size ? TakeLastNumber(rest) : std::nullopt;
  if (!offset || rest.empty()) return Malformed(text, "a section FILE:OFFSET:SIZE:ADDRESS");
  if (*size == 0) return Malformed(text, "a section: its SIZE is 0");
  constexpr uint64_t kTop = std::numeric_limits<uint64_t>::max();
  if (*size - 1 > kTop - *address || *size - 1 > kTop - *offset) {
    return Malformed(text, "a section: it goes past the last 64-bit address");
  }
  return SectionSpec{std::string(rest), *offset, *size, *address};
}

// A file's name may contain '@': only what follows the last one and is a number counts as an
// address.
Result<ImageSpec> ParseImageSpec(const std::string& text) {
  const size_t at = text.rfind('@');
  const std::string_view after =
      at == std::string::npos ? std::string_view() : std::string_view(text).substr(at + 1);
  const auto address = ParseNumber(after);
  const bool has_address = at != std::string::npos && (address || after.empty());
  if (has_address && !address) return Malformed(text, "an image ELF[@LOAD_ADDRESS]");
  std::string file = address ? text.substr(0, at) : text;
  if (file.empty()) return Malformed(text, "an image ELF[@LOAD_ADDRESS]");
  return ImageSpec{std::move(file), address};
}

Result<CpuId> ParseCpuId(const std::string& text) {
  constexpr char kExpected[] = "a CPU FAMILY/MODEL[/STEPPING], as in 6/85/4";
  std::string_view rest = text;
  const bool has_stepping = text.find('/') != text.rfind('/');
  const auto family = TakeCpuNumber(rest, 0xf + 0xff);  // CPUID's base and extended family
  const auto model = TakeCpuNumber(rest, 0xff);
  const auto stepping = has_stepping ? TakeCpuNumber(rest, 0xf) : 0;
  if (!family || *family == 0 || !model || !stepping || !rest.empty()) {
    return Malformed(text, kExpected);
  }
  CpuId cpu;
  cpu.family = static_cast<uint16_t>(*family);
  cpu.model = static_cast<uint8_t>(*model);
  cpu.stepping = static_cast<uint8_t>(*stepping);
  return cpu;
}

Result<TimeConversion> ParseTimeConversion(const std::string& text) {
  constexpr char kExpected[] =
      "a time conversion SHIFT,MULT,ZERO with SHIFT up to 32 and MULT from 1 to 4294967295";
  const size_t first = text.find(',');
  const size_t second = first == std::string::npos ? first : text.find(',', first + 1);
  if (second == std::string::npos) return Malformed(text, kExpected);
  const std::string_view all = text;
  const auto shift = ParseNumber(all.substr(0, first));
  const auto mult = ParseNumber(all.substr(first + 1, second - first - 1));
  const auto zero = ParseNumber(all.substr(second + 1));
  if (!shift || *shift > 32 || !mult || *mult == 0 || !zero ||
      *mult > std::numeric_limits<uint32_t>::max()) {
    return Malformed(text, kExpected);
  }
  return TimeConversion{static_cast<uint16_t>(*shift), static_cast<uint32_t>(*mult), *zero};
}

}  // namespace flowback
