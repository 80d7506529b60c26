// SPDX-License-Identifier: MIT
// The options of `flowback timeline`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/reading/reader_options.h"
#include "flowback/base/error.h"

namespace flowback::cli {

// The words of the command line, not yet understood.
struct TimelineWords {
  ReaderOptions reader;
  std::string function;
  uint64_t depth = 32;
  size_t top = 20;
  std::string at;
  uint64_t around = 10;
  bool overview = false;
  bool waits = false;
  std::string sort;
  std::string svg;
  std::string html;
  std::string by = "function";
  bool lines = false;
  std::string of_whole_flow;  // an option that asks for it; empty: none was given

  bool by_line() const { return lines || by == "line"; }
  bool IsPicture() const { return !svg.empty() || !html.empty(); }
  // Returns the format's name in writers.def.
  std::string_view Format() const {
    if (!svg.empty()) return "svg";
    if (!html.empty()) return "html";
    return reader.json ? "json" : "text";
  }
};

void AddTimelineOptions(CLI::App& app, TimelineWords& words, ReaderWords& reader);

// Errors: kUsage for options that exclude each other.
Status UnderstandTimeline(const CLI::App& app, TimelineWords& words);

}  // namespace flowback::cli
