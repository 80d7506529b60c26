// SPDX-License-Identifier: MIT
#include "replay/session/redacted_core.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "decode/code/core_file.h"
#include "decode/code/core_layout.h"
#include "decode/code/elf_file.h"

namespace flowback {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBelowStack = 128;  // where a function without calls may have its variables
constexpr uint64_t kOtherStack =
    16 * kPage;  // that stays of a stack, but of the first thread's all

Bytes Part(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size()) return {};
  return bytes.subspan(offset, std::min<uint64_t>(size, bytes.size() - offset));
}

// What the notes tell of stacks.
struct Stacks {
  std::vector<uint64_t> pointers;  // of all threads
  uint64_t main = 0;               // an address in the first thread's; 0: not told
};

// The kernel puts random bytes onto the first thread's stack, and says where.
uint64_t MainStackIn(Bytes auxiliary, size_t word) {
  for (uint64_t at = 0;; at += 2 * word) {
    const auto type = CoreNumber(auxiliary, at, word),
               value = CoreNumber(auxiliary, at + word, word);
    if (!type || !value || *type == AT_NULL) return 0;
    if (*type == AT_RANDOM) return *value;
  }
}

void ReadStacks(Bytes notes, const CoreLayout& layout, Stacks& stacks) {
  ForEachNote(notes, [&](uint32_t type, Bytes content) {
    if (type == NT_AUXV) stacks.main = MainStackIn(content, layout.word);
    if (type != NT_PRSTATUS || content.size() < layout.registers_at) return;
    const Bytes registers = content.subspan(layout.registers_at);
    if (const auto pointer = CoreRegister(layout, registers, layout.stack_pointer))
      stacks.pointers.push_back(*pointer);
  });
}

// The headers of a file, as its class has them.
Elf32_Ehdr Narrowed(const Elf64_Ehdr& header) {
  Elf32_Ehdr narrow{};
  std::memcpy(narrow.e_ident, header.e_ident, sizeof narrow.e_ident);
  narrow.e_type = header.e_type;
  narrow.e_machine = header.e_machine;
  narrow.e_version = header.e_version;
  narrow.e_phoff = static_cast<Elf32_Off>(header.e_phoff);
  narrow.e_flags = header.e_flags;
  narrow.e_ehsize = header.e_ehsize;
  narrow.e_phentsize = header.e_phentsize;
  narrow.e_phnum = header.e_phnum;
  return narrow;
}

Elf32_Phdr Narrowed(const Elf64_Phdr& program) {
  return {.p_type = program.p_type,
          .p_offset = static_cast<Elf32_Off>(program.p_offset),
          .p_vaddr = static_cast<Elf32_Addr>(program.p_vaddr),
          .p_paddr = static_cast<Elf32_Addr>(program.p_paddr),
          .p_filesz = static_cast<Elf32_Word>(program.p_filesz),
          .p_memsz = static_cast<Elf32_Word>(program.p_memsz),
          .p_flags = program.p_flags,
          .p_align = static_cast<Elf32_Word>(program.p_align)};
}

template <class T>
void PutAt(std::vector<uint8_t>& out, size_t at, const T& value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

class CoreRedaction {
 public:
  CoreRedaction(Bytes core, const CoreLayout& layout)
      : core_(core), layout_(layout), header_(*CoreHeader(core)) {}

  std::vector<uint8_t> Make() {
    for (unsigned i = 0; i < header_.e_phnum; ++i)
      if (const auto program = Program(i)) programs_.push_back(*program);
    for (const Elf64_Phdr& program : programs_)
      if (program.p_type == PT_NOTE)
        ReadStacks(Part(core_, program.p_offset, program.p_filesz), layout_, stacks_);
    Elf64_Ehdr header = header_;
    const size_t header_size = is_32() ? sizeof(Elf32_Ehdr) : sizeof header;
    const size_t row = is_32() ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
    header.e_phoff = header_size;
    header.e_phentsize = static_cast<Elf64_Half>(row);
    header.e_phnum = static_cast<Elf64_Half>(programs_.size());
    header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
    out_.resize(header_size + programs_.size() * row);
    for (Elf64_Phdr& program : programs_) Keep(program);
    is_32() ? PutAt(out_, 0, Narrowed(header)) : PutAt(out_, 0, header);
    for (size_t i = 0; i < programs_.size(); ++i) {
      const size_t at = header_size + i * row;
      is_32() ? PutAt(out_, at, Narrowed(programs_[i])) : PutAt(out_, at, programs_[i]);
    }
    return std::move(out_);
  }

 private:
  std::optional<Elf64_Phdr> Program(unsigned number) const {
    return CoreProgram(core_, header_.e_phoff + uint64_t{number} * header_.e_phentsize, is_32());
  }

  bool is_32() const { return layout_.word == sizeof(uint32_t); }

  // What of it stays, as the program header tells it then.
  void Keep(Elf64_Phdr& program) {
    const Bytes content = Part(core_, program.p_offset, program.p_filesz);
    Bytes kept;
    if (program.p_type == PT_NOTE) {
      kept = content;
    } else if (const auto begin = StackIn(program)) {
      // Above another stack than the first thread's may lie other memory of the program.
      const bool is_main = stacks_.main - program.p_vaddr < program.p_filesz;
      kept = Part(content, *begin, is_main ? content.size() : kOtherStack);
      program.p_vaddr += *begin;
      program.p_memsz -= std::min(program.p_memsz, *begin);
    } else if (LooksLikeElf(content)) {
      kept = Part(content, 0, kPage);
    }
    program.p_offset = out_.size();
    program.p_filesz = kept.size();
    out_.insert(out_.end(), kept.begin(), kept.end());
    out_.resize((out_.size() + kPage - 1) / kPage * kPage);
  }

  // Where in it the lowest stack that is in use begins, to a page.
  std::optional<uint64_t> StackIn(const Elf64_Phdr& program) const {
    if (program.p_type != PT_LOAD) return std::nullopt;
    std::optional<uint64_t> lowest;
    for (const uint64_t pointer : stacks_.pointers) {
      if (pointer < program.p_vaddr || pointer - program.p_vaddr >= program.p_filesz) continue;
      const uint64_t within = pointer - program.p_vaddr;
      const uint64_t begin = (within - std::min(within, kBelowStack)) / kPage * kPage;
      lowest = std::min(lowest.value_or(begin), begin);
    }
    return lowest;
  }

  Bytes core_;
  const CoreLayout& layout_;
  const Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> programs_;
  Stacks stacks_;
  std::vector<uint8_t> out_;
};

}  // namespace

Result<std::vector<uint8_t>> RedactCore(Bytes core, const std::string& name) {
  const Result<CoreFile> read = ReadCore(core, name);
  if (!read) return Fail(read.error());
  return CoreRedaction(core, *CoreLayoutOf(read->mode)).Make();
}

}  // namespace flowback
