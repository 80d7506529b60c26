// SPDX-License-Identifier: MIT
// Three tables may describe a function. A symbol knows its name and mostly its size; an entry of
// the unwind table knows where it begins and ends; a section only that there is code. Each is
// believed where those before it say nothing:
//
//   symbols        |--- f ---|      |-- g ------|--h--|-- g --|     h lies inside of g
//   unwind table   |--- f ---|  |-- ? --|
//   section        |------------------------------------------------|
//   functions      |--- f ---|--|- ? |-- g -----|--h--|- g 2 -|-----|
//
// A symbol without a size reaches as far as the unwind table says, else to the next function. The
// rest of a function after one that lies inside of it is a part of it, with a number of its own.
#include "replay/coverage/code_outline.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "replay/symbols/demangle/demangle.h"
#include "replay/symbols/elf/debug_file.h"
#include "replay/symbols/elf/elf_symbols.h"
#include "replay/symbols/frames/unwind_table.h"
#include "replay/symbols/lines/line_map.h"

namespace flowback {
namespace {

using symbols::Disjoint;
using symbols::ElfSymbol;
using symbols::FindRange;
using symbols::OwnedRange;
using Source = StaticFunction::Source;

constexpr int kWorstGlobalLabel = 4;  // ElfSymbol::rank

class Outliner {
 public:
  Outliner(const ObjectImage& image, std::shared_ptr<const symbols::SymbolFile> file)
      : image_(image), file_(std::move(file)), unwind_(symbols::UnwindTable::Read(file_)) {}

  CodeOutline Make(const ImageSearch& search) {
    AddSections();
    unwound_ = unwind_.Functions();
    const auto debug_file = symbols::OpenDebugFile(*file_, search);
    const auto table = symbols::ElfSymbols::Read(*file_, debug_file.get());
    AddSymbols(table.symbols());
    AddUnwound();
    AddLabels(table.symbols());
    AddEntries();
    Cut();
    outline_.file = file_;
    return std::move(outline_);
  }

 private:
  // Those parts of sections that the image has bytes of.
  void AddSections() {
    std::vector<OwnedRange> ranges;
    for (const auto& [begin, end] : file_->CodeRanges())
      for (uint64_t at = begin; at < end;) {
        const uint64_t size = image_.CodeAt(at).size();
        if (size == 0) break;
        ranges.push_back({at, std::min(end, at + size), 0});
        at = ranges.back().end;
      }
    sections_ = Disjoint(std::move(ranges));
    for (const OwnedRange& range : sections_) outline_.sections.push_back({range.begin, range.end});
  }

  const OwnedRange* SectionAt(uint64_t address) const { return FindRange(sections_, address); }

  void Add(uint64_t begin, uint64_t end, Source source, const ElfSymbol* symbol) {
    StaticFunction function;
    function.begin = begin;
    function.end = std::min(end, SectionAt(begin)->end);
    function.source = source;
    if (symbol != nullptr) {
      function.linkage_name = symbol->name;
      function.is_stub = symbol->name.ends_with("@plt");
    }
    if (function.end > begin) found_.push_back(std::move(function));
  }

  // Returns the end of the entry that begins there; 0: none does.
  uint64_t UnwoundEnd(uint64_t begin) const {
    const auto entry =
        std::ranges::lower_bound(unwound_, begin, {}, &symbols::UnwindTable::Range::begin);
    return entry != unwound_.end() && entry->begin == begin ? entry->end : 0;
  }
  uint64_t NextUnwound(uint64_t begin) const {
    const auto entry =
        std::ranges::upper_bound(unwound_, begin, {}, &symbols::UnwindTable::Range::begin);
    return entry == unwound_.end() ? ~uint64_t{0} : entry->begin;
  }

  void NoteCovered() {
    std::vector<OwnedRange> ranges;
    ranges.reserve(found_.size());
    for (size_t i = 0; i < found_.size(); ++i)
      ranges.push_back({found_[i].begin, found_[i].end, static_cast<uint32_t>(i)});
    covered_ = Disjoint(std::move(ranges));
  }
  // Where the next function begins that is known so far.
  uint64_t NextCovered(uint64_t begin) const {
    const auto next = std::ranges::upper_bound(covered_, begin, {}, &OwnedRange::begin);
    return next == covered_.end() ? ~uint64_t{0} : next->begin;
  }

  void AddSymbols(const std::vector<ElfSymbol>& table) {
    std::vector<std::pair<uint64_t, const ElfSymbol*>> unsized;
    for (const ElfSymbol& symbol : table) {
      const auto address = symbol.is_function ? image_.AddressOf(symbol.begin) : std::nullopt;
      if (!address || SectionAt(*address) == nullptr) continue;
      outline_.entries.push_back(*address);
      if (symbol.whole != symbol.begin)
        if (const auto whole = image_.AddressOf(symbol.whole)) wholes_[*address] = *whole;
      if (symbol.has_size)
        Add(*address, *address + (symbol.end - symbol.begin), Source::kSymbol, &symbol);
      else
        unsized.emplace_back(*address, &symbol);
    }
    NoteCovered();
    std::ranges::sort(unsized);
    for (size_t i = 0; i < unsized.size(); ++i) {
      const auto& [address, symbol] = unsized[i];
      if (FindRange(covered_, address) != nullptr) continue;  // another entry of that function
      uint64_t end = UnwoundEnd(address);
      if (end == 0) end = std::min(NextUnwound(address), NextCovered(address));
      if (i + 1 < unsized.size()) end = std::min(end, unsized[i + 1].first);
      Add(address, end, Source::kSymbol, symbol);
    }
  }

  void AddUnwound() {
    NoteCovered();
    for (const symbols::UnwindTable::Range& range : unwound_) {
      if (SectionAt(range.begin) == nullptr) continue;
      outline_.entries.push_back(range.begin);
      if (FindRange(covered_, range.begin) == nullptr)
        Add(range.begin, range.end, Source::kUnwindTable, nullptr);
    }
  }

  // A label outside of all functions is one where others may name it; it names any that begins
  // there.
  void AddLabels(const std::vector<ElfSymbol>& table) {
    NoteCovered();
    std::vector<std::pair<uint64_t, const ElfSymbol*>> labels;
    for (const ElfSymbol& symbol : table) {
      const auto address = symbol.is_function ? std::nullopt : image_.AddressOf(symbol.begin);
      if (!address || SectionAt(*address) == nullptr) continue;
      const OwnedRange* range = FindRange(covered_, *address);
      if (range == nullptr) {
        if (symbol.rank <= kWorstGlobalLabel) labels.emplace_back(*address, &symbol);
      } else if (StaticFunction& function = found_[range->owner];
                 function.begin == *address && function.linkage_name.empty()) {
        function.linkage_name = symbol.name;
      }
    }
    std::ranges::sort(labels);
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto& [address, symbol] = labels[i];
      outline_.entries.push_back(address);
      const uint64_t next = i + 1 < labels.size() ? labels[i + 1].first : ~uint64_t{0};
      Add(address, std::min(next, NextCovered(address)), Source::kSymbol, symbol);
    }
  }

  void AddEntries() {
    const auto add = [&](uint64_t address) {
      if (SectionAt(address) != nullptr) outline_.entries.push_back(address);
    };
    add(file_->entry());
    AddPointers();
    for (const uint64_t pad : unwind_.LandingPads()) add(pad);
    for (const symbols::FileSection& section : file_->sections()) {
      if ((section.header.sh_flags & SHF_EXECINSTR) == 0) continue;
      const uint64_t begin = section.header.sh_addr;
      if (section.name == ".init" || section.name == ".fini") add(begin);
      if (section.name.starts_with(".plt") || section.name == ".iplt") AddStubs(section, add);
    }
  }

  // Addresses that the loader puts into pointers may be functions that no other table has:
  // constructors and callbacks.
  void AddPointers() {
    NoteCovered();
    const auto add = [&](uint64_t address) {
      if (SectionAt(address) != nullptr && FindRange(covered_, address) == nullptr)
        outline_.entries.push_back(address);
    };
    for (const auto& [place, value] : file_->LoadedPointers()) add(value);
    const unsigned width = TraitsOf(image_.mode()).bits / 8;
    for (const symbols::FileSection& section : file_->sections()) {
      const auto type = section.header.sh_type;
      if (type != SHT_INIT_ARRAY && type != SHT_FINI_ARRAY && type != SHT_PREINIT_ARRAY) continue;
      const Bytes words = file_->Contents(section);
      for (size_t at = 0; at + width <= words.size(); at += width)
        add(LoadLittleEndian(words.data() + at, width));
    }
  }

  // Also of stubs that no relocation names: they begin at multiples of their size.
  template <class AddEntry>
  void AddStubs(const symbols::FileSection& section, const AddEntry& add) {
    const GElf_Shdr& header = section.header;
    stubs_.push_back({header.sh_addr, header.sh_addr + header.sh_size});
    const uint64_t size = header.sh_entsize == 8 ? 8 : 16;
    const uint64_t most = std::min(header.sh_size, file_->bytes().size());
    for (uint64_t at = 0; at < most; at += size) {
      add(header.sh_addr + at);
      if (PushesBehindJump(header.sh_addr + at)) add(header.sh_addr + at + kJumpSize);
    }
  }

  // A stub jumps through a pointer, which at first leads back to behind the jump.
  static constexpr size_t kJumpSize = 6;
  bool PushesBehindJump(uint64_t address) const {
    const Bytes code = image_.CodeAt(address);
    constexpr uint8_t kPush = 0x68;
    return code.size() > kJumpSize && code[0] == 0xff && (code[1] == 0x25 || code[1] == 0xa3) &&
           code[kJumpSize] == kPush;
  }

  bool IsStub(uint64_t address) const {
    return std::ranges::any_of(
        stubs_, [&](const LinkedRange& r) { return address >= r.begin && address < r.end; });
  }

  std::string SectionName(uint64_t begin, uint64_t end) const {
    for (const symbols::FileSection& section : file_->sections())
      if (section.header.sh_addr == begin && section.header.sh_size == end - begin)
        return section.name;
    return {};
  }

  void AddRest(uint64_t begin, uint64_t end) {
    if (begin >= end) return;
    StaticFunction rest;
    rest.begin = begin;
    rest.end = end;
    rest.source = Source::kWholeSection;
    rest.name = rest.linkage_name = SectionName(begin, end);
    rest.is_stub = IsStub(begin);
    rest.whole = static_cast<uint32_t>(outline_.functions.size());
    outline_.functions.push_back(std::move(rest));
  }

  // Makes of what was found ranges that don't overlap, and fills the sections.
  void Cut() {
    NoteCovered();
    std::vector<uint32_t> numbers(found_.size(), ~uint32_t{0});
    auto range = covered_.begin();
    for (const LinkedRange& section : outline_.sections) {
      uint64_t place = section.begin;
      for (; range != covered_.end() && range->begin < section.end; ++range) {
        AddRest(place, range->begin);
        StaticFunction function = found_[range->owner];
        function.begin = range->begin;
        function.end = range->end;
        function.name = symbols::Demangled(function.linkage_name);
        function.is_stub = function.is_stub || IsStub(range->begin);
        uint32_t& number = numbers[range->owner];
        if (number == ~uint32_t{0}) number = static_cast<uint32_t>(outline_.functions.size());
        function.whole = number;
        outline_.functions.push_back(std::move(function));
        place = range->end;
      }
      AddRest(place, section.end);
    }
    JoinMoved();
  }

  // Code that was moved away is a part of its function.
  void JoinMoved() {
    std::vector<StaticFunction>& functions = outline_.functions;
    for (StaticFunction& part : functions) {
      const auto known = wholes_.find(part.begin);
      if (known == wholes_.end()) continue;
      const auto whole =
          std::ranges::lower_bound(functions, known->second, {}, &StaticFunction::begin);
      if (whole != functions.end() && whole->begin == known->second) part.whole = whole->whole;
    }
  }

  const ObjectImage& image_;
  std::shared_ptr<const symbols::SymbolFile> file_;
  symbols::UnwindTable unwind_;
  std::vector<symbols::UnwindTable::Range> unwound_;
  std::vector<OwnedRange> sections_;
  std::vector<StaticFunction> found_;
  std::vector<OwnedRange> covered_;  // by found_
  std::vector<LinkedRange> stubs_;
  std::map<uint64_t, uint64_t> wholes_;  // where moved code begins: where its function does
  CodeOutline outline_;
};

}  // namespace

CodeOutline CodeOutline::Of(const ObjectImage& image, const ImageSearch& search) {
  std::shared_ptr<const symbols::SymbolFile> file =
      symbols::SymbolFile::Open(image.file(), image.bytes(), image.content());
  if (file == nullptr) return {};
  return Outliner(image, std::move(file)).Make(search);
}

}  // namespace flowback
