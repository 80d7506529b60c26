// SPDX-License-Identifier: MIT
// Shows where in its text SQL is wrong.
#pragma once

#include <string>

#include "flowback/base/error.h"

namespace flowback::cli {

// Returns the line of `sql` that the error is in, with a caret below the place; empty if the error
// has no place.
std::string PlaceText(const std::string& sql, const Error& error);
// Returns the error with its line and column in the message.
Error WithPlace(const std::string& sql, const Error& error);

}  // namespace flowback::cli
