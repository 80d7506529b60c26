// SPDX-License-Identifier: MIT
// An input that is a bundle, as a command reads it.
#pragma once

#include <string>

#include "cli/reading/reader_options.h"
#include "flowback/base/error.h"

namespace flowback::cli {

// As UseBundle; warns of what cannot be read of it.
Status UseBundleInput(ReaderOptions& options);

// The options for another input, which may be a bundle or not: nothing in them is of a bundle that
// `options` name. Errors: as UseBundle's.
Result<ReaderOptions> OptionsForInput(const ReaderOptions& options, const std::string& input);

}  // namespace flowback::cli
