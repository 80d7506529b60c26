// SPDX-License-Identifier: MIT
// Call paths of samples as `stack --paths` prints them.
#pragma once

#include "cli/text/output.h"
#include "replay/samples/call_paths.h"

namespace flowback::cli {

// Prints a tree, most samples first.
void PrintPathsText(const CallPaths& paths, Output& output);
// Prints an object for each path that samples end at.
void PrintPathsJson(const CallPaths& paths, Output& output);

}  // namespace flowback::cli
