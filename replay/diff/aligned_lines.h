// SPDX-License-Identifier: MIT
// Finds the lines of an older text in a newer one.
//
//   old: a b c d e        new: a x b d e        a-a, b-b, d-d, e-e
//
// Lines that stand once in each text and in the same order are anchors; between two anchors equal
// lines are paired in their order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace flowback {

// Returns for each line of `old` its number in `now`; empty: it is not there. Pairs keep their
// order. Takes time in proportion to the lines where most of them are the same.
std::vector<std::optional<uint32_t>> AlignLines(std::span<const std::string_view> old,
                                                std::span<const std::string_view> now);

}  // namespace flowback
