// SPDX-License-Identifier: MIT
// Where the core dumps of each machine have their numbers.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback {

// The structs that the kernel of a machine writes into a dump of a process.
struct CoreLayout {
  CodeMode mode = CodeMode::kX86_64;
  uint16_t machine = 0;     // e_machine
  size_t word = 8;          // the bytes of an address, and of a register
  size_t thread_at = 0;     // in struct elf_prstatus: the thread's number
  size_t registers_at = 0;  // and the registers
  size_t process_at = 0;    // in struct elf_prpsinfo: the process's number
  size_t name_at = 0;       // and its name
  // By the names that gdb gives them, in their order there.
  std::span<const std::string_view> registers{};
  std::string_view counter{};  // the names of some of them
  std::string_view stack_pointer{};
  std::string_view flags{};
  // Name of the register with the place of the thread's own data. Not all dumps of 32-bit x86 have
  // it.
  std::string_view thread_pointer{};
};

// Null: dumps of such a process cannot be read.
const CoreLayout* CoreLayoutOf(CodeMode mode);
const CoreLayout* CoreLayoutOf(uint8_t elf_class, uint16_t machine);
// The layout of a dump, by its ELF header. Null: it is none that can be read.
const CoreLayout* CoreLayoutOf(Bytes core);

// Returns a register of the kernel's struct at `registers`. Empty: no register has that name.
std::optional<uint64_t> CoreRegister(const CoreLayout& layout, Bytes registers,
                                     std::string_view name);

// A number of at most eight bytes, little-endian. Empty: the bytes end before.
std::optional<uint64_t> CoreNumber(Bytes bytes, uint64_t offset, size_t size);

// The headers of a file of either class, as of 64 bits. Empty: the file ends before.
std::optional<Elf64_Ehdr> CoreHeader(Bytes core);
// How many program headers there are. With more than the ELF header has room for, the first section
// header has the number, and the ELF header has kCountElsewhere. Empty: the file ends before.
constexpr uint16_t kCountElsewhere = PN_XNUM;
std::optional<uint64_t> CoreProgramCount(Bytes core);
std::optional<Elf64_Phdr> CoreProgram(Bytes core, uint64_t offset, bool is_32);

}  // namespace flowback
