// SPDX-License-Identifier: MIT
// The two formats in which a process writes the names of its code. Both may be damaged: a killed
// one leaves half a record, a hostile one anything.
#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "replay/symbols/jit_names.h"

namespace flowback::symbols {
namespace {

constexpr uint64_t kUserEnd = uint64_t{1} << 47;  // Linux gives programs no higher addresses
constexpr size_t kLongestName = size_t{16} << 10;
constexpr int kHex = 16;

constexpr uint32_t kDumpMagic = 0x4a695444;  // as the dump's machine writes it
constexpr size_t kDumpHeader = 40;
constexpr size_t kRecordHeader = 16;
constexpr size_t kRecordFixed = 40;  // of a load, behind the header, ahead of the name

constexpr size_t kLineFixed = 16;  // of a line, ahead of its file's name
// V8 adds the size of the ELF header that `perf inject` puts in front of each function.
constexpr uint64_t kElfHeader = 64;

enum DumpRecord : uint32_t { kLoad = 0, kMove = 1, kDebugInfo = 2 };

std::optional<uint64_t> TakeHex(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(begin);
  if (line.starts_with("0x") || line.starts_with("0X")) line.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, kHex);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()) + 1);
  return number;
}

std::string_view Cut(std::string_view name) { return name.substr(0, kLongestName); }

bool IsPlace(uint64_t begin, uint64_t size) {
  return begin < kUserEnd && size != 0 && size <= kUserEnd - begin;
}

uint64_t Word(Bytes bytes, size_t at) { return LoadLittleEndian(bytes.data() + at, 8); }
uint32_t Half(Bytes bytes, size_t at) {
  return static_cast<uint32_t>(LoadLittleEndian(bytes.data() + at, 4));
}

// The recording's time of one of the dump's; 0: before all.
uint64_t TimeOf(uint64_t time, std::optional<int64_t> offset) {
  if (!offset) return 0;
  const uint64_t moved = time - static_cast<uint64_t>(*offset);
  return *offset > 0 && time < static_cast<uint64_t>(*offset) ? 0 : moved;
}

// Returns the text before a NUL; empty: the bytes have no NUL.
std::optional<std::string_view> TextOf(Bytes bytes) {
  const auto end = std::ranges::find(bytes, 0);
  if (end == bytes.end()) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(bytes.data()),
                          static_cast<size_t>(end - bytes.begin()));
}

// Reads the lines of the function in the next load record. Null where they can't be meant: some
// programs write names that they have freed, and the record does not come out even.
std::shared_ptr<const JitLines> ReadLines(Bytes content) {
  constexpr std::string_view kAsBefore = "\xff";
  constexpr size_t kPadding = 8;
  if (content.size() < kLineFixed) return nullptr;
  const uint64_t begin = Word(content, 0);
  const uint64_t count = Word(content, 8);
  JitLines lines;
  Bytes rest = content.subspan(kLineFixed);
  for (uint64_t i = 0; i < count; ++i) {
    if (rest.size() < kLineFixed) return nullptr;
    const uint64_t address = Word(rest, 0);
    const uint32_t line = Half(rest, 8);
    rest = rest.subspan(kLineFixed);
    auto name = TextOf(rest);
    if (!name || name->empty() || address < begin) return nullptr;
    rest = rest.subspan(name->size() + 1);
    if (*name == kAsBefore && !lines.empty()) name = lines.back().file;
    lines.push_back({address - begin, line, Cut(*name)});
  }
  if (lines.empty() || rest.size() >= kPadding) return nullptr;
  std::ranges::stable_sort(lines, {}, &JitLine::offset);
  if (lines.front().offset == kElfHeader)
    for (JitLine& line : lines) line.offset -= kElfHeader;
  return std::make_shared<const JitLines>(std::move(lines));
}

}  // namespace

std::vector<JitSymbol> ReadPerfMap(Bytes text) {
  std::vector<JitSymbol> symbols;
  std::string_view rest(reinterpret_cast<const char*>(text.data()), text.size());
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto begin = TakeHex(line);
    const auto size = begin ? TakeHex(line) : std::nullopt;
    if (size && IsPlace(*begin, *size) && !line.empty())
      symbols.push_back({*begin, *begin + *size, 0, Cut(line), nullptr});
  }
  return symbols;
}

bool IsJitDump(Bytes bytes) { return bytes.size() >= kDumpHeader && Half(bytes, 0) == kDumpMagic; }

std::vector<JitSymbol> ReadJitDump(Bytes dump, std::optional<int64_t> offset) {
  std::vector<JitSymbol> symbols;
  struct Code {
    std::string_view name;
    std::shared_ptr<const JitLines> lines;
  };
  std::map<uint64_t, Code> codes;  // by number
  std::shared_ptr<const JitLines> lines;
  if (!IsJitDump(dump)) return symbols;
  Bytes rest =
      dump.subspan(std::min<size_t>(std::max<size_t>(Half(dump, 8), kDumpHeader), dump.size()));
  while (rest.size() >= kRecordHeader) {
    const uint32_t kind = Half(rest, 0);
    const size_t size = Half(rest, 4);
    if (size < kRecordHeader || size > rest.size()) break;
    const uint64_t time = TimeOf(Word(rest, 8), offset);
    const Bytes content = rest.first(size).subspan(kRecordHeader);
    rest = rest.subspan(size);
    const auto add = [&](uint64_t begin, uint64_t bytes, const Code& code) {
      if (IsPlace(begin, bytes))
        symbols.push_back({begin, begin + bytes, time, code.name, code.lines});
    };
    if (kind == kDebugInfo) {
      lines = ReadLines(content);
    } else if (kind == kLoad && content.size() > kRecordFixed) {
      const auto name = TextOf(content.subspan(kRecordFixed));
      if (!name) continue;
      const Code code{Cut(*name), std::exchange(lines, nullptr)};
      codes.insert_or_assign(Word(content, 32), code);
      add(Word(content, 16), Word(content, 24), code);
    } else if (kind == kMove && content.size() >= kRecordFixed + 8) {
      const auto code = codes.find(Word(content, 40));
      if (code != codes.end()) add(Word(content, 24), Word(content, 32), code->second);
    }
  }
  return symbols;
}

}  // namespace flowback::symbols
