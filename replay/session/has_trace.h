// SPDX-License-Identifier: MIT
// Whether a recording holds a branch trace, and if not, why.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback {

// Why a recording between functions holds no trace; empty when it does, or when all was recorded.
std::string NeverWatched(const Recording& recording);
inline constexpr const char* kSpanRemedy =
    "record without --from and --until, or name functions that run (--from FUNCTION@FILE picks "
    "one)";

// Errors: kUnsupported when the recording holds no branch trace, with how to make one.
Status CheckHasTrace(const Recording& recording);

}  // namespace flowback
