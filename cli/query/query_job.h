// SPDX-License-Identifier: MIT
// One run of `flowback query`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/query/query_options.h"
#include "cli/reading/reading_job.h"
#include "flowback/base/error.h"
#include "replay/query/database.h"
#include "replay/query/query_source.h"

namespace flowback::cli {

class QueryJob final : public ReadingJob {
 public:
  QueryJob(const QueryOptions& options, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options) {}

 private:
  Status Prepare() override;
  Status Run(Output& output) override;
  void Keep() const override;
  void TellHow() const override;

  Status OpenRecorded();
  // Runs the statements of a text. Errors: those of the first one that fails, with its place.
  Status RunText(const std::string& sql, Output& output);
  Status RunOne(Query& query, Output& output);
  // Asks for statements until the person ends the input; failures are printed and do not end it.
  Status AskForText(Output& output);

  const QueryOptions& options_;
  std::optional<QuerySource> source_;
  std::unique_ptr<QueryDatabase> database_;
};

}  // namespace flowback::cli
