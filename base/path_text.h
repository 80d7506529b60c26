// SPDX-License-Identifier: MIT
// Paths as texts show and compare them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace flowback {

// Returns the name after the last slash. Returns the whole path if it has no slash or ends with
// one.
inline std::string_view LastPart(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path
                                                                     : path.substr(slash + 1);
}

// Returns the path without "./" and "a/../". The files need not exist.
inline std::string NormalPath(std::string_view path) {
  return std::filesystem::path(path).lexically_normal().string();
}

}  // namespace flowback
