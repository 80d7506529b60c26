// SPDX-License-Identifier: MIT
// Writes the rows of a statement.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/query/query_options.h"
#include "flowback/writers.h"
#include "replay/query/table.h"

namespace flowback::cli {

// Needs memory for some thousand rows at most.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void Add(std::span<const QueryValue> row) = 0;
  // The last row has been added.
  virtual void Finish() = 0;
};

// `names` are the columns of the statement. `sink` must outlive the result. `input` is the
// recording's name, for JSON.
std::unique_ptr<RowWriter> MakeRowWriter(QueryOptions::Format format,
                                         const std::vector<std::string>& names,
                                         const std::string& input, TextSink& sink);

}  // namespace flowback::cli
