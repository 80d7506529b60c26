// SPDX-License-Identifier: MIT
#include "capture/kernel/pmu.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace flowback::kernel {
namespace {

constexpr unsigned kWordBits = 64;
constexpr int kMostCpus = 1 << 16;

uint64_t Ones(unsigned width) {
  return width >= kWordBits ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}

// "7" or "0-7"; `end` of one number is its begin.
struct Span {
  unsigned begin = 0, end = 0;
};
std::optional<Span> ParseSpan(std::string_view text) {
  Span span;
  const char* const stop = text.data() + text.size();
  auto read = std::from_chars(text.data(), stop, span.begin);
  if (read.ec != std::errc()) return std::nullopt;
  span.end = span.begin;
  if (read.ptr != stop && *read.ptr == '-') read = std::from_chars(read.ptr + 1, stop, span.end);
  if (read.ec != std::errc() || read.ptr != stop || span.end < span.begin) return std::nullopt;
  return span;
}

// Calls `each` with the parts between commas until it returns false.
template <class Each>
bool ForParts(std::string_view text, Each each) {
  while (true) {
    const size_t comma = text.find(',');
    if (!each(text.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

std::optional<unsigned> WordOf(std::string_view name) {
  if (name == "config") return 0;
  if (name == "config1") return 1;
  if (name == "config2") return 2;
  return std::nullopt;
}

uint64_t WordIn(const perf_event_attr& attr, unsigned word) {
  return word == 0 ? attr.config : word == 1 ? attr.config1 : attr.config2;
}

void SetWord(perf_event_attr& attr, unsigned word, uint64_t value) {
  if (word == 0) attr.config = value;
  if (word == 1) attr.config1 = value;
  if (word == 2) attr.config2 = value;
}

std::map<std::string, std::string, std::less<>> ReadLines(const SystemKernel& kernel,
                                                          const std::string& folder) {
  std::map<std::string, std::string, std::less<>> lines;
  for (const std::string& name : kernel.List(folder))
    if (name.find('.') == std::string::npos)  // events have NAME.scale and NAME.unit beside them
      lines[name] = ReadLine(kernel, folder + "/" + name).value_or("");
  return lines;
}

std::optional<Pmu> ReadPmu(const SystemKernel& kernel, const std::string& name) {
  const std::string folder = std::string(kPmuFolder) + "/" + name;
  const auto type = ReadNumber(kernel, folder + "/type");
  if (!type || *type < 0 || *type > UINT32_MAX) return std::nullopt;
  Pmu pmu{.name = name,
          .type = static_cast<uint32_t>(*type),
          .format = {},
          .caps = ReadLines(kernel, folder + "/caps"),
          .events = ReadLines(kernel, folder + "/events"),
          .cpus = {}};
  for (const auto& [term, text] : ReadLines(kernel, folder + "/format"))
    if (auto bits = TermBits::Parse(text)) pmu.format.emplace(term, *std::move(bits));
  for (const char* file : {"/cpus", "/cpumask"})
    if (const auto list = ReadLine(kernel, folder + file); list && pmu.cpus.empty())
      pmu.cpus = ParseCpuList(*list).value_or(std::vector<int>());
  pmu.address_filters =
      static_cast<uint64_t>(ReadNumber(kernel, folder + "/nr_addr_filters").value_or(0));
  return pmu;
}

}  // namespace

std::optional<TermBits> TermBits::Parse(std::string_view text) {
  const size_t colon = text.find(':');
  const auto word = WordOf(text.substr(0, colon));
  if (!word || colon == std::string_view::npos) return std::nullopt;
  TermBits bits;
  bits.word_ = *word;
  const bool whole = ForParts(text.substr(colon + 1), [&](std::string_view part) {
    const auto span = ParseSpan(part);
    if (!span || span->end >= kWordBits) return false;
    bits.ranges_.push_back({span->begin, span->end - span->begin + 1});
    return true;
  });
  if (!whole) return std::nullopt;
  return bits;
}

unsigned TermBits::width() const {
  unsigned sum = 0;
  for (const Range& range : ranges_) sum += range.width;
  return sum;
}

uint64_t TermBits::largest() const { return Ones(width()); }

void TermBits::Set(perf_event_attr& attr, uint64_t value) const {
  uint64_t word = WordIn(attr, word_);
  for (const Range& range : ranges_) {
    const uint64_t mask = Ones(range.width);
    word = (word & ~(mask << range.first)) | (value & mask) << range.first;
    value = range.width >= kWordBits ? 0 : value >> range.width;
  }
  SetWord(attr, word_, word);
}

uint64_t TermBits::Get(const perf_event_attr& attr) const {
  uint64_t value = 0;
  unsigned at = 0;
  for (const Range& range : ranges_) {
    value |= (WordIn(attr, word_) >> range.first & Ones(range.width)) << at;
    at += range.width;
  }
  return value;
}

// The driver of Intel PT writes masks in hexadecimal, without 0x.
uint64_t Pmu::Cap(std::string_view cap) const {
  constexpr int kHexadecimal = 16;
  constexpr int kAsWritten = 0;  // decimal, or 0x...
  const auto found = caps.find(cap);
  if (found == caps.end()) return 0;
  return std::strtoull(found->second.c_str(), nullptr,
                       name == "intel_pt" ? kHexadecimal : kAsWritten);
}

bool Pmu::of_core() const {
  return name == "cpu" || name == "cpu_core" || name == "cpu_atom" || name.starts_with("armv8_") ||
         name.starts_with("armv9_");
}

std::vector<Pmu> ReadPmus(const SystemKernel& kernel) {
  std::vector<Pmu> pmus;
  for (const std::string& name : kernel.List(kPmuFolder))
    if (auto pmu = ReadPmu(kernel, name)) pmus.push_back(*std::move(pmu));
  return pmus;
}

const Pmu* FindPmu(const std::vector<Pmu>& pmus, std::string_view name) {
  const auto found = std::ranges::find(pmus, name, &Pmu::name);
  return found == pmus.end() ? nullptr : &*found;
}

std::optional<std::vector<int>> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  const bool whole = ForParts(text, [&](std::string_view part) {
    const auto span = ParseSpan(part);
    if (!span || span->end >= kMostCpus) return false;
    for (unsigned cpu = span->begin; cpu <= span->end; ++cpu) cpus.push_back(static_cast<int>(cpu));
    return true;
  });
  if (!whole) return std::nullopt;
  return cpus;
}

}  // namespace flowback::kernel
