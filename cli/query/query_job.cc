// SPDX-License-Identifier: MIT
#include "cli/query/query_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "capture/formats/input/samples.h"
#include "cli/query/prompt.h"
#include "cli/query/row_writer.h"
#include "cli/query/schema_text.h"
#include "cli/query/sql_error.h"
#include "cli/reading/stream_report.h"
#include "cli/text/status.h"
#include "cli/text/terminal.h"
#include "cli/text/terminal_session.h"
#include "replay/session/has_trace.h"

namespace flowback::cli {

Status QueryJob::Prepare() {
  if (Status status = OpenRecorded(); !status) return status;
  source_.emplace(opened_);
  Result<std::unique_ptr<QueryDatabase>> database = QueryDatabase::Open(*source_);
  if (!database) return Fail(database.error());
  database_ = *std::move(database);
  return {};
}

// The recording may hold samples and no trace.
Status QueryJob::OpenRecorded() {
  if (Status trace = CheckHasTrace(opened_.recording()); !trace) {
    if (trace.error().code() == ErrorCode::kUnreadable) return trace;
    if (!HasAccessSamples(opened_.recording())) return trace;
    if (Status status = opened_.OpenSource(); !status) return status;
    return opened_.LoadCode();
  }
  if (Status status = opened_.OpenTrace(); !status) return status;
  opened_.KeepIndexes();
  const bool has_flow = opened_.source().WhyNoFlow().empty();
  if (Status status = has_flow ? opened_.OpenCode() : opened_.LoadCode(); !status) return status;
  opened_.PrepareStreams(true);
  if (Status status = opened_.ChooseThreads(); !status) return status;
  WarnOfSharedStreams(opened_.recording(), opened_.threads(), opened_.InputName());
  return {};
}

Status QueryJob::Run(Output& output) {
  opened_.AddKnownLosses();
  if (options_.sql.empty()) return AskForText(output);
  const WorkProgress progress = opened_.ShowProgress("query", opened_.trace_bytes());
  return RunText(options_.sql, output);
}

Status QueryJob::RunText(const std::string& sql, Output& output) {
  size_t at = 0;
  while (!output.closed()) {
    Result<std::unique_ptr<Query>> query = database_->Prepare(sql, at);
    Status status = query ? Status() : Status(Fail(query.error()));
    if (status && *query == nullptr) return {};
    if (status) status = RunOne(**query, output);
    if (status) continue;
    // What came before stands before the message.
    output.Flush();
    const std::string place = PlaceText(sql, status.error());
    if (!place.empty()) {
      BeforeMessage();
      std::fputs(place.c_str(), stderr);
    }
    return Fail(WithPlace(sql, status.error()));
  }
  return {};
}

Status QueryJob::RunOne(Query& query, Output& output) {
  // A table that the recording cannot fill says so at its first row: nothing is printed then.
  Result<bool> next = query.Next();
  if (!next) return Fail(next.error());
  std::unique_ptr<RowWriter> writer;
  if (query.column_count() != 0) {
    const bool is_terminal = options_.reader.output.empty() && IsTerminal(STDOUT_FILENO);
    writer =
        MakeRowWriter(options_.FormatFor(is_terminal), query.names(), opened_.InputName(), output);
  }
  std::vector<QueryValue> row(query.column_count());
  for (; next && *next && !output.closed(); next = query.Next()) {
    for (size_t i = 0; i < row.size(); ++i) row[i] = query.At(i);
    if (writer != nullptr) writer->Add(row);
  }
  if (writer != nullptr) writer->Finish();
  if (!next) return Fail(next.error());
  return {};
}

Status QueryJob::AskForText(Output& output) {
  SqlPrompt prompt(QueryDatabase::Words());
  database_->StopWhen([&prompt] { return prompt.is_interrupted(); });
  std::string sql;
  while (!output.closed()) {
    const std::optional<std::string> line = prompt.Read(sql.empty() ? "flowback> " : "     ...> ");
    if (!line) break;
    if (sql.empty() && (*line == ".quit" || *line == ".exit" || *line == "quit")) break;
    if (sql.empty() && (*line == ".schema" || *line == ".help")) {
      output.Write(SchemaText(false));
      output.Flush();
      continue;
    }
    sql += sql.empty() ? *line : "\n" + *line;
    if (sql.find_first_not_of(" \t\n") == std::string::npos) sql.clear();
    if (sql.empty() || !QueryDatabase::IsComplete(sql)) continue;
    prompt.Remember(sql);
    if (Status status = RunText(std::exchange(sql, {}), output); !status) Report(status.error());
    output.Flush();
  }
  database_->StopWhen({});
  return {};
}

void QueryJob::Keep() const {
  if (source_ && opened_.MayKeepResults()) source_->Keep();
}

void QueryJob::TellHow() const {
  if (!source_) return;
  const QueryEffort& effort = source_->effort();
  if (effort.all_instructions == 0) return;
  Warn(fmt::format("query: played {} of the flow's {} instructions, in {} parts",
                   effort.instructions, effort.all_instructions, effort.shares));
}

}  // namespace flowback::cli
