// SPDX-License-Identifier: MIT
// Finds the words that a mistyped word may stand for.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace flowback::cli {

// More names than that are not compared with a word: it would take too long.
constexpr size_t kMostNamesToCompare = 100'000;

// How many letters to insert, leave out, change or swap with their neighbour, at least, to make one
// word from the other.
size_t EditDistance(std::string_view one, std::string_view other);

// The known word that is nearest to `word`, if it is near: at most a third of its letters differ,
// or one begins with the other. Empty: none is near. Returns the first of equally near ones.
std::string_view NearestWord(std::string_view word, std::span<const std::string> known);

// " (did you mean 'record'?)", or nothing.
std::string DidYouMean(std::string_view word, std::span<const std::string> known);

}  // namespace flowback::cli
