// SPDX-License-Identifier: MIT
// ELF files whose sections say what no linker writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flowback::test {

struct HostileSymbol {
  uint32_t name = 0;  // offset in the string table
  uint64_t address = 0;
};

struct HostileElf {
  static constexpr uint64_t kAddress = 0x401000;  // of the code

  std::string code;
  std::string strings;  // the string table; begins with a zero byte
  std::vector<HostileSymbol> symbols;
  // A compressed .debug_str that unpacks to so many bytes, beside a .debug_line; 0: none.
  uint64_t unpacked = 0;

  std::string Build() const;
};

}  // namespace flowback::test
