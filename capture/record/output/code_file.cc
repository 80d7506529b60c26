// SPDX-License-Identifier: MIT
#include "capture/record/output/code_file.h"

#include <elf.h>

#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace flowback::record {
namespace {

constexpr uint64_t kPage = 4096;

constexpr size_t kBuildIdBytes = 20;

struct Header {
  Elf64_Ehdr file;
  Elf64_Phdr code;
  Elf64_Phdr notes;
  Elf64_Nhdr note;
  char owner[4];
  uint8_t build_id[kBuildIdBytes];
};

Header MakeHeader(uint64_t size, const BuildId& build_id, CodeMode mode) {
  Header header{};
  std::memcpy(header.file.e_ident, ELFMAG, SELFMAG);
  header.file.e_ident[EI_CLASS] = ELFCLASS64;
  header.file.e_ident[EI_DATA] = ELFDATA2LSB;
  header.file.e_ident[EI_VERSION] = EV_CURRENT;
  header.file.e_type = ET_DYN;
  header.file.e_machine = mode == CodeMode::kAArch64 ? EM_AARCH64 : EM_X86_64;
  header.file.e_version = EV_CURRENT;
  header.file.e_phoff = offsetof(Header, code);
  header.file.e_ehsize = sizeof(Elf64_Ehdr);
  header.file.e_phentsize = sizeof(Elf64_Phdr);
  header.file.e_phnum = 2;
  header.code = {.p_type = PT_LOAD,
                 .p_flags = PF_R | PF_X,
                 .p_offset = kPage,
                 .p_vaddr = kPage,
                 .p_paddr = kPage,
                 .p_filesz = size - kPage,
                 .p_memsz = size - kPage,
                 .p_align = kPage};
  constexpr uint64_t kNoteSize = sizeof(Elf64_Nhdr) + sizeof header.owner + kBuildIdBytes;
  header.notes = {.p_type = PT_NOTE,
                  .p_flags = PF_R,
                  .p_offset = offsetof(Header, note),
                  .p_vaddr = 0,
                  .p_paddr = 0,
                  .p_filesz = kNoteSize,
                  .p_memsz = kNoteSize,
                  .p_align = 4};
  header.note = {
      .n_namesz = sizeof header.owner, .n_descsz = kBuildIdBytes, .n_type = NT_GNU_BUILD_ID};
  std::memcpy(header.owner, ELF_NOTE_GNU, sizeof header.owner);
  std::memcpy(header.build_id, build_id.bytes.data(), kBuildIdBytes);
  return header;
}

}  // namespace

Result<CodeFile> CodeFile::Create(const std::string& path, CodeMode mode) {
  auto file = OutputFile::Create(path);
  if (!file) return Fail(std::move(file.error()));
  if (auto written = file->Write(std::vector<uint8_t>(kPage)); !written)
    return Fail(std::move(written.error()));
  BuildId build_id;
  build_id.bytes.resize(kBuildIdBytes);
  std::random_device random;
  for (uint8_t& byte : build_id.bytes) byte = static_cast<uint8_t>(random());
  return CodeFile(std::move(*file), std::move(build_id), mode);
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
  const Header header = MakeHeader(file_.size(), build_id_, mode_);
  return file_.WriteAt(0, {reinterpret_cast<const uint8_t*>(&header), sizeof header});
}

}  // namespace flowback::record
