// SPDX-License-Identifier: MIT
// Names that compilers and linkers give to parts and copies of a function.
//
//   f.cold, f.cold.1           code of f that was moved away: jumps lead there and back
//   f.__part.2                 a basic block of f in a section of its own (clang, propeller)
//   f.part.0                   what is left of f where its begin was inlined: it is called
//   f.resume, f.destroy        what a coroutine does behind its first stop: it is called
//   f.constprop.0, f.isra.3    a copy of all of f: who calls it calls f
//
// All may be stacked: f.constprop.0.cold. Demanglers write "f(int) [clone .cold]".
#pragma once

#include <string_view>

namespace flowback::symbols {

// Returns the name of the function that code called `name` was moved away from; empty: it is none.
// Such code has no frame of its own.
std::string_view MovedFrom(std::string_view name);
// Returns MovedFrom, or `name` where that is empty. It is a prefix of `name`.
std::string_view FunctionNameOf(std::string_view name);
// Returns the name of the function that `name` is a part of, moved away or called; empty: none.
std::string_view PartOf(std::string_view name);
// Returns the name without marks of copies of a whole function.
std::string_view WithoutCopyMarks(std::string_view name);

}  // namespace flowback::symbols
