// SPDX-License-Identifier: MIT
// Prose in lines that fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flowback {

// `text` in lines of at most `width` columns, each but the first behind `indent` blanks. Lines that
// it has already stay apart.
std::string Wrapped(std::string_view text, size_t indent, size_t width);

}  // namespace flowback
