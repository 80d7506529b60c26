// SPDX-License-Identifier: MIT
#include "decode/code/core/core_layout.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace flowback {
namespace {

// struct user_regs_struct. fs_base and gs_base have names of their own.
constexpr std::array<std::string_view, 27> kRegisters64 = {
    "r15",    "r14", "r13", "r12",     "rbp",     "rbx", "r11",      "r10", "r9",
    "r8",     "rax", "rcx", "rdx",     "rsi",     "rdi", "orig_rax", "rip", "cs",
    "eflags", "rsp", "ss",  "fs_base", "gs_base", "ds",  "es",       "fs",  "gs"};
constexpr std::array<std::string_view, 17> kRegisters32 = {
    "ebx", "ecx", "edx",      "esi", "edi", "ebp",    "eax", "ds", "es",
    "fs",  "gs",  "orig_eax", "eip", "cs",  "eflags", "esp", "ss"};
constexpr std::array<std::string_view, 34> kRegistersArm = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10", "x11",
    "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
    "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",  "pc",  "cpsr"};

constexpr std::array kLayouts = {
    CoreLayout{.mode = CodeMode::kX86_64,
               .machine = EM_X86_64,
               .word = 8,
               .thread_at = 32,
               .registers_at = 112,
               .process_at = 24,
               .name_at = 40,
               .registers = kRegisters64,
               .counter = "rip",
               .stack_pointer = "rsp",
               .flags = "eflags",
               .thread_pointer = "fs_base"},
    CoreLayout{.mode = CodeMode::kX86_32,
               .machine = EM_386,
               .word = 4,
               .thread_at = 24,
               .registers_at = 72,
               .process_at = 12,
               .name_at = 28,
               .registers = kRegisters32,
               .counter = "eip",
               .stack_pointer = "esp",
               .flags = "eflags",
               .thread_pointer = "gs_base"},
    CoreLayout{.mode = CodeMode::kAArch64,
               .machine = EM_AARCH64,
               .word = 8,
               .thread_at = 32,
               .registers_at = 112,
               .process_at = 24,
               .name_at = 40,
               .registers = kRegistersArm,
               .counter = "pc",
               .stack_pointer = "sp",
               .flags = "cpsr",
               .thread_pointer = "tpidr"},
};

template <class T>
std::optional<T> At(Bytes bytes, uint64_t offset) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

const CoreLayout* CoreLayoutOf(CodeMode mode) {
  const auto found = std::ranges::find(kLayouts, mode, &CoreLayout::mode);
  return found == kLayouts.end() ? nullptr : &*found;
}

const CoreLayout* CoreLayoutOf(uint8_t elf_class, uint16_t machine) {
  const auto found = std::ranges::find_if(kLayouts, [&](const CoreLayout& layout) {
    return layout.machine == machine && (layout.word == 4 ? ELFCLASS32 : ELFCLASS64) == elf_class;
  });
  return found == kLayouts.end() ? nullptr : &*found;
}

const CoreLayout* CoreLayoutOf(Bytes core) {
  const auto header = CoreHeader(core);
  return header ? CoreLayoutOf(header->e_ident[EI_CLASS], header->e_machine) : nullptr;
}

std::optional<uint64_t> CoreRegister(const CoreLayout& layout, Bytes registers,
                                     std::string_view name) {
  const auto at = std::ranges::find(layout.registers, name);
  if (at == layout.registers.end()) return std::nullopt;
  const auto number = static_cast<uint64_t>(at - layout.registers.begin());
  return CoreNumber(registers, number * layout.word, layout.word);
}

std::optional<uint64_t> CoreNumber(Bytes bytes, uint64_t offset, size_t size) {
  uint64_t number = 0;
  if (offset > bytes.size() || bytes.size() - offset < size || size > sizeof number)
    return std::nullopt;
  std::memcpy(&number, bytes.data() + offset, size);
  return number;
}

std::optional<Elf64_Ehdr> CoreHeader(Bytes core) {
  if (core.size() <= EI_CLASS || core[EI_CLASS] != ELFCLASS32) return At<Elf64_Ehdr>(core, 0);
  const auto read = At<Elf32_Ehdr>(core, 0);
  if (!read) return std::nullopt;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, read->e_ident, sizeof header.e_ident);
  header.e_type = read->e_type;
  header.e_machine = read->e_machine;
  header.e_version = read->e_version;
  header.e_phoff = read->e_phoff;
  header.e_shoff = read->e_shoff;
  header.e_flags = read->e_flags;
  header.e_ehsize = read->e_ehsize;
  header.e_phentsize = read->e_phentsize;
  header.e_phnum = read->e_phnum;
  header.e_shentsize = read->e_shentsize;
  header.e_shnum = read->e_shnum;
  return header;
}

std::optional<uint64_t> CoreProgramCount(Bytes core) {
  const auto header = CoreHeader(core);
  if (!header) return std::nullopt;
  if (header->e_phnum != kCountElsewhere) return header->e_phnum;
  if (header->e_shoff > core.size()) return std::nullopt;
  const Bytes sections = core.subspan(header->e_shoff);
  if (core[EI_CLASS] != ELFCLASS32) {
    const auto section = At<Elf64_Shdr>(sections, 0);
    return section ? std::optional<uint64_t>(section->sh_info) : std::nullopt;
  }
  const auto section = At<Elf32_Shdr>(sections, 0);
  return section ? std::optional<uint64_t>(section->sh_info) : std::nullopt;
}

std::optional<Elf64_Phdr> CoreProgram(Bytes core, uint64_t offset, bool is_32) {
  if (!is_32) return At<Elf64_Phdr>(core, offset);
  const auto read = At<Elf32_Phdr>(core, offset);
  if (!read) return std::nullopt;
  return Elf64_Phdr{.p_type = read->p_type,
                    .p_flags = read->p_flags,
                    .p_offset = read->p_offset,
                    .p_vaddr = read->p_vaddr,
                    .p_paddr = read->p_paddr,
                    .p_filesz = read->p_filesz,
                    .p_memsz = read->p_memsz,
                    .p_align = read->p_align};
}

}  // namespace flowback
