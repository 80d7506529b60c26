// SPDX-License-Identifier: MIT
#include "cli/samples/print_paths.h"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

using Path = std::vector<std::string_view>;

void Print(const Path& path, const PathNode& node, uint64_t all, Output& output) {
  std::string& out = output.buffer();
  fmt::format_to(std::back_inserter(out), "{:>9} {:>6.2f} % ", node.samples,
                 100.0 * static_cast<double>(node.samples) / static_cast<double>(all));
  out.append(2 * (path.size() - 1), ' ');
  AppendPrintable(out, path.back().empty() ? kNoFunction : path.back());
  if (node.self != 0 && node.self != node.samples)
    fmt::format_to(std::back_inserter(out), " (itself {})", node.self);
  out += '\n';
  output.Commit();
}

void PrintJson(const Path& path, const PathNode& node, Output& output) {
  if (node.self == 0) return;
  std::string functions = "[";
  for (size_t i = 1; i < path.size(); ++i) {
    if (i != 1) functions += ',';
    AppendJsonString(functions, path[i]);
  }
  JsonLine line(output.buffer());
  line.Text("type", "path").Text("comm", path.front()).Number("samples", node.self);
  line.Raw("functions", functions + "]").End();
  output.Commit();
}

}  // namespace

void PrintPathsText(const CallPaths& paths, Output& output) {
  std::string& out = output.buffer();
  fmt::format_to(std::back_inserter(out), "{} samples of calls", paths.samples);
  const auto tell = [&](uint64_t count, const char* what) {
    if (count != 0) fmt::format_to(std::back_inserter(out), "; {} {}", count, what);
  };
  tell(paths.without, "without a stack");
  tell(paths.disagreeing, "whose sources contradict each other");
  tell(paths.stitched, "with likely callers from the sample before");
  tell(paths.ambiguous, "not stitched, since the calls before are there more than once");
  out += "\n\n  samples    share thread name and call path, the outermost call first\n";
  ForEachPath(
      paths,
      [&](const Path& path, const PathNode& node) { Print(path, node, paths.samples, output); },
      [&] { return output.closed(); });
}

void PrintPathsJson(const CallPaths& paths, Output& output) {
  ForEachPath(
      paths, [&](const Path& path, const PathNode& node) { PrintJson(path, node, output); },
      [&] { return output.closed(); });
}

}  // namespace flowback::cli
