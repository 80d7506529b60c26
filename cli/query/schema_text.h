// SPDX-License-Identifier: MIT
// `query --schema`: the tables, their columns and the functions.
#pragma once

#include <string>

namespace flowback::cli {

// Returns the text, or one JSON object.
std::string SchemaText(bool json);

}  // namespace flowback::cli
