// SPDX-License-Identifier: MIT
#include "tests/support/core_writer.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/hex.h"

namespace flowback {
namespace {

constexpr uint64_t kCorePage = 4096;

// Offsets of the written fields in the kernel's structs of each machine.
struct StructPlaces {
  size_t status_size = 336;
  size_t thread_at = 32;
  size_t registers_at = 112;
  size_t info_size = 136;
  size_t process_at = 24;
  size_t name_at = 40;
};
StructPlaces PlacesOf(uint16_t machine) {
  if (machine == EM_386) return {144, 24, 72, 124, 12, 28};
  if (machine == EM_AARCH64) return {392, 32, 112, 136, 24, 40};
  return {};
}

template <class T>
void Put(std::vector<uint8_t>& bytes, size_t at, const T& value) {
  if (bytes.size() < at + sizeof value) bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <class T>
void Append(std::vector<uint8_t>& bytes, const T& value) {
  Put(bytes, bytes.size(), value);
}

void AppendNote(std::vector<uint8_t>& notes, uint32_t type, const std::vector<uint8_t>& content,
                const std::string& name = "CORE") {
  const auto size = static_cast<uint32_t>(name.size() + 1);
  Append(notes, Elf64_Nhdr{size, static_cast<uint32_t>(content.size()), type});
  notes.insert(notes.end(), name.begin(), name.end());
  notes.resize((notes.size() + 1 + 3) & ~size_t{3});
  notes.insert(notes.end(), content.begin(), content.end());
  notes.resize((notes.size() + 3) & ~size_t{3});
}

// As the kernel describes itself in /proc/kcore.
std::vector<uint8_t> KernelNote(const CoreSpec& spec) {
  std::string text = "OSRELEASE=6.1.0\nBUILD-ID=";
  for (const uint8_t byte : spec.kernel_build_id)
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  text += "\nPAGESIZE=4096\n";
  if (spec.kernel_text != 0) text += "SYMBOL(_stext)=" + Hex(spec.kernel_text).substr(2) + "\n";
  return {text.begin(), text.end()};
}

struct Elf64Types {
  using Word = uint64_t;
  using Header = Elf64_Ehdr;
  using Program = Elf64_Phdr;
  using Section = Elf64_Shdr;
  static constexpr unsigned char kClass = ELFCLASS64;
};
struct Elf32Types {
  using Word = uint32_t;
  using Header = Elf32_Ehdr;
  using Program = Elf32_Phdr;
  using Section = Elf32_Shdr;
  static constexpr unsigned char kClass = ELFCLASS32;
};

template <class Types>
class CoreWriter {
 public:
  explicit CoreWriter(const CoreSpec& spec) : spec_(spec), places_(PlacesOf(spec.machine)) {}

  std::vector<uint8_t> Write() {
    const std::vector<uint8_t> notes = Notes();
    const uint64_t end = WriteHeader();
    Program row{};
    row.p_type = PT_NOTE;
    row.p_offset = ToWord(end);
    row.p_filesz = ToWord(notes.size());
    Put(file_, sizeof(Header), row);
    file_.resize(end);
    file_.insert(file_.end(), notes.begin(), notes.end());
    for (size_t i = 0; i < spec_.segments.size(); ++i) {
      const CoreSegmentSpec& segment = spec_.segments[i];
      file_.resize((file_.size() + kCorePage - 1) / kCorePage * kCorePage);
      row.p_type = PT_LOAD;
      row.p_flags = PF_R | (segment.executable ? PF_X : 0);
      row.p_offset = ToWord(file_.size());
      row.p_vaddr = ToWord(segment.address);
      row.p_filesz = ToWord(segment.bytes.size());
      row.p_memsz = ToWord(segment.size == 0 ? segment.bytes.size() : segment.size);
      Put(file_, sizeof(Header) + (i + 1) * sizeof row, row);
      file_.insert(file_.end(), segment.bytes.begin(), segment.bytes.end());
    }
    return std::move(file_);
  }

 private:
  using Header = typename Types::Header;
  using Program = typename Types::Program;
  using Word = typename Types::Word;
  static Word ToWord(uint64_t value) { return static_cast<Word>(value); }

  // Returns where the headers end.
  uint64_t WriteHeader() {
    const size_t count = spec_.segments.size() + 1;
    uint64_t end = sizeof(Header) + count * sizeof(Program);
    Header header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = Types::kClass;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = spec_.type;
    header.e_machine = spec_.machine;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Program);
    header.e_phnum = static_cast<uint16_t>(count);
    if (spec_.count_elsewhere) {
      header.e_phnum = std::numeric_limits<uint16_t>::max();
      header.e_shoff = ToWord(end);
      header.e_shnum = 1;
      header.e_shentsize = sizeof(typename Types::Section);
      typename Types::Section section{};
      section.sh_info = static_cast<uint32_t>(count);
      Put(file_, end, section);
      end = file_.size();
    }
    Put(file_, 0, header);
    return end;
  }

  std::vector<uint8_t> FileNote() const {
    std::vector<uint8_t> content;
    Append(content, ToWord(spec_.files.size()));
    Append(content, ToWord(kCorePage));
    for (const CoreFileSpec& file : spec_.files) {
      Append(content, ToWord(file.address));
      Append(content, ToWord(file.address + file.size));
      Append(content, ToWord(file.file_offset / kCorePage));
    }
    for (const CoreFileSpec& file : spec_.files) {
      content.insert(content.end(), file.path.begin(), file.path.end());
      content.push_back(0);
    }
    return content;
  }

  void AppendThread(size_t number, std::vector<uint8_t>& notes) const {
    std::vector<uint8_t> status(places_.status_size);
    Put(status, places_.thread_at, spec_.tids[number]);
    if (number < spec_.registers.size())
      for (size_t i = 0; i < spec_.registers[number].size(); ++i)
        Put(status, places_.registers_at + i * sizeof(Word), ToWord(spec_.registers[number][i]));
    AppendNote(notes, NT_PRSTATUS, status);
    if (number != 0) return;
    for (const CoreNoteSpec& note : spec_.thread_notes) AppendNote(notes, note.type, note.content);
  }

  std::vector<uint8_t> Notes() const {
    std::vector<uint8_t> notes;
    if (!spec_.kernel_build_id.empty()) AppendNote(notes, 0, KernelNote(spec_), "VMCOREINFO");
    for (size_t i = 0; i < spec_.tids.size(); ++i) AppendThread(i, notes);
    if (spec_.pid != 0) {
      std::vector<uint8_t> info(places_.info_size);
      Put(info, places_.process_at, spec_.pid);
      std::copy_n(spec_.comm.begin(), std::min<size_t>(spec_.comm.size(), 15),
                  info.begin() + static_cast<std::ptrdiff_t>(places_.name_at));
      AppendNote(notes, NT_PRPSINFO, info);
    }
    std::vector<uint8_t> vector;
    if (spec_.vdso != 0) {
      Append(vector, ToWord(AT_SYSINFO_EHDR));
      Append(vector, ToWord(spec_.vdso));
    }
    Append(vector, ToWord(AT_NULL));
    Append(vector, ToWord(0));
    AppendNote(notes, NT_AUXV, vector);
    if (!spec_.files.empty()) AppendNote(notes, NT_FILE, FileNote());
    return notes;
  }

  const CoreSpec& spec_;
  const StructPlaces places_;
  std::vector<uint8_t> file_;
};

}  // namespace

std::vector<uint8_t> WriteCore(const CoreSpec& spec) {
  return spec.machine == EM_386 ? CoreWriter<Elf32Types>(spec).Write()
                                : CoreWriter<Elf64Types>(spec).Write();
}

}  // namespace flowback
