// SPDX-License-Identifier: MIT
#include "replay/symbols/elf/code_references.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace flowback::symbols {
namespace {

constexpr uint64_t kIsAllocated = SHF_ALLOC;

bool MayHoldPointers(const FileSection& section) {
  const GElf_Shdr& header = section.header;
  const bool is_table = section.name.starts_with(".eh_frame") ||
                        section.name == ".gcc_except_table" || header.sh_type == SHT_STRTAB ||
                        header.sh_type == SHT_NOBITS;
  return (header.sh_flags & kIsAllocated) != 0 && (header.sh_flags & SHF_EXECINSTR) == 0 &&
         !is_table;
}

class ReferenceReader {
 public:
  explicit ReferenceReader(const SymbolFile& file) : file_(file), left_(4 * file.bytes().size()) {}

  CodeReferences Read() {
    for (const FileSection& section : file_.sections()) {
      // Sections may name the same bytes: no more is read than four times the file.
      if (section.header.sh_type != SHT_NOBITS) {
        if (section.header.sh_size > left_) return {};
        left_ -= section.header.sh_size;
      }
      ReadSection(section);
    }
    for (const auto& [place, value] : file_.LoadedPointers()) result_.pointers.push_back(value);
    result_.pointers.push_back(file_.entry());
    result_.known = !file_.sections().empty() && file_.machine() == EM_X86_64;
    return std::move(result_);
  }

 private:
  void ReadSection(const FileSection& section) {
    if (section.name == ".interp") result_.is_program = true;
    switch (section.header.sh_type) {
      case SHT_RELA:
        if ((section.header.sh_flags & kIsAllocated) != 0) ReadRelocations(section);
        return;
      case SHT_DYNAMIC:
        ReadDynamic(section);
        break;
      case SHT_DYNSYM:
        ReadExports(section);
        return;
      default:
        break;
    }
    if (!MayHoldPointers(section)) return;
    ReadWords(section);
    ReadNames(section);
  }

  void ReadRelocations(const FileSection& section) {
    Elf_Data* data = file_.Data(section);
    const FileSection* symbols = file_.At(section.header.sh_link);
    if (data == nullptr || section.header.sh_entsize == 0) return;
    Elf_Data* symbol_data = symbols == nullptr ? nullptr : file_.Data(*symbols);
    const size_t count = data->d_size / section.header.sh_entsize;
    GElf_Rela each;
    for (size_t i = 0; i < count && gelf_getrela(data, static_cast<int>(i), &each) != nullptr;
         ++i) {
      const auto index = static_cast<int>(GELF_R_SYM(each.r_info));
      GElf_Sym symbol{};
      if (index <= 0 || symbol_data == nullptr) {
        result_.pointers.push_back(static_cast<uint64_t>(each.r_addend));
        continue;
      }
      if (gelf_getsym(symbol_data, index, &symbol) == nullptr) continue;
      result_.names.emplace(file_.String(symbols->header.sh_link, symbol.st_name));
      result_.pointers.push_back(symbol.st_value + static_cast<uint64_t>(each.r_addend));
    }
  }

  void ReadDynamic(const FileSection& section) {
    Elf_Data* data = file_.Data(section);
    if (data == nullptr || section.header.sh_entsize == 0) return;
    const size_t count = data->d_size / section.header.sh_entsize;
    GElf_Dyn each;
    for (size_t i = 0; i < count && gelf_getdyn(data, static_cast<int>(i), &each) != nullptr; ++i) {
      const auto text = [&] {
        return std::string(file_.String(section.header.sh_link, each.d_un.d_val));
      };
      if (each.d_tag == DT_NEEDED) result_.needed.push_back(text());
      if (each.d_tag == DT_SONAME) result_.soname = text();
      if (each.d_tag == DT_INIT || each.d_tag == DT_FINI)
        result_.pointers.push_back(each.d_un.d_ptr);
    }
  }

  void ReadExports(const FileSection& section) {
    Elf_Data* data = file_.Data(section);
    if (data == nullptr || section.header.sh_entsize == 0) return;
    const size_t count = data->d_size / section.header.sh_entsize;
    GElf_Sym each;
    for (size_t i = 1; i < count && gelf_getsym(data, static_cast<int>(i), &each) != nullptr; ++i)
      if (each.st_shndx != SHN_UNDEF && each.st_value != 0)
        result_.exports.emplace_back(file_.String(section.header.sh_link, each.st_name),
                                     each.st_value);
  }

  // The loader has to write the pointers of a file that may lie anywhere, so they are in sections
  // that can be written, each at a multiple of its size. A program at fixed addresses has pointers
  // anywhere, and some may be packed.
  void ReadWords(const FileSection& section) {
    constexpr size_t kTypeAt = 16;  // in the header
    const bool is_movable =
        Slice(file_.bytes(), kTypeAt, 1).size() == 1 && file_.bytes()[kTypeAt] == ET_DYN;
    if (is_movable && (section.header.sh_flags & SHF_WRITE) == 0) return;
    const Bytes bytes = file_.Contents(section);
    const size_t step = is_movable ? sizeof(uint64_t) : 1;
    const auto ranges = file_.CodeRanges();
    if (ranges.empty()) return;
    const uint64_t low = ranges.front().first;
    const uint64_t high =
        std::ranges::max(ranges, {}, [](const auto& r) { return r.second; }).second;
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += step) {
      const uint64_t word = LoadLittleEndian(bytes.data() + at, sizeof(uint64_t));
      if (word >= low && word < high) result_.pointers.push_back(word);
    }
  }

  void ReadNames(const FileSection& section) {
    constexpr size_t kLongestName = 512;
    const Bytes bytes = file_.Contents(section);
    const auto is_part = [](uint8_t c) { return std::isalnum(c) != 0 || c == '_'; };
    for (size_t at = 0; at < bytes.size();) {
      size_t end = at;
      while (end < bytes.size() && is_part(bytes[end])) ++end;
      const size_t size = end - at;
      if (size > 1 && size < kLongestName && end < bytes.size() && bytes[end] == 0)
        result_.words.emplace(reinterpret_cast<const char*>(bytes.data()) + at, size);
      at = end + 1;
    }
  }

  const SymbolFile& file_;
  uint64_t left_;
  CodeReferences result_;
};

}  // namespace

CodeReferences CodeReferences::Read(const SymbolFile& file) { return ReferenceReader(file).Read(); }

}  // namespace flowback::symbols
