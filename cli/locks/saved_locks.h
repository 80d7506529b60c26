// SPDX-License-Identifier: MIT
// Reads what `flowback locks --json` has written.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "replay/writers/locks/lock_changes.h"

namespace flowback::cli {

// Returns whether a file begins as the command's JSON does.
bool LooksLikeLocks(const std::string& path);

// Keeps only the compared figures of each site, however large the file is. Errors: kUnreadable if
// the file is cut, damaged, of another version, or has too many sites.
Result<LockFigures> ReadSavedLocks(const std::string& path);

}  // namespace flowback::cli
