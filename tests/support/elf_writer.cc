// SPDX-License-Identifier: MIT
#include "tests/support/elf_writer.h"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace flowback {
namespace {

constexpr uint64_t kPage = 4096;

// The two layouts differ only in the types of their headers.
struct Layout64 {
  using Ehdr = Elf64_Ehdr;
  using Phdr = Elf64_Phdr;
  using Shdr = Elf64_Shdr;
  static constexpr uint8_t kClass = ELFCLASS64;
};
struct Layout32 {
  using Ehdr = Elf32_Ehdr;
  using Phdr = Elf32_Phdr;
  using Shdr = Elf32_Shdr;
  static constexpr uint8_t kClass = ELFCLASS32;
};

std::vector<uint8_t> BuildIdNote(const std::vector<uint8_t>& build_id) {
  const Elf64_Nhdr header{4, static_cast<uint32_t>(build_id.size()), NT_GNU_BUILD_ID};
  std::vector<uint8_t> note(sizeof header + 4);
  std::memcpy(note.data(), &header, sizeof header);
  std::memcpy(note.data() + sizeof header, "GNU", 4);
  note.insert(note.end(), build_id.begin(), build_id.end());
  note.resize((note.size() + 3) & ~size_t{3});
  return note;
}

template <class Layout>
class Writer {
 public:
  explicit Writer(const ElfSpec& spec) : spec_(spec) {}

  WrittenElf Write() {
    const std::vector<uint8_t> note = BuildIdNote(spec_.build_id);
    const bool note_segment = !spec_.build_id.empty() && !spec_.note_in_section_only;
    const size_t headers = spec_.segments.size() + (note_segment ? 1 : 0);
    file_.bytes.resize(sizeof(typename Layout::Ehdr) + headers * sizeof(typename Layout::Phdr));
    const uint64_t note_offset = file_.bytes.size();
    if (!spec_.build_id.empty()) Append(note);
    if (note_segment) AddHeader({.type = PT_NOTE, .offset = note_offset, .size = note.size()});
    for (const ElfSegmentSpec& segment : spec_.segments) AddSegment(segment);
    if (!spec_.build_id.empty() && spec_.note_in_section_only)
      AddSection(SHT_NOTE, 0, note_offset, note.size());
    WriteTables();
    return std::move(file_);
  }

 private:
  struct Header {
    uint32_t type = PT_LOAD;
    uint32_t flags = PF_R;
    uint64_t address = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  void Append(const std::vector<uint8_t>& bytes) {
    file_.bytes.insert(file_.bytes.end(), bytes.begin(), bytes.end());
  }

  void AddHeader(const Header& header) {
    typename Layout::Phdr out{};
    out.p_type = header.type;
    out.p_flags = header.flags;
    out.p_offset = header.offset;
    out.p_vaddr = header.address;
    out.p_filesz = out.p_memsz = header.size;
    out.p_align = header.type == PT_LOAD ? kPage : 4;
    program_.push_back(out);
  }

  void AddSection(uint32_t type, uint64_t flags, uint64_t offset, uint64_t size) {
    typename Layout::Shdr out{};
    out.sh_type = type;
    out.sh_flags = flags;
    out.sh_offset = offset;
    out.sh_size = size;
    out.sh_addralign = 4;
    sections_.push_back(out);
  }

  void AddSegment(const ElfSegmentSpec& segment) {
    uint64_t offset = file_.bytes.size();
    offset += (segment.address - offset) % kPage;  // congruent, as the kernel wants it
    file_.bytes.resize(offset);
    Append(segment.bytes);
    file_.segment_offsets.push_back(offset);
    const uint64_t size = segment.claimed_size != 0 ? segment.claimed_size : segment.bytes.size();
    AddHeader({.flags = static_cast<uint32_t>(segment.executable ? PF_R | PF_X : PF_R | PF_W),
               .address = segment.address,
               .offset = offset,
               .size = size});
    if (spec_.sections && segment.executable)
      AddSection(spec_.sections_without_bytes ? SHT_NOBITS : SHT_PROGBITS,
                 SHF_ALLOC | SHF_EXECINSTR, offset, size);
  }

  void WriteTables() {
    typename Layout::Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = Layout::kClass;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = spec_.position_independent ? ET_DYN : ET_EXEC;
    header.e_machine = spec_.machine;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(typename Layout::Phdr);
    header.e_phnum = static_cast<uint16_t>(program_.size());
    if (!sections_.empty()) {
      sections_.insert(sections_.begin(), typename Layout::Shdr{});
      file_.bytes.resize((file_.bytes.size() + 7) & ~size_t{7});
      header.e_shoff = static_cast<decltype(header.e_shoff)>(file_.bytes.size());
      header.e_shentsize = sizeof(typename Layout::Shdr);
      header.e_shnum = static_cast<uint16_t>(sections_.size());
      const auto* raw = reinterpret_cast<const uint8_t*>(sections_.data());
      Append({raw, raw + sections_.size() * sizeof sections_[0]});
    }
    std::memcpy(file_.bytes.data(), &header, sizeof header);
    if (!program_.empty())
      std::memcpy(file_.bytes.data() + sizeof header, program_.data(),
                  program_.size() * sizeof program_[0]);
  }

  const ElfSpec& spec_;
  WrittenElf file_;
  std::vector<typename Layout::Phdr> program_;
  std::vector<typename Layout::Shdr> sections_;
};

}  // namespace

WrittenElf WriteElf(const ElfSpec& spec) {
  return spec.bits == 64 ? Writer<Layout64>(spec).Write() : Writer<Layout32>(spec).Write();
}

void WriteFile(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out) throw std::runtime_error("cannot write " + path);
}

}  // namespace flowback
