// SPDX-License-Identifier: MIT
// Paths as texts show them.
#pragma once

#include <string_view>

namespace flowback {

// The name behind the last slash; all of a path that has none, or that ends with one.
inline std::string_view LastPart(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path
                                                                     : path.substr(slash + 1);
}

}  // namespace flowback
