// SPDX-License-Identifier: MIT
#include "capture/record/code_file.h"

#include <elf.h>

#include <cstring>
#include <utility>
#include <vector>

namespace flowback::record {
namespace {

constexpr uint64_t kPage = 4096;

struct Header {
  Elf64_Ehdr file;
  Elf64_Phdr segment;
};

Header MakeHeader(uint64_t size) {
  Header header{};
  std::memcpy(header.file.e_ident, ELFMAG, SELFMAG);
  header.file.e_ident[EI_CLASS] = ELFCLASS64;
  header.file.e_ident[EI_DATA] = ELFDATA2LSB;
  header.file.e_ident[EI_VERSION] = EV_CURRENT;
  header.file.e_type = ET_DYN;
  header.file.e_machine = EM_X86_64;
  header.file.e_version = EV_CURRENT;
  header.file.e_phoff = offsetof(Header, segment);
  header.file.e_ehsize = sizeof(Elf64_Ehdr);
  header.file.e_phentsize = sizeof(Elf64_Phdr);
  header.file.e_phnum = 1;
  header.segment = {.p_type = PT_LOAD,
                    .p_flags = PF_R | PF_X,
                    .p_offset = kPage,
                    .p_vaddr = kPage,
                    .p_paddr = kPage,
                    .p_filesz = size - kPage,
                    .p_memsz = size - kPage,
                    .p_align = kPage};
  return header;
}

}  // namespace

Result<CodeFile> CodeFile::Create(const std::string& path) {
  auto file = OutputFile::Create(path);
  if (!file) return Fail(std::move(file.error()));
  if (auto written = file->Write(std::vector<uint8_t>(kPage)); !written)
    return Fail(std::move(written.error()));
  return CodeFile(std::move(*file));
}

Result<uint64_t> CodeFile::Add(Bytes code) {
  const uint64_t at = file_.size();
  std::vector<uint8_t> piece(code.begin(), code.end());
  piece.resize((piece.size() + kPage - 1) / kPage * kPage);
  if (auto written = file_.Write(piece); !written) return Fail(std::move(written.error()));
  if (auto written = WriteHeader(); !written) return Fail(std::move(written.error()));
  return at;
}

Status CodeFile::WriteHeader() {
  const Header header = MakeHeader(file_.size());
  return file_.WriteAt(0, {reinterpret_cast<const uint8_t*>(&header), sizeof header});
}

}  // namespace flowback::record
