// SPDX-License-Identifier: MIT
#include "tests/support/core_writer.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/hex.h"

namespace flowback {
namespace {

constexpr uint64_t kCorePage = 4096;

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

std::vector<uint8_t> FileNote(const std::vector<CoreFileSpec>& files) {
  std::vector<uint8_t> content;
  Append(content, uint64_t{files.size()});
  Append(content, kCorePage);
  for (const CoreFileSpec& file : files) {
    Append(content, file.address);
    Append(content, file.address + file.size);
    Append(content, file.file_offset / kCorePage);
  }
  for (const CoreFileSpec& file : files) {
    content.insert(content.end(), file.path.begin(), file.path.end());
    content.push_back(0);
  }
  return content;
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

std::vector<uint8_t> Notes(const CoreSpec& spec) {
  std::vector<uint8_t> notes;
  if (!spec.kernel_build_id.empty()) AppendNote(notes, 0, KernelNote(spec), "VMCOREINFO");
  for (const int32_t tid : spec.tids) {
    std::vector<uint8_t> status(336);
    Put(status, 32, tid);
    AppendNote(notes, NT_PRSTATUS, status);
  }
  if (spec.pid != 0) {
    std::vector<uint8_t> info(136);
    Put(info, 24, spec.pid);
    std::copy_n(spec.comm.begin(), std::min<size_t>(spec.comm.size(), 15), info.begin() + 40);
    AppendNote(notes, NT_PRPSINFO, info);
  }
  std::vector<uint8_t> vector;
  if (spec.vdso != 0) {
    Append(vector, uint64_t{AT_SYSINFO_EHDR});
    Append(vector, spec.vdso);
  }
  Append(vector, uint64_t{AT_NULL});
  Append(vector, uint64_t{0});
  AppendNote(notes, NT_AUXV, vector);
  if (!spec.files.empty()) AppendNote(notes, NT_FILE, FileNote(spec.files));
  return notes;
}

}  // namespace

std::vector<uint8_t> WriteCore(const CoreSpec& spec) {
  const std::vector<uint8_t> notes = Notes(spec);
  const size_t count = spec.segments.size() + 1;
  const uint64_t table = sizeof(Elf64_Ehdr);
  uint64_t end = table + count * sizeof(Elf64_Phdr);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = spec.type;
  header.e_machine = spec.machine;
  header.e_version = EV_CURRENT;
  header.e_phoff = table;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<uint16_t>(count);
  std::vector<uint8_t> file;
  if (spec.count_elsewhere) {
    header.e_phnum = 0xffff;
    header.e_shoff = end;
    header.e_shnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    Elf64_Shdr section{};
    section.sh_info = static_cast<uint32_t>(count);
    Put(file, end, section);
    end = file.size();
  }
  Put(file, 0, header);
  Elf64_Phdr row{};
  row.p_type = PT_NOTE;
  row.p_offset = end;
  row.p_filesz = notes.size();
  Put(file, table, row);
  file.resize(end);
  file.insert(file.end(), notes.begin(), notes.end());
  for (size_t i = 0; i < spec.segments.size(); ++i) {
    const CoreSegmentSpec& segment = spec.segments[i];
    file.resize((file.size() + kCorePage - 1) / kCorePage * kCorePage);
    row.p_type = PT_LOAD;
    row.p_flags = PF_R | (segment.executable ? PF_X : 0);
    row.p_offset = file.size();
    row.p_vaddr = segment.address;
    row.p_filesz = segment.bytes.size();
    row.p_memsz = segment.size == 0 ? segment.bytes.size() : segment.size;
    Put(file, table + (i + 1) * sizeof row, row);
    file.insert(file.end(), segment.bytes.begin(), segment.bytes.end());
  }
  return file;
}

}  // namespace flowback
