// SPDX-License-Identifier: MIT
// `flowback merge`: adds up part files of coverage.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/coverage/part_losses.h"
#include "cli/coverage/part_output.h"
#include "cli/options/arguments.h"
#include "cli/text/output.h"
#include "cli/text/status.h"
#include "replay/coverage/coverage_parts.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

struct MergeOptions {
  std::string output;
  std::vector<std::string> parts;
  std::vector<std::string> lists;
  bool json = false;
  bool strict = false;
};

// A name a line; "-" is standard input.
Status ReadList(const std::string& list, std::vector<std::string>& parts) {
  std::ifstream file;
  if (list != "-") file.open(list);
  std::istream& lines = list == "-" ? std::cin : file;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) parts.push_back(line);
  if (lines.eof() && !lines.bad()) return {};
  return Fail(Error(ErrorCode::kUnreadable, list + ": the list of parts can't be read")
                  .Remedy("name a file that has the name of a part in each line"));
}

// The parts by name, those of lists among them.
Result<std::vector<std::string>> PartsOf(const MergeOptions& options) {
  std::vector<std::string> parts;
  for (const std::string& word : options.parts) {
    if (!word.starts_with('@'))
      parts.push_back(word);
    else if (Status status = ReadList(word.substr(1), parts); !status)
      return Fail(status.error());
  }
  for (const std::string& list : options.lists)
    if (Status status = ReadList(list, parts); !status) return Fail(status.error());
  if (!parts.empty()) return parts;
  return Fail(Error(ErrorCode::kUsage, "merge: no part is named")
                  .Remedy("flowback merge -o OUT PART..., or --from-list FILE"));
}

// Reads one part at a time, so that memory holds the sum and one part only.
Result<CoverageCounts> SumOf(const std::vector<std::string>& parts) {
  CoverageCounts sum;
  for (const std::string& part : parts) {
    const Result<CoverageCounts> counts = ReadPart(part);
    if (!counts) return Fail(counts.error());
    sum.Add(*counts);
  }
  return sum;
}

uint64_t UnknownObjects(const CoverageCounts& counts) {
  return static_cast<uint64_t>(
      std::ranges::count_if(counts.objects, [](const auto& each) { return !each.IsKnown(); }));
}

std::string Told(const CoverageCounts& counts, size_t parts, bool as_json) {
  std::string text;
  if (as_json) {
    JsonLine line(text);
    line.Text("schema", "flowback.merge/1").Number("parts", parts);
    line.Number("recordings", counts.recordings).Number("objects", counts.objects.size());
    line.Number("objects_unknown", UnknownObjects(counts));
    line.Number("instructions", counts.instructions).Bool("emulated", counts.emulated).End();
    return text;
  }
  text = fmt::format("{} {}: {} recordings, {} objects, {} instructions\n", parts,
                     parts == 1 ? "part" : "parts", counts.recordings, counts.objects.size(),
                     counts.instructions);
  if (const uint64_t unknown = UnknownObjects(counts); unknown != 0)
    text += fmt::format("of {} objects it is not known what else executed\n", unknown);
  return text;
}

int Execute(const MergeOptions& options) {
  if (options.json && options.output == "-")
    return Report(Error(ErrorCode::kUsage,
                        "merge: --json and the part can't both go to standard "
                        "output")
                      .Remedy("-o FILE"));
  const Result<std::vector<std::string>> parts = PartsOf(options);
  if (!parts) return Report(parts.error());
  const Result<CoverageCounts> sum = SumOf(*parts);
  if (!sum) return Report(sum.error());
  if (Status status = WritePart(*sum, options.output); !status) return Report(status.error());
  const int losses = WarnOfPart(sum->losses, "merge", options.strict);
  if (options.output == "-") return losses;
  const int printed = Print(Told(*sum, parts->size(), options.json));
  return printed != kDone ? printed : losses;
}

}  // namespace

int RunMerge(const Arguments& arguments) {
  CLI::App app("Adds up part files of coverage.", "flowback merge");
  MergeOptions options;
  app.add_option("-o,--output", options.output,
                 "Write the sum to FILE, which may be one of the parts")
      ->required();
  app.add_option("PART", options.parts,
                 "Part files to add; @FILE stands for those that FILE lists");
  app.add_option("--from-list", options.lists,
                 "Read names of part files from FILE, one a line; -: standard input");
  app.add_flag("--json", options.json, "Print the result as JSON");
  app.add_flag("--strict", options.strict,
               "Exit with 6 if anything was lost of the counted recordings, with 7 if a file that "
               "ran is missing");
  if (const std::optional<int> status = Parse(app, arguments)) return *status;
  return Execute(options);
}

}  // namespace flowback::cli
