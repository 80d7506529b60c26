// SPDX-License-Identifier: MIT
// Names of Rust's functions as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flowback::symbols {

// Returns the readable form of a name that rustc mangled by its version 0 ("_RNvNtCs1_3foo3bar"),
// such as "foo::bar". Leaves the hashes of crates out, as `rustfilt` does. Returns nothing for
// other names, and for names whose readable form is longer than `most` bytes.
std::optional<std::string> RustName(std::string_view mangled, size_t most);

// Returns the readable form of a name that rustc mangled in its older way, which looks like C++'s
// and ends with a hash ("_ZN3foo3bar17h0123456789abcdefE"): "foo::bar". Returns nothing for other
// names.
std::optional<std::string> OlderRustName(std::string_view mangled);

}  // namespace flowback::symbols
