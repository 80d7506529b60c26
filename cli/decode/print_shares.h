// SPDX-License-Identifier: MIT
// `decode --as summary --by`: shares of the flow, printed.
#pragma once

#include <string>

#include "cli/text/output.h"
#include "flowback/base/error.h"
#include "replay/flow/code_shares.h"

namespace flowback::cli {

// Errors: kUsage for an unknown word.
Result<ShareKind> ParseShareKind(const std::string& word);

// Prints most instructions first, and a line for all.
void PrintShares(ShareKind kind, const CodeShares& shares, bool json, Output& output);

}  // namespace flowback::cli
