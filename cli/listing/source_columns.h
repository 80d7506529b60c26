// SPDX-License-Identifier: MIT
// The columns that come from debug information.
#pragma once

#include <string>

#include "cli/listing/flow_printer.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {

class SourceColumns {
 public:
  explicit SourceColumns(const PrintSettings& settings) : settings_(settings) {}

  // `space` may be null.
  SourcePlace At(const AddressSpace* space, uint64_t ip) const;

  // "file.c:12"; "file.c:?" for code of that file that no line made; "-" when not known.
  static void AppendShort(std::string& out, const SourcePlace& place);
  // The same, then " (inlined by f at file.c:30)" for each call around it.
  static void AppendChain(std::string& out, const SourcePlace& place);
  // Keys file, line, inlined.
  static void AppendLine(JsonLine& line, const SourcePlace& place);
  // The line's own text; "-", or null, when it can't be read.
  void AppendText(std::string& out, const SourcePlace& place) const;
  void AppendText(JsonLine& line, const SourcePlace& place) const;

 private:
  std::string_view TextOf(const SourcePlace& place) const;

  const PrintSettings& settings_;
};

}  // namespace flowback::cli
