// SPDX-License-Identifier: MIT
// Call paths with the number of samples in each, or the time that threads waited there, a line for
// each path, as flame graphs are made from: "comm;main;f 12".
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "replay/samples/call_paths.h"
#include "replay/session/stack_naming.h"
#include "replay/writers/export/export_input.h"
#include "replay/writers/locks/locks_view.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

// A name must not contain what separates functions.
void AppendName(std::string_view name, std::string& out) {
  const std::string printable(Printable(name.empty() ? kNoFunction : name));
  for (const char each : printable) out += each == ';' ? ':' : each;
}

void AppendPath(const std::vector<std::string_view>& path, uint64_t samples, std::string& out) {
  for (size_t i = 0; i < path.size(); ++i) {
    if (i != 0) out += ';';
    AppendName(path[i], out);
  }
  fmt::format_to(std::back_inserter(out), " {}\n", samples);
}

}  // namespace

Status WriteFolded(const SamplesExport& input, TextSink& sink) {
  Session& session = input.session;
  SampledThreads threads(session.recording(), session.code(), session.threads(),
                         session.options().selection, false);
  StackNames names = StackNamesOf(session);
  const CallPaths paths = SumPaths(threads, names);
  ForEachPath(
      paths,
      [&](const std::vector<std::string_view>& path, const PathNode& node) {
        if (node.self == 0) return;
        AppendPath(path, node.self, sink.buffer());
        sink.Commit();
      },
      [&] { return sink.closed(); });
  return {};
}

// Paths of one name are one line, however many places the calls were made at.
void WriteFoldedWaits(const LocksView& view, TextSink& sink) {
  const LockReport& report = *view.report;
  std::map<std::string, uint64_t> lines;
  for (const LockSums& sums : report.path_sums) {
    std::string path;
    for (const std::string& function : FunctionsOf(view, sums.path) | std::views::reverse) {
      AppendName(function, path);
      path += ';';
    }
    if (path.empty()) path = std::string(kNoFunction) + ';';
    if (!report.has_times) lines[path + "[spinning]"] += sums.trips;
    if (!report.has_times) continue;
    lines[path + "[spinning]"] += sums.waiting.time - sums.sleeping;
    lines[path + "[sleeping]"] += sums.sleeping;
  }
  for (const auto& [path, amount] : lines) {
    if (amount == 0) continue;
    fmt::format_to(std::back_inserter(sink.buffer()), "{} {}\n", path, amount);
    sink.Commit();
  }
}

}  // namespace flowback
