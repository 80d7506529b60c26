// SPDX-License-Identifier: MIT
// The kept part of a dump is at most its own size: a damaged dump may name the same bytes in each
// of tens of thousands of headers, and is refused.
#include "replay/session/redacted_core.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/hex.h"
#include "decode/code/core/core_file.h"
#include "decode/code/core/core_layout.h"
#include "decode/code/images/elf_file.h"

namespace flowback {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBelowStack = 128;  // where a function without calls may have its variables
constexpr uint64_t kOtherStack =
    16 * kPage;  // that stays of a stack, but of the first thread's all

// The notes' facts about stacks.
struct Stacks {
  std::vector<uint64_t> pointers;  // of all threads
  uint64_t main = 0;               // an address in the first thread's; 0: unknown
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
  narrow.e_shoff = static_cast<Elf32_Off>(header.e_shoff);
  narrow.e_flags = header.e_flags;
  narrow.e_ehsize = header.e_ehsize;
  narrow.e_phentsize = header.e_phentsize;
  narrow.e_phnum = header.e_phnum;
  narrow.e_shentsize = header.e_shentsize;
  narrow.e_shnum = header.e_shnum;
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
  CoreRedaction(Bytes core, const CoreLayout& layout, const std::string& name)
      : core_(core), layout_(layout), name_(name), header_(*CoreHeader(core)) {}

  Result<std::vector<uint8_t>> Make() {
    ReadPrograms();
    out_.resize(header_size() + programs_.size() * row_size());
    PutHeader();
    for (size_t i = 0; i < programs_.size(); ++i) {
      if (Status kept = Keep(programs_[i], i); !kept) return Fail(kept.error());
      const size_t at = header_size() + i * row_size();
      is_32() ? PutAt(out_, at, Narrowed(programs_[i])) : PutAt(out_, at, programs_[i]);
    }
    return std::move(out_);
  }

 private:
  bool is_32() const { return layout_.word == sizeof(uint32_t); }
  size_t header_size() const { return is_32() ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr); }
  size_t row_size() const { return is_32() ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr); }
  uint64_t HeaderAt(size_t number) const {
    return header_.e_phoff + uint64_t{number} * header_.e_phentsize;
  }

  void ReadPrograms() {
    const uint64_t count = CoreProgramCount(core_).value_or(0);
    for (uint64_t i = 0; i < count; ++i)
      if (const auto program = CoreProgram(core_, HeaderAt(i), is_32()))
        programs_.push_back(*program);
    for (const Elf64_Phdr& program : programs_)
      if (program.p_type == PT_NOTE)
        ReadStacks(Slice(core_, program.p_offset, program.p_filesz), layout_, stacks_);
    std::ranges::sort(stacks_.pointers);
  }

  // The program headers follow it, and a section header if their number needs one.
  void PutHeader() {
    Elf64_Ehdr header = header_;
    header.e_phoff = header_size();
    header.e_phentsize = static_cast<Elf64_Half>(row_size());
    header.e_shoff = header.e_shnum = header.e_shentsize = header.e_shstrndx = 0;
    header.e_phnum = kCountElsewhere;
    if (programs_.size() < kCountElsewhere) {
      header.e_phnum = static_cast<Elf64_Half>(programs_.size());
    } else {
      header.e_shnum = 1;
      header.e_shoff = out_.size();
      header.e_shentsize = is_32() ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
      PutCount(header);
    }
    is_32() ? PutAt(out_, 0, Narrowed(header)) : PutAt(out_, 0, header);
  }
  void PutCount(const Elf64_Ehdr& header) {
    out_.resize(header.e_shoff + header.e_shentsize);
    const auto count = static_cast<uint32_t>(programs_.size());
    Elf32_Shdr narrow{};
    Elf64_Shdr section{};
    narrow.sh_info = section.sh_info = count;
    is_32() ? PutAt(out_, header.e_shoff, narrow) : PutAt(out_, header.e_shoff, section);
  }

  // Keeps a part of the segment, and adapts its program header.
  Status Keep(Elf64_Phdr& program, size_t number) {
    const Bytes content = Slice(core_, program.p_offset, program.p_filesz);
    Bytes kept;
    if (program.p_type == PT_NOTE) {
      kept = content;
    } else if (const auto begin = StackIn(program)) {
      // Above another stack than the first thread's may lie other memory of the program.
      const bool is_main = stacks_.main - program.p_vaddr < program.p_filesz;
      kept = Slice(content, *begin, is_main ? content.size() : kOtherStack);
      program.p_vaddr += *begin;
      program.p_memsz -= std::min(program.p_memsz, *begin);
    } else if (LooksLikeElf(content)) {
      kept = Slice(content, 0, kPage);
    }
    if (kept.size() > left_) return Repeated(program, number);
    left_ -= kept.size();
    // Less than a page has no place that debuggers could map.
    if (kept.size() >= kPage) out_.resize((out_.size() + kPage - 1) / kPage * kPage);
    program.p_offset = out_.size();
    program.p_filesz = kept.size();
    out_.insert(out_.end(), kept.begin(), kept.end());
    return {};
  }
  Status Repeated(const Elf64_Phdr& program, size_t number) const {
    return Fail(Error(ErrorCode::kUnreadable,
                      name_ +
                          ": damaged core dump: it names bytes more than once, again for the "
                          "memory at " +
                          Hex(program.p_vaddr))
                    .At(HeaderAt(number))
                    .Remedy("get an undamaged copy of the dump, or pack with --no-core"));
  }

  // Where in it the lowest stack that is in use begins, to a page.
  std::optional<uint64_t> StackIn(const Elf64_Phdr& program) const {
    if (program.p_type != PT_LOAD) return std::nullopt;
    const auto lowest = std::ranges::lower_bound(stacks_.pointers, program.p_vaddr);
    if (lowest == stacks_.pointers.end() || *lowest - program.p_vaddr >= program.p_filesz)
      return std::nullopt;
    const uint64_t within = *lowest - program.p_vaddr;
    return (within - std::min(within, kBelowStack)) / kPage * kPage;
  }

  Bytes core_;
  uint64_t left_ = core_.size();  // of what may be kept
  const CoreLayout& layout_;
  const std::string& name_;
  const Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> programs_;
  Stacks stacks_;
  std::vector<uint8_t> out_;
};

}  // namespace

Result<std::vector<uint8_t>> RedactCore(Bytes core, const std::string& name) {
  const Result<CoreFile> read = ReadCore(core, name);
  if (!read) return Fail(read.error());
  return CoreRedaction(core, *CoreLayoutOf(read->mode), name).Make();
}

}  // namespace flowback
