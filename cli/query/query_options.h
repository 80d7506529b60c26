// SPDX-License-Identifier: MIT
// The words of `flowback query`, understood.
#pragma once

#include <cstdint>
#include <string>

#include "cli/reading/reader_options.h"

namespace flowback::cli {

struct QueryOptions {
  enum class Format : uint8_t { kBox, kCsv, kJson };

  ReaderOptions reader;
  std::string sql;     // the statements; empty: a prompt asks for them
  std::string script;  // the file that has them; empty: no file was given
  bool schema = false;
  bool csv = false;
  bool box = false;

  // By default people at a terminal get a box, and programs CSV.
  Format FormatFor(bool is_terminal) const {
    if (reader.json) return Format::kJson;
    if (csv) return Format::kCsv;
    return box || is_terminal ? Format::kBox : Format::kCsv;
  }
};

}  // namespace flowback::cli
