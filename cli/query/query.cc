// SPDX-License-Identifier: MIT
// `flowback query`: SQL over a recording.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/query/query_job.h"
#include "cli/query/query_options.h"
#include "cli/query/schema_text.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/reading/written_files.h"
#include "cli/text/output.h"
#include "cli/text/terminal.h"

namespace flowback::cli {
namespace {

void AddQueryOptions(CLI::App& app, QueryOptions& options, ReaderWords&) {
  CLI::Option* const sql = app.add_option(
      "SQL", options.sql, "SQL statements; -: read them from standard input; none: a prompt");
  app.add_option("-f,--file", options.script, "Read the statements from FILE; -: standard input")
      ->excludes(sql);
  app.add_flag("--schema", options.schema,
               "Print the tables, their columns and the functions; needs no recording");
  CLI::Option* const csv =
      app.add_flag("--csv", options.csv, "Print CSV (default if the output is no terminal)");
  app.add_flag("--box", options.box, "Print a table with lines (default on a terminal)")
      ->excludes(csv);
  app.footer("`flowback help sql` shows twelve queries.");
}

// A single word that names no file and has blanks, as SQL has, is SQL about perf.data.
void UnderstandOneWord(QueryOptions& options) {
  std::string& input = options.reader.open.input;
  std::error_code ignored;
  if (!options.sql.empty() || !options.script.empty()) return;
  if (input.find_first_of(" \t\n") == std::string::npos) return;
  if (std::filesystem::exists(input, ignored)) return;
  options.sql = std::exchange(input, options.reader.open.raw_pt.empty() ? "perf.data" : "");
}

Error NoStatement(const std::string& where) {
  return Error(ErrorCode::kUsage, where + ": no SQL statement")
      .Remedy("`flowback query RECORDING 'SELECT function, calls FROM functions'`");
}

Error CannotRead(const std::string& name, int code) {
  return Error(ErrorCode::kUsage,
               fmt::format("--file: cannot read {}: {}", name, std::strerror(code)))
      .Remedy("name a readable file of SQL statements");
}

// Reads to the end. A folder cannot be read.
std::string ReadAll(std::istream& file) {
  std::string text;
  char part[1 << 16];
  while (file.read(part, sizeof part), file.gcount() > 0)
    text.append(part, static_cast<size_t>(file.gcount()));
  return text;
}

// Errors: kUsage if the file can't be read, or the recording is to come from the same input.
Result<std::string> ReadScript(const QueryOptions& options, const std::string& name) {
  if (name == "-") {
    if (options.reader.open.input == "/dev/stdin")
      return Fail(ErrorCode::kUsage,
                  "standard input cannot be both the recording and the statements");
    std::string text = ReadAll(std::cin);
    if (std::cin.bad()) return Fail(CannotRead("standard input", errno));
    return text;
  }
  errno = 0;
  std::ifstream file(name, std::ios::binary);
  std::string text = file.is_open() ? ReadAll(file) : std::string();
  if (!file.is_open() || file.bad()) return Fail(CannotRead(name, errno));
  return text;
}

Status UnderstandQuery(const CLI::App& app, QueryOptions& options) {
  if (app.count("INPUT") != 0) UnderstandOneWord(options);
  if (!options.reader.time.empty() || !options.reader.selection.cpus.empty())
    return Fail(Error(ErrorCode::kUsage, "query: --time and --cpu-list do not apply")
                    .Remedy("compare columns: WHERE begin BETWEEN A AND B, WHERE cpu = 0"));
  const bool reads_file = !options.script.empty() || options.sql == "-";
  if (reads_file) {
    const std::string name = options.script.empty() ? "-" : options.script;
    if (Status status = CheckIsNotRead({"-o", options.reader.output}, {&name, 1}); !status)
      return status;
    Result<std::string> text = ReadScript(options, name);
    if (!text) return Fail(text.error());
    options.sql = *std::move(text);
    if (options.sql.empty()) return Fail(NoStatement(name));
  }
  if (!options.sql.empty() || IsTerminal(STDIN_FILENO)) return {};
  return Fail(NoStatement("query"));
}

int RunQueryJob(const QueryOptions& options) {
  return RunReadingJob<QueryJob>(options.reader, options);
}

// Every recording has the same schema, so none is opened.
bool AsksForSchema(const Arguments& arguments, bool& json) {
  bool schema = false;
  for (const std::string& word : arguments) {
    if (word == "--") break;
    schema |= word == "--schema";
    json |= word == "--json";
  }
  return schema;
}

}  // namespace

int RunQuery(const Arguments& arguments) {
  bool json = false;
  if (AsksForSchema(arguments, json)) return Print(SchemaText(json));
  return ExecuteReading<QueryOptions>(
      arguments,
      {.name = "query",
       .summary = "Answers SQL about a recording: calls, waits, losses and more as tables.",
       .add_options = AddQueryOptions,
       .hidden = {"--time", "--cpu-list"},
       .understand = UnderstandQuery,
       .run = RunQueryJob});
}

}  // namespace flowback::cli
