// SPDX-License-Identifier: MIT
// Names of functions as people write them: those of C++, Rust, D and OCaml. Go does not mangle its
// own.
#pragma once

#include <string>

namespace flowback::symbols {

// A name that would become megabytes, or kilobytes as it is, stays mangled or is cut. A version or
// "@plt" behind the mangled name is kept; a name that is not mangled comes back unchanged.
std::string Demangled(const std::string& name);

}  // namespace flowback::symbols
