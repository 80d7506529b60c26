// SPDX-License-Identifier: MIT
#include "decode/code/images/elf_file.h"

#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

namespace flowback {
namespace {

constexpr uint64_t kPageSize = 4096;
constexpr size_t kMaxBuildId = 64;  // longer ones are damage; GNU ld writes 20 bytes, lld up to 32

uint64_t PageDown(uint64_t value) { return value & ~(kPageSize - 1); }
// May wrap to 0: callers compare after cutting at the file's end.
uint64_t PageUp(uint64_t value) { return PageDown(value + (kPageSize - 1)); }

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfEnd>;

ElfHandle Open(Bytes bytes) {
  elf_version(EV_CURRENT);
  // libelf takes the bytes as writable but does not write to them unless asked to.
  char* image = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  return ElfHandle(elf_memory(image, bytes.size()));
}

// The build-id among the notes in [offset, offset + size) of the file. `left` is the number of
// bytes that may still be looked at, over all calls. Several headers may name the same notes;
// without the bound, a file with tens of thousands of such headers would take days.
BuildId FindBuildId(Elf* elf, Bytes bytes, uint64_t offset, uint64_t size, uint64_t alignment,
                    uint64_t& left) {
  const Bytes range = Slice(bytes, offset, size);
  if (range.empty() || range.size() > left) return {};
  left -= range.size();
  Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<int64_t>(offset), range.size(),
                                        alignment == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
  if (data == nullptr) return {};
  GElf_Nhdr note;
  size_t name = 0;
  size_t description = 0;
  for (size_t at = 0; (at = gelf_getnote(data, at, &note, &name, &description)) > 0;) {
    const auto* base = static_cast<const char*>(data->d_buf);
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
        std::memcmp(base + name, "GNU", 4) != 0 || note.n_descsz > kMaxBuildId)
      continue;
    return BuildId{{base + description, base + description + note.n_descsz}};
  }
  return {};
}

// What the kernel maps of an executable segment: whole pages, where address and offset allow it.
ElfSegment Rounded(const GElf_Phdr& header, uint64_t file_size) {
  ElfSegment segment{header.p_vaddr, header.p_offset, header.p_filesz};
  if (header.p_vaddr % kPageSize == header.p_offset % kPageSize) {
    segment.address = PageDown(header.p_vaddr);
    segment.file_offset = PageDown(header.p_offset);
    segment.size = PageUp(header.p_offset + header.p_filesz) - segment.file_offset;
  }
  segment.size = std::min(segment.size, file_size - std::min(file_size, segment.file_offset));
  return segment;
}

void AddLoad(const GElf_Phdr& header, uint64_t file_size, ElfFile& file) {
  file.first_page = std::min(file.first_page, PageDown(header.p_vaddr));
  if ((header.p_flags & PF_X) == 0 || header.p_filesz == 0) return;
  const uint64_t end = header.p_offset + header.p_filesz;
  if (end < header.p_offset)  // the sum wraps: certainly not in the file
    file.promised_end = ~uint64_t{0};
  else if (end > file_size)
    file.promised_end = std::max(file.promised_end, end);
  const ElfSegment segment = Rounded(header, file_size);
  if (segment.size != 0) file.code.push_back(segment);
}

Error Damaged(const std::string& name, const std::string& what) {
  return Error(ErrorCode::kUnreadable, name + ": damaged ELF file: " + what)
      .Remedy("get an undamaged copy of the file");
}

Status ReadProgramHeaders(Elf* elf, Bytes bytes, const std::string& name, uint64_t& notes_left,
                          ElfFile& file) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return Fail(Damaged(name, elf_errmsg(-1)));
  file.first_page = ~uint64_t{0};
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr)
      return Fail(Damaged(name, "program header " + std::to_string(i) + " of " +
                                    std::to_string(count) + ": " + elf_errmsg(-1)));
    if (header.p_type == PT_LOAD) AddLoad(header, bytes.size(), file);
    if (header.p_type == PT_NOTE && file.build_id.empty())
      file.build_id =
          FindBuildId(elf, bytes, header.p_offset, header.p_filesz, header.p_align, notes_left);
  }
  if (file.first_page == ~uint64_t{0}) file.first_page = 0;
  return {};
}

// Section headers may be missing or damaged: they only add what the program headers lack.
void ReadSections(Elf* elf, Bytes bytes, uint64_t& notes_left, ElfFile& file) {
  bool code = false;
  bool code_without_bytes = false;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) return;
    if (header.sh_type == SHT_NOTE && file.build_id.empty())
      file.build_id = FindBuildId(elf, bytes, header.sh_offset, header.sh_size, header.sh_addralign,
                                  notes_left);
    if ((header.sh_flags & SHF_EXECINSTR) == 0) continue;
    (header.sh_type == SHT_NOBITS ? code_without_bytes : code) = true;
  }
  file.only_debug_info = code_without_bytes && !code;
}

}  // namespace

std::optional<CodeMode> ElfFile::code_mode() const {
  switch (machine) {
    case EM_X86_64:
      return CodeMode::kX86_64;
    case EM_386:
    case EM_IAMCU:
      return CodeMode::kX86_32;
    case EM_AARCH64:
      return CodeMode::kAArch64;
    default:
      return std::nullopt;
  }
}

std::string ElfFile::WhyForeign(std::string_view instruction_set) const {
  const std::optional<CodeMode> mode = code_mode();
  const bool fits =
      mode && (instruction_set.empty() || TraitsOf(*mode).instruction_set == instruction_set);
  if (fits) return "";
  const std::string wanted =
      instruction_set.empty() ? "code that can be read" : std::string(instruction_set) + " code";
  return "holds no " + wanted + " (ELF machine " + std::to_string(machine) + ")";
}

bool LooksLikeElf(Bytes bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

Result<ElfFile> ReadElf(Bytes bytes, const std::string& name) {
  if (!LooksLikeElf(bytes))
    return Fail(
        Error(ErrorCode::kUnreadable, name + ": not an ELF file: it does not start with "
                                             "the bytes 7f 45 4c 46")
            .At(0)
            .Remedy("name the program or library itself; raw code is given with --section"));
  const ElfHandle elf = Open(bytes);
  GElf_Ehdr header;
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF ||
      gelf_getehdr(elf.get(), &header) == nullptr)
    return Fail(Damaged(name, "its header can't be read").At(0));
  ElfFile file;
  file.bits = header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
  file.machine = header.e_machine;
  file.position_independent = header.e_type == ET_DYN;
  // libelf quietly forgets program headers that lie outside the file.
  const uint64_t table = uint64_t{header.e_phnum} * header.e_phentsize;
  if (header.e_phoff > bytes.size() || table > bytes.size() - header.e_phoff)
    return Fail(Damaged(name, "its " + std::to_string(header.e_phnum) +
                                  " program headers lie past its end, at " +
                                  std::to_string(bytes.size()))
                    .At(bytes.size()));
  uint64_t notes_left = 2 * bytes.size();
  if (Status status = ReadProgramHeaders(elf.get(), bytes, name, notes_left, file); !status)
    return Fail(std::move(status.error()));
  ReadSections(elf.get(), bytes, notes_left, file);
  return file;
}

}  // namespace flowback
