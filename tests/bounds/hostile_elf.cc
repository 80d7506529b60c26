// SPDX-License-Identifier: MIT
#include "tests/bounds/hostile_elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace flowback::test {
namespace {

template <class T>
std::string BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// zstd, in blocks that repeat one byte: four bytes for 128 KB.
std::string ZstdOfZeros(uint64_t size) {
  std::string frame("\x28\xb5\x2f\xfd\x00\x38", 6);  // magic; without a size; a window of 128 KB
  constexpr uint64_t kBlock = 1 << 17;
  constexpr uint32_t kRepeats = 1;
  for (uint64_t left = size; left != 0;) {
    const uint64_t part = std::min(left, kBlock);
    left -= part;
    const uint32_t header = static_cast<uint32_t>(part << 3) | kRepeats << 1 | (left == 0 ? 1 : 0);
    frame += BytesOf(header).substr(0, 3) + '\0';
  }
  return frame;
}

std::string CompressedZeros(uint64_t size) {
  Elf64_Chdr header{};
  header.ch_type = 2;  // ELFCOMPRESS_ZSTD
  header.ch_size = size;
  header.ch_addralign = 1;
  return BytesOf(header) + ZstdOfZeros(size);
}

class Writer {
 public:
  Writer() : names_(1, '\0'), sections_(1) {}

  Elf64_Shdr& Add(const std::string& name, uint32_t type, const std::string& content) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<uint32_t>(names_.size());
    names_ += name + '\0';
    section.sh_type = type;
    section.sh_offset = kContents + contents_.size();
    section.sh_size = content.size();
    section.sh_addralign = 1;
    contents_ += content;
    contents_.resize((contents_.size() + 7) & ~size_t{7});
    return sections_.emplace_back(section);
  }

  std::string Finish(uint64_t code_size) {
    const std::string names = names_ + ".shstrtab" + '\0';
    Add(".shstrtab", SHT_STRTAB, names);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG "\2\1\1", 7);
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_shoff = kContents + contents_.size();
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(sections_.size());
    header.e_shstrndx = static_cast<uint16_t>(sections_.size() - 1);
    Elf64_Phdr load{};
    load.p_type = PT_LOAD;
    load.p_flags = PF_R | PF_X;
    load.p_offset = kContents;
    load.p_vaddr = load.p_paddr = HostileElf::kAddress;
    load.p_filesz = load.p_memsz = code_size;
    load.p_align = kContents;
    std::string file = BytesOf(header) + BytesOf(load);
    file.resize(kContents);
    file += contents_;
    for (const Elf64_Shdr& section : sections_) file += BytesOf(section);
    return file;
  }

 private:
  static constexpr size_t kContents = 4096;

  std::string names_;
  std::string contents_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace

std::string HostileElf::Build() const {
  Writer writer;
  Elf64_Shdr& text = writer.Add(".text", SHT_PROGBITS, code);
  text.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  text.sh_addr = kAddress;
  std::string table = BytesOf(Elf64_Sym{});
  for (const HostileSymbol& symbol : symbols) {
    Elf64_Sym entry{};
    entry.st_name = symbol.name;
    entry.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    entry.st_shndx = 1;
    entry.st_value = symbol.address;
    entry.st_size = 1;
    table += BytesOf(entry);
  }
  Elf64_Shdr& symtab = writer.Add(".symtab", SHT_SYMTAB, table);
  symtab.sh_link = 3;
  symtab.sh_entsize = sizeof(Elf64_Sym);
  writer.Add(".strtab", SHT_STRTAB, strings);
  if (unpacked != 0) {
    writer.Add(".debug_line", SHT_PROGBITS, std::string(16, '\0'));
    writer.Add(".debug_str", SHT_PROGBITS, CompressedZeros(unpacked)).sh_flags = SHF_COMPRESSED;
  }
  return writer.Finish(code.size());
}

}  // namespace flowback::test
