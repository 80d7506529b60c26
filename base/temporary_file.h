// SPDX-License-Identifier: MIT
// Files for the length of a process, which no other program can find.
#pragma once

#include <string>

namespace flowback {

// Returns the folder for temporary files: $TMPDIR, else /tmp.
std::string TemporaryFolder();
// Opens a file in `folder` that has no name. Where the file system has no such files, it has one
// for a moment. Returns its descriptor, or -1 with errno set.
int OpenNameless(const std::string& folder);

}  // namespace flowback
