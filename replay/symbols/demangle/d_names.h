// SPDX-License-Identifier: MIT
// Names of D's functions as people write them. [D ABI, "Name Mangling"]
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flowback::symbols {

// Returns the readable form of a name that D's compilers mangled ("_D3std5stdio7writelnFZv"), such
// as "std.stdio.writeln", with the arguments of templates, as in "std.conv.to!(int).to". Leaves the
// parameters of functions out. Returns nothing for other names, and for names whose readable form
// is longer than `most` bytes.
std::optional<std::string> DName(std::string_view mangled, size_t most);

}  // namespace flowback::symbols
