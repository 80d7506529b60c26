// SPDX-License-Identifier: MIT
// Compares the names of functions that people type with those that symbols have.
//
//   typed                     fits
//   f, a::f, a::b::f          int a::b::f<int>(int, char*)
//   f(int, char *)            the same, and no other overload
//   write                     write@GLIBC_2.2.5
//   g                         g.constprop.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flowback::dap {

struct NameParts {
  std::vector<std::string> parts{};         // "a", "b", "f<int>"
  std::optional<std::string> parameters{};  // "int,char*"; empty: not given
  // The last part without its template arguments.
  std::string Plain() const;
};

// Takes a demangled name apart. Spaces, a type in front, versions and marks of copies are left out.
NameParts TakeApart(std::string_view name);

// Returns whether the typed name is the function's.
bool Fits(const NameParts& typed, const NameParts& function);

}  // namespace flowback::dap
