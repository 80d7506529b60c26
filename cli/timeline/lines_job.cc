// SPDX-License-Identifier: MIT
#include "cli/timeline/lines_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/listing/function_filter.h"
#include "cli/text/terminal.h"
#include "replay/coverage/report/hot_lines.h"
#include "replay/coverage/report/used_files.h"
#include "replay/writers/lines/lines_view.h"
#include "replay/writers/writers.h"

namespace flowback::cli {

Status LinesJob::Prepare() {
  if (!words_.function.empty()) {
    Result<NamePattern> pattern = NamePattern::Parse(words_.function);
    if (!pattern) return Fail(pattern.error());
    pattern_ = *std::move(pattern);
  }
  return CountingJob::Prepare();
}

Status LinesJob::Count(const CoverageRequest& request, Output& output) {
  const Result<CoverageCounts> counts = CountCoverage(request);
  if (!counts) return Fail(counts.error());
  return Write(*counts, output);
}

Status LinesJob::Write(const CoverageCounts& counts, Output& output) {
  constexpr size_t kInFiles = 120;
  constexpr size_t kNarrowest = 40;
  ImageSearch search = words_.reader.search;
  for (const std::string& file : UsedFiles(opened_.code())) search.files.push_back(file);
  HotLineSources sources{.open = [&](const ObjectId& id) { return ObjectImage::Find(id, search); },
                         .lines = names_.lines,
                         .symbolizer = names_.symbolizer};
  if (pattern_) sources.chooses = [this](std::string_view name) { return pattern_->Matches(name); };
  const HotLines lines = FindHotLines(counts, sources);
  for (const std::string& problem : lines.problems) Warn(problem);
  found_any_ = lines.instructions != 0 || !pattern_;
  if (!found_any_) return {};
  const bool to_terminal = words_.reader.output.empty();
  const LinesView view{
      .lines = lines,
      .source = names_.lines,
      .input = opened_.InputName(),
      .emulated = opened_.clock().emulated(),
      .samples = opened_.source().samples(),
      .function = words_.function,
      .rows = words_.top,
      .width =
          std::max(to_terminal ? TerminalWidth(STDOUT_FILENO, kInFiles) : kInFiles, kNarrowest)};
  FindWriter<LinesWriter>(words_.reader.json ? "json" : "text")->write(view, output);
  return {};
}

Status LinesJob::JudgeResult() {
  if (found_any_ || !has_flow()) return CountingJob::JudgeResult();
  const bool is_part = !words_.reader.time.empty() || !opened_.options().selection.IsAll();
  const std::string none = fmt::format("{}: --function {}: no such function executed",
                                       opened_.InputName(), words_.function);
  return JudgeNoFunction(none, is_part, *pattern_, names_.symbolizer,
                         "its name as `timeline` prints it, or a pattern ('str*', '/^str/')");
}

}  // namespace flowback::cli
