// SPDX-License-Identifier: MIT
// Functions by name: where recording begins and ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flowback::record {

// A function, in any file of the program or in one.
struct FunctionName {
  std::string name;
  std::string file;  // its path, or the path's last part, also without .so and version; empty: any

  bool empty() const { return name.empty(); }
  bool MayBeIn(std::string_view path) const;
  bool operator==(const FunctionName&) const = default;
};

// "NAME", "NAME@FILE" or "FILE:NAME"; empty when it is none of these. A name in C++ is the mangled
// one, or as demangled: with its scopes, with or without the parameters. Copies that the compiler
// made of a function (f.constprop.0) go by its name. NAME may be a pattern with * and ?, and the
// whole /a regular expression/.
std::optional<FunctionName> ParseFunctionName(const std::string& text);
std::string ToText(const FunctionName& function);

struct FunctionPlaces {
  std::vector<uint64_t> offsets;  // in the file, of their first instructions; ascending, each once
  bool indirect = false;  // one of that name is chosen at run time (IFUNC): its place is unknown
};

// The functions of that name that the ELF file defines, also those that its separate debug file
// (by build-id, in /usr/lib/debug) names. A file that can't be read has none.
FunctionPlaces FindFunction(const std::string& path, const std::string& name);

// A function of a file, by the symbol tables.
struct FunctionRange {
  std::string name;    // as it stands there
  uint64_t begin = 0;  // in the file
  uint64_t size = 0;   // 0: unknown
  bool global = false;
};
// All that the ELF file defines, also those that its separate debug file names; ascending.
std::vector<FunctionRange> FunctionRanges(const std::string& path);

}  // namespace flowback::record
