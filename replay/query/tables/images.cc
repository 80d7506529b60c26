// SPDX-License-Identifier: MIT
// The table images: the files whose code ran, as `info` lists them.
#include <string>
#include <vector>

#include "replay/query/kept_rows.h"
#include "replay/query/query_source.h"

namespace flowback {
namespace {

enum Column : size_t { kPath, kFile, kSource, kUsable, kVerified, kBuildId, kFoundId, kProblem };

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"path", Type::kText, "the path as recorded"},
    {"file", Type::kText, "the file that its code was read from; NULL: none fits"},
    {"source", Type::kText, "where that file was found; NULL: nowhere"},
    {"usable", Type::kInteger, "1: the recording is decoded with it"},
    {"verified", Type::kText, "build-id: recording and file agree; unverified; or given by you"},
    {"build_id", Type::kText, "as recorded; NULL: not recorded"},
    {"found_build_id", Type::kText, "of the file; NULL: it has none"},
    {"problem", Type::kText, "what is wrong, and what helps; NULL: nothing"},
};

struct Row {
  std::string path;
  std::string file;
  std::string_view source;
  bool usable = false;
  std::string_view verified;
  std::string build_id;
  std::string found_id;
  std::string problem;
};

std::string_view WordOf(Verification verification) {
  switch (verification) {
    case Verification::kBuildId:
      return "build-id";
    case Verification::kUnverified:
      return "unverified";
    case Verification::kGiven:
      return "given";
  }
  return {};
}

Row RowOf(const ImageStatus& image) {
  return {.path = image.path,
          .file = image.file,
          .source = image.source == CodeSource::kNone ? std::string_view() : Name(image.source),
          .usable = image.usable,
          .verified = image.usable ? WordOf(image.verification) : std::string_view(),
          .build_id = image.recorded.ToHex(),
          .found_id = image.found.ToHex(),
          .problem = image.problem};
}

QueryValue Cell(const Row& row, size_t column) {
  switch (column) {
    case kPath:
      return TextValue(row.path);
    case kFile:
      return TextValue(row.file);
    case kSource:
      return TextValue(row.source);
    case kUsable:
      return NumberValue(row.usable ? 1 : 0);
    case kVerified:
      return TextValue(row.verified);
    case kBuildId:
      return TextValue(row.build_id);
    case kFoundId:
      return TextValue(row.found_id);
    default:
      return TextValue(row.problem);
  }
}

Result<std::unique_ptr<QueryRows>> OpenImages(QuerySource& source, const QueryLimits&) {
  std::vector<Row> rows;
  for (const ImageStatus& image : source.session().code().images()) rows.push_back(RowOf(image));
  return MakeKeptRows(std::move(rows), Cell);
}

}  // namespace

QueryTable images_table() {
  return {.name = "images",
          .summary = "the files whose code ran, and what vouches for them",
          .columns = kColumns,
          .usual_rows = 20,
          .open = OpenImages};
}

}  // namespace flowback
