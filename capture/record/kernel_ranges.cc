// SPDX-License-Identifier: MIT
#include "capture/record/kernel_ranges.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace flowback::record {
namespace {

// The first word, which goes from `text`.
std::string_view TakeWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

template <class Visitor>
void ForEachLine(std::string_view text, Visitor visit) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    visit(line);
  }
}

uint64_t Number(std::string_view word, int base) {
  if (word.starts_with("0x")) word.remove_prefix(2);
  uint64_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value, base);
  return value;
}

// What was seen of addresses; none: `end` is 0.
struct Span {
  uint64_t begin = ~uint64_t{0};
  uint64_t end = 0;

  void Add(uint64_t from, uint64_t to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  }
};

// How long the last symbol's code is it does not tell: no more than the page it ends in, as a rule.
constexpr uint64_t kOfLast = 4096;

struct Seen {
  Span all;      // the kernel's own symbols of code
  Span text;     // from _stext to _etext
  Span modules;  // symbols in brackets, and whole modules
  bool hidden = false;

  void TakeSymbol(std::string_view line) {
    const uint64_t address = Number(TakeWord(line), 16);
    const std::string_view kind = TakeWord(line);
    const std::string_view name = TakeWord(line);
    const std::string_view module = TakeWord(line);
    if (kind != "T" && kind != "t") return;
    if (address == 0) {
      hidden = true;
      return;
    }
    if (!module.empty()) return modules.Add(address, address + kOfLast);
    all.Add(address, address + kOfLast);
    if (name == "_stext") text.begin = address;
    if (name == "_etext") text.end = address;
  }
  // "nf_nat 57344 1 xt_nat, Live 0xffffffffc0a5d000"
  void TakeModule(std::string_view line) {
    TakeWord(line);
    const uint64_t size = Number(TakeWord(line), 10);
    const size_t at = line.find(" 0x");
    const uint64_t address = at == std::string_view::npos ? 0 : Number(line.substr(at + 1), 16);
    if (address != 0) modules.Add(address, address + size);
  }
};

AddressRange PagesOf(const Span& span) {
  return {.begin = span.begin & ~uint64_t{4095}, .end = ToPage(span.end)};
}

}  // namespace

Result<std::vector<AddressRange>> KernelCodeRanges(std::string_view symbols,
                                                   std::string_view modules) {
  Seen seen;
  ForEachLine(symbols, [&](std::string_view line) { seen.TakeSymbol(line); });
  ForEachLine(modules, [&](std::string_view line) { seen.TakeModule(line); });
  const bool bounded = seen.text.begin < seen.text.end;
  if (!bounded && seen.all.end == 0) {
    if (seen.hidden)
      return Fail(Error(ErrorCode::kPermission,
                        "--kcore: /proc/kallsyms hides the kernel's addresses from this user")
                      .Remedy("run it as root, or sudo sysctl kernel.kptr_restrict=0"));
    return Fail(Error(ErrorCode::kUnreadable, "--kcore: /proc/kallsyms has no code")
                    .Remedy("leave --kcore out: the trace of programs does not need it"));
  }
  std::vector<AddressRange> ranges = {PagesOf(bounded ? seen.text : seen.all)};
  if (seen.modules.end != 0) ranges.push_back(PagesOf(seen.modules));
  return ranges;
}

}  // namespace flowback::record
