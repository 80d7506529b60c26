// SPDX-License-Identifier: MIT
// Turns a drafted program into bytes at addresses.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/generator/stream_generator_encode.h"
#include "tests/support/generator/stream_generator_program.h"

namespace flowback::testing {

enum class Form : uint8_t { kFixed, kShort, kNear, kCounter /* LOOPcc, JRCXZ */ };

// A program before its nodes have addresses and its sections bytes.
struct Draft {
  Program program;
  std::vector<Code> codes;  // by node; of forms other than kFixed empty yet
  std::vector<Form> forms;  // by node
  std::vector<std::pair<uint32_t, unsigned>> section_starts;  // first node, section number
};

inline constexpr unsigned kKernelSection = 3;

Program LayOut(Draft draft, const GeneratorOptions& options, Random& random);

}  // namespace flowback::testing
