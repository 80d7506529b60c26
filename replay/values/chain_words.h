// SPDX-License-Identifier: MIT
// The links and the end of a chain, in words.
#pragma once

#include <string>

#include "replay/values/value_history.h"

namespace flowback::values {

// "loads 0x0 from 0x7ffe0010".
std::string GaveWords(const ChainLink& link);
// Why the chain ends there, as the rest of a sentence: "the instruction contains the value".
const char* EndWords(ChainEnd end);

}  // namespace flowback::values
