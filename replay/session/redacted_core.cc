// SPDX-License-Identifier: MIT
#include "replay/session/redacted_core.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "decode/code/core_file.h"
#include "decode/code/elf_file.h"

namespace flowback {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBelowStack = 128;  // where a function without calls may have its variables
constexpr uint64_t kOtherStack =
    16 * kPage;                       // that stays of a stack, but of the first thread's all
constexpr size_t kRegistersAt = 112;  // in struct elf_prstatus
constexpr size_t kStackPointer = 19;  // in struct user_regs_struct of x86-64

template <class T>
std::optional<T> At(Bytes bytes, uint64_t offset) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

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
uint64_t MainStackIn(Bytes auxiliary) {
  for (uint64_t at = 0;; at += 2 * sizeof(uint64_t)) {
    const auto type = At<uint64_t>(auxiliary, at),
               value = At<uint64_t>(auxiliary, at + sizeof(uint64_t));
    if (!type || !value || *type == AT_NULL) return 0;
    if (*type == AT_RANDOM) return *value;
  }
}

void ReadStacks(Bytes notes, Stacks& stacks) {
  ForEachNote(notes, [&stacks](uint32_t type, Bytes content) {
    const auto pointer = At<uint64_t>(content, kRegistersAt + kStackPointer * sizeof(uint64_t));
    if (type == NT_PRSTATUS && pointer) stacks.pointers.push_back(*pointer);
    if (type == NT_AUXV) stacks.main = MainStackIn(content);
  });
}

class CoreRedaction {
 public:
  CoreRedaction(Bytes core, const Elf64_Ehdr& header) : core_(core), header_(header) {}

  std::vector<uint8_t> Make() {
    for (unsigned i = 0; i < header_.e_phnum; ++i)
      if (const auto program = Program(i)) programs_.push_back(*program);
    for (const Elf64_Phdr& program : programs_)
      if (program.p_type == PT_NOTE)
        ReadStacks(Part(core_, program.p_offset, program.p_filesz), stacks_);
    Elf64_Ehdr header = header_;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<Elf64_Half>(programs_.size());
    header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
    out_.resize(sizeof header + programs_.size() * sizeof(Elf64_Phdr));
    for (Elf64_Phdr& program : programs_) Keep(program);
    std::memcpy(out_.data(), &header, sizeof header);
    if (!programs_.empty())
      std::memcpy(out_.data() + sizeof header, programs_.data(),
                  programs_.size() * sizeof(Elf64_Phdr));
    return std::move(out_);
  }

 private:
  std::optional<Elf64_Phdr> Program(unsigned number) const {
    return At<Elf64_Phdr>(core_, header_.e_phoff + uint64_t{number} * header_.e_phentsize);
  }

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
  const Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> programs_;
  Stacks stacks_;
  std::vector<uint8_t> out_;
};

}  // namespace

Result<std::vector<uint8_t>> RedactCore(Bytes core, const std::string& name) {
  const Result<CoreFile> read = ReadCore(core, name);
  if (!read) return Fail(read.error());
  return CoreRedaction(core, *At<Elf64_Ehdr>(core, 0)).Make();
}

}  // namespace flowback
