// SPDX-License-Identifier: MIT
// A user of the library counts a recording, makes a report and writes it in each format of
// coverage.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "flowback/replay/coverage_counter.h"
#include "flowback/session.h"
#include "flowback/writers.h"
#include "replay/writers/writers.h"
#include "tests/support/places.h"

namespace flowback {
namespace {

// How a format begins, and what else it contains, for a program that executed all its functions.
struct Frame {
  std::string_view begin;
  std::string_view contains;
};
const std::map<std::string_view, Frame> kFrames = {
    {"summary", {"tiny executed 100.0 % of its functions (6/6)", "\nobjects\n"}},
    {"json", {R"({"schema":"flowback.coverage/1")", R"("function":"Main")"}},
    {"lcov", {"TN:\nSF:", "\nend_of_record\n"}},
    {"cobertura", {"<?xml version=\"1.0\"", "</coverage>\n"}},
    {"llvm-json", {R"({"data":[)", R"("type":"llvm.coverage.json.export")"}},
    {"drcov", {"DRCOV VERSION: 2\n", "BB Table: "}},
    {"annotate", {"\n_start (", "\nMain ("}},
    {"html", {"<!DOCTYPE html>", "</body>\n</html>\n"}},
};

TEST(CoverageWriters, WriteAReportWithoutTheProgram) {
  auto session = Session::Open(SourceFolder() + "/tests/recordings/tiny.data");
  ASSERT_TRUE(session) << session.error().message();
  const Result<CoverageCounts> counts = CountCoverage(session->CoverageInput());
  ASSERT_TRUE(counts) << counts.error().message();
  ImageSearch search = session->options().search;
  for (const ImageStatus& image : session->code().images()) search.files.push_back(image.file);
  SourceLines lines(search);
  const CoverageReport report = CoverageReport::Of(
      *counts,
      {.open = [&search](const ObjectId& id) { return ObjectImage::Find(id, search); },
       .search = search,
       .lines = &lines},
      {});
  const CoverageView view{.report = report, .counts = *counts, .lines = &lines, .source_root = {}};
  for (const WriterOf<CoverageWriter>& format : WritersOf<CoverageWriter>()) {
    StringSink sink;
    format.write(view, sink);
    ASSERT_TRUE(kFrames.contains(format.name)) << format.name;
    const Frame& frame = kFrames.at(format.name);
    EXPECT_TRUE(sink.text().starts_with(frame.begin)) << format.name << ":\n" << sink.text();
    EXPECT_NE(sink.text().find(frame.contains), std::string::npos) << format.name << ":\n"
                                                                   << sink.text();
  }
}

TEST(CoverageWriters, AreFoundByName) {
  EXPECT_EQ(FindWriter<CoverageWriter>("lcov")->write, &WriteCoverageLcov);
  EXPECT_FALSE(FindWriter<CoverageWriter>("lco"));
}

}  // namespace
}  // namespace flowback
