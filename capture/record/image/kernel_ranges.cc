// SPDX-License-Identifier: MIT
#include "capture/record/image/kernel_ranges.h"

#include <algorithm>
#include <string>

#include "base/text_words.h"

namespace flowback::record {
namespace {

// The range of addresses seen; `end` is 0 if no address was seen.
struct Span {
  uint64_t begin = ~uint64_t{0};
  uint64_t end = 0;

  void Add(uint64_t from, uint64_t to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  }
};

// The list has no size for the last symbol: its code usually ends within a page.
constexpr uint64_t kOfLast = 4096;

struct Seen {
  Span all;      // the kernel's own symbols of code
  Span text;     // from _stext to _etext
  Span modules;  // symbols in brackets, and whole modules
  bool hidden = false;

  void TakeSymbol(std::string_view line) {
    Words words(line);
    const uint64_t address = Number(words.Next(), 16).value_or(0);
    const std::string_view kind = words.Next();
    const std::string_view name = words.Next();
    const std::string_view module = words.Next();
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
    Words words(line);
    words.Next();
    const uint64_t size = Number(words.Next(), 10).value_or(0);
    const size_t at = line.find(" 0x");
    if (at == line.npos) return;
    const uint64_t address = Number(Words(line.substr(at)).Next(), 16).value_or(0);
    if (address != 0) modules.Add(address, address + size);
  }
};

AddressRange PagesOf(const Span& span) {
  return {.begin = span.begin & ~uint64_t{4095}, .end = ToPage(span.end)};
}

}  // namespace

Error NoKernelCode(const std::string& why) {
  return Error(ErrorCode::kUnreadable, "--kcore: " + why)
      .Remedy("leave --kcore out: the trace of programs does not need it");
}

Result<std::vector<AddressRange>> KernelCodeRanges(std::string_view symbols,
                                                   std::string_view modules) {
  Seen seen;
  ForEachLine(symbols,
              [&](std::string_view line, uint64_t) { return seen.TakeSymbol(line), true; });
  ForEachLine(modules,
              [&](std::string_view line, uint64_t) { return seen.TakeModule(line), true; });
  const bool bounded = seen.text.begin < seen.text.end;
  if (!bounded && seen.all.end == 0) {
    if (seen.hidden)
      return Fail(Error(ErrorCode::kPermission,
                        "--kcore: /proc/kallsyms hides the kernel's addresses from this user")
                      .Remedy("run it as root, or sudo sysctl kernel.kptr_restrict=0"));
    return Fail(NoKernelCode("/proc/kallsyms has no code"));
  }
  std::vector<AddressRange> ranges = {PagesOf(bounded ? seen.text : seen.all)};
  if (seen.modules.end != 0) ranges.push_back(PagesOf(seen.modules));
  return ranges;
}

}  // namespace flowback::record
