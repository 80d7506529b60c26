// SPDX-License-Identifier: MIT
// The words of `flowback locks`, understood.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/reading/reader_options.h"

namespace flowback::cli {

struct LockWords {
  ReaderOptions reader;
  bool paths = false;
  bool all = false;
  bool blocking = false;
  size_t top = 20;
  std::string baseline;   // empty: no baseline was given
  std::string fail_over;  // as given
  std::string svg;
  std::string html;
  std::optional<double> limit;  // --fail-over, between 0 and 1

  bool IsPicture() const { return !svg.empty() || !html.empty(); }
  // Returns the format's name in writers.def.
  std::string_view Format() const {
    if (!svg.empty()) return "svg";
    if (!html.empty()) return "html";
    return reader.json ? "json" : "text";
  }
};

}  // namespace flowback::cli
