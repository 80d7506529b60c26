// SPDX-License-Identifier: MIT
// Writes what a recording executed in two formats that other programs read.
//   writes_formats RECORDING LCOV_FILE JSON_FILE
// LCOV_FILE gets the coverage, for genhtml. JSON_FILE gets the timeline.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "flowback/flowback.h"
#include "report.h"

namespace {

using flowback::Fail;
using flowback::Session;
using flowback::Status;

void Save(flowback::StringSink& sink, const std::string& path) {
  std::ofstream(path, std::ios::binary) << sink.text();
}

// Reads the same images that the session decoded.
flowback::ImageSearch SearchOf(const Session& session) {
  flowback::ImageSearch search = session.options().search;
  for (const flowback::ImageStatus& image : session.code().images())
    if (image.usable) search.files.push_back(image.file);
  return search;
}

Status WriteLcov(const Session& session, const std::string& path) {
  const auto counts = flowback::CountCoverage(session.CoverageInput());
  if (!counts) return Fail(counts.error());
  const flowback::ImageSearch search = SearchOf(session);
  flowback::SourceLines lines(search);
  const auto open = [&search](const flowback::ObjectId& id) {
    return flowback::ObjectImage::Find(id, search);
  };
  const auto report =
      flowback::CoverageReport::Of(*counts, {.open = open, .search = search, .lines = &lines}, {});
  flowback::StringSink sink;
  const flowback::CoverageView view{
      .report = report, .counts = *counts, .lines = &lines, .source_root = {}};
  flowback::FindWriter<flowback::CoverageWriter>("lcov")->write(view, sink);
  Save(sink, path);
  const std::vector<std::string> problems = lines.Problems();  // debug information was not read
  if (problems.empty()) return {};
  return Fail(flowback::Error(flowback::ErrorCode::kUnreadable, problems.front()));
}

Status WriteTimeline(Session& session, const std::string& path) {
  constexpr size_t kColumns = 1000;  // of each thread's strip
  const auto timeline = session.MakeTimeline({.most_calls = 0, .columns = kColumns});
  if (!timeline) return Fail(timeline.error());
  flowback::StringSink sink;
  flowback::FindWriter<flowback::TimelineWriter>("json")->write(
      flowback::TimelineView::Of(session, *timeline, kColumns), sink);
  Save(sink, path);
  return {};
}

Status Write(const std::string& recording, const std::string& lcov, const std::string& json) {
  auto session = Session::Open(recording);
  if (!session) return Fail(session.error());
  if (Status status = WriteLcov(*session, lcov); !status) return status;
  return WriteTimeline(*session, json);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s RECORDING LCOV_FILE JSON_FILE\n", argv[0]);
    return 2;
  }
  return ExitStatus(argv[0], Write(argv[1], argv[2], argv[3]));
}
