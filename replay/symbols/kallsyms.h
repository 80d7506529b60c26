// SPDX-License-Identifier: MIT
// The kernel's symbols, as /proc/kallsyms lists them: by address, not by place in a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/bytes.h"

namespace flowback::symbols {

class Kallsyms {
 public:
  // Lines "ADDRESS TYPE NAME [MODULE]"; others are passed over. A list made without the privilege
  // to see addresses has zeros in their place, and so no symbols.
  static Kallsyms Read(Bytes text);
  // Nothing but an empty list when the file can't be read.
  static Kallsyms ReadFile(const std::string& path);

  // Whether the text is such a line, without or with the zeros.
  static bool IsLine(std::string_view line);

  struct Hit {
    std::string_view name;  // lives as long as this
    uint64_t offset;
    uint64_t size;  // up to the next symbol
  };
  std::optional<Hit> Find(uint64_t address) const;
  bool empty() const { return symbols_.empty(); }

 private:
  struct Symbol {
    uint64_t address;
    bool is_code;
    std::string name;
  };
  static std::optional<Symbol> ReadLine(std::string_view line);

  std::vector<Symbol> symbols_;  // sorted, one for each address
};

}  // namespace flowback::symbols
