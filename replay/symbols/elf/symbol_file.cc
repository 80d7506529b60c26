// SPDX-License-Identifier: MIT
#include "replay/symbols/elf/symbol_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace flowback::symbols {

std::unique_ptr<SymbolFile> SymbolFile::Open(const std::string& path) {
  auto mapped = MappedFile::Open(path);
  return mapped ? Open(path, (*mapped)->bytes(), *mapped) : nullptr;
}

std::unique_ptr<SymbolFile> SymbolFile::Open(const std::string& path, Bytes bytes,
                                             std::shared_ptr<const void> owner) {
  if (elf_version(EV_CURRENT) == EV_NONE) return nullptr;
  std::unique_ptr<SymbolFile> file(new SymbolFile);
  file->path_ = path;
  file->bytes_ = bytes;
  file->owner_ = std::move(owner);
  // libelf reads through the pointer only: the file was opened without write commands.
  file->elf_ =
      elf_memory(reinterpret_cast<char*>(const_cast<uint8_t*>(bytes.data())), bytes.size());
  GElf_Ehdr header;
  if (file->elf_ == nullptr || elf_kind(file->elf_) != ELF_K_ELF ||
      gelf_getehdr(file->elf_, &header) == nullptr)
    return nullptr;
  file->machine_ = header.e_machine;
  file->entry_ = header.e_entry;
  file->ReadHeaders();
  return file;
}

SymbolFile::~SymbolFile() {
  if (elf_ != nullptr) elf_end(elf_);
}

void SymbolFile::ReadHeaders() {
  size_t count = 0;
  if (elf_getphdrnum(elf_, &count) == 0) {
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) break;
      if (header.p_type == PT_LOAD) loads_.push_back(header);
    }
  }
  std::ranges::stable_sort(loads_, {}, &GElf_Phdr::p_vaddr);
  size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return;
  for (Elf_Scn* handle = nullptr; (handle = elf_nextscn(elf_, handle)) != nullptr;) {
    FileSection section{.handle = handle, .name = {}, .header = {}};
    // An unreadable one keeps its place: sections are asked for by number.
    if (gelf_getshdr(handle, &section.header) != nullptr)
      section.name = String(names, section.header.sh_name);
    sections_.push_back(std::move(section));
  }
}

// libelf would unpack a compressed table of any claimed size. Linkers and objcopy compress only
// DWARF sections, which are not read here.
std::string_view SymbolFile::String(size_t table, size_t offset) const {
  const FileSection* section = At(table);
  if (section != nullptr && (section->header.sh_flags & SHF_COMPRESSED) != 0) return {};
  const char* text = elf_strptr(elf_, table, offset);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

const FileSection* SymbolFile::Find(std::string_view name) const {
  for (const FileSection& section : sections_)
    if (section.name == name) return &section;
  return nullptr;
}

const FileSection* SymbolFile::At(size_t index) const {
  return index >= 1 && index <= sections_.size() ? &sections_[index - 1] : nullptr;
}

std::vector<std::pair<uint64_t, uint64_t>> SymbolFile::CodeRanges() const {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const FileSection& section : sections_) {
    const GElf_Shdr& header = section.header;
    const bool is_code = (header.sh_flags & SHF_EXECINSTR) != 0 && header.sh_type != SHT_NOBITS;
    if (is_code && header.sh_addr + header.sh_size > header.sh_addr)
      ranges.emplace_back(header.sh_addr, header.sh_addr + header.sh_size);
  }
  if (!ranges.empty()) return ranges;
  for (const GElf_Phdr& load : loads_)
    if ((load.p_flags & PF_X) != 0 && load.p_vaddr + load.p_filesz > load.p_vaddr)
      ranges.emplace_back(load.p_vaddr, load.p_vaddr + load.p_filesz);
  return ranges;
}

std::vector<std::pair<uint64_t, uint64_t>> SymbolFile::LoadedPointers() const {
  std::vector<std::pair<uint64_t, uint64_t>> pointers;
  uint64_t left = bytes_.size();  // sections may name the same bytes
  for (const FileSection& section : sections_) {
    if (section.header.sh_type != SHT_RELA || section.header.sh_entsize == 0) continue;
    Elf_Data* data = section.header.sh_size <= left ? Data(section) : nullptr;
    if (data == nullptr) continue;
    left -= section.header.sh_size;
    const size_t count = data->d_size / section.header.sh_entsize;
    GElf_Rela each;
    for (size_t i = 0; i < count && gelf_getrela(data, static_cast<int>(i), &each) != nullptr; ++i)
      if (GELF_R_TYPE(each.r_info) == R_X86_64_RELATIVE)
        pointers.emplace_back(each.r_offset, static_cast<uint64_t>(each.r_addend));
  }
  std::ranges::sort(pointers);
  return pointers;
}

std::optional<uint64_t> SymbolFile::FileOffset(uint64_t address) const {
  auto load = std::ranges::upper_bound(loads_, address, {}, &GElf_Phdr::p_vaddr);
  if (load == loads_.begin()) return std::nullopt;
  --load;
  if (address - load->p_vaddr >= load->p_filesz) return std::nullopt;
  return address - load->p_vaddr + load->p_offset;
}

std::optional<uint64_t> SymbolFile::Address(uint64_t file_offset) const {
  // Neighbouring segments share a page of the file, but only one of them is mapped executable.
  for (const bool executable : {true, false})
    for (const GElf_Phdr& load : loads_)
      if (((load.p_flags & PF_X) != 0) == executable && file_offset >= load.p_offset &&
          file_offset - load.p_offset < load.p_filesz)
        return file_offset - load.p_offset + load.p_vaddr;
  return std::nullopt;
}

Bytes SymbolFile::Contents(const FileSection& section) const {
  if (section.header.sh_type == SHT_NOBITS) return {};
  const Bytes bytes = Slice(bytes_, section.header.sh_offset, section.header.sh_size);
  return bytes.size() == section.header.sh_size ? bytes : Bytes();
}

std::optional<SymbolFile::PackedHeader> SymbolFile::CompressionHeader(
    const FileSection& section) const {
  GElf_Chdr header;
  if (gelf_getchdr(section.handle, &header) == nullptr || header.ch_type != ELFCOMPRESS_ZLIB)
    return std::nullopt;
  return PackedHeader{gelf_fsize(elf_, ELF_T_CHDR, 1, EV_CURRENT), header.ch_size};
}

// "ZLIB", then what it unpacks to, big-endian.
std::optional<SymbolFile::PackedHeader> SymbolFile::OldHeader(Bytes packed) {
  constexpr std::string_view kMagic = "ZLIB";
  constexpr size_t kSize = 12;
  if (packed.size() < kSize || std::memcmp(packed.data(), kMagic.data(), kMagic.size()) != 0)
    return std::nullopt;
  uint64_t unpacked = 0;
  for (size_t i = kMagic.size(); i < kSize; ++i) unpacked = unpacked << 8 | packed[i];
  return PackedHeader{kSize, unpacked};
}

// libelf would write into the file's headers, which are mapped to be read.
std::vector<uint8_t> SymbolFile::Unpacked(const FileSection& section) const {
  constexpr uint64_t kMost = uint64_t{256} << 20;
  const Bytes packed = Contents(section);
  const bool is_old = section.name.starts_with(".zdebug_");
  if (!is_old && (section.header.sh_flags & SHF_COMPRESSED) == 0)
    return {packed.begin(), packed.end()};
  const auto header = is_old ? OldHeader(packed) : CompressionHeader(section);
  if (!header || header->unpacked > kMost || packed.size() < header->size) return {};
  std::vector<uint8_t> bytes(header->unpacked);
  const Bytes rest = packed.subspan(header->size);
  uLongf size = bytes.size();
  if (uncompress(bytes.data(), &size, rest.data(), rest.size()) != Z_OK || size != bytes.size())
    return {};
  return bytes;
}

BuildId SymbolFile::build_id() const {
  BuildId id;
  uint64_t left = bytes_.size();  // sections may name the same notes
  for (const FileSection& section : sections_) {
    if (section.header.sh_type != SHT_NOTE || section.header.sh_size > left) continue;
    left -= section.header.sh_size;
    Elf_Data* data = Data(section);
    GElf_Nhdr note;
    size_t name = 0;
    size_t content = 0;
    for (size_t at = 0; data != nullptr && data->d_buf != nullptr &&
                        (at = gelf_getnote(data, at, &note, &name, &content)) != 0;) {
      const auto* bytes = static_cast<const uint8_t*>(data->d_buf);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(bytes + name, "GNU", 4) == 0 && note.n_descsz <= 20)
        id.bytes.assign(bytes + content, bytes + content + note.n_descsz);
    }
  }
  return id;
}

}  // namespace flowback::symbols
