// SPDX-License-Identifier: MIT
// Where an address of recorded code stands in the program's source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flowback/session.h"

namespace flowback {

// Returns "FILE:LINE" of the innermost function at the address. `pid` empty: of the only process
// that has code there, or of any of those that have the same code. Empty: not known, or several
// processes have different lines there.
std::string SourceTextOf(Session& session, uint64_t ip, std::optional<int32_t> pid);

}  // namespace flowback
