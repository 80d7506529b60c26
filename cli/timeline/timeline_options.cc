// SPDX-License-Identifier: MIT
#include "cli/timeline/timeline_options.h"

#include <fmt/format.h>

namespace flowback::cli {
namespace {

// The first option that was given of those that ask for calls or single instructions; empty: none.
std::string OptionOfWholeFlow(const CLI::App& app) {
  for (const char* name :
       {"--function", "--sort", "--depth", "--at", "--around", "--svg", "--html", "--waits"})
    if (app.count(name) != 0) return name;
  return {};
}

// Lines are counted, not timed: options about time, calls and pictures do not apply.
Status CheckLines(const CLI::App& app) {
  for (const char* name :
       {"--sort", "--depth", "--at", "--around", "--svg", "--html", "--waits", "--overview"})
    if (app.count(name) != 0)
      return Fail(Error(ErrorCode::kUsage,
                        fmt::format("--by line counts instructions: {} does not apply", name))
                      .Remedy(fmt::format("`timeline {}` without --by line", name)));
  return {};
}

Status CheckOverview(const std::string& name) {
  if (name.empty()) return {};
  return Fail(
      Error(ErrorCode::kUsage, fmt::format("--overview follows no calls: {} does not apply", name))
          .Remedy(fmt::format("`timeline {}` without --overview", name)));
}

}  // namespace

void AddTimelineOptions(CLI::App& app, TimelineWords& words, ReaderWords& reader) {
  app.add_option("--thread", reader.tid, "the same as --tid");
  app.add_option("--function", words.function,
                 "only calls of this function, and what they call. By any of its names, a pattern "
                 "(str*) or /an expression/");
  app.add_option("--depth,--max-depth", words.depth, "call paths: only so many levels (32)")
      ->check([](const std::string& word) { return std::string(word == "0" ? "at least 1" : ""); });
  app.add_option("--sort", words.sort,
                 "sort functions and call paths by time, instructions, calls or total (time with "
                 "calls) (time; of emulated recordings instructions)")
      ->check(CLI::IsMember({"time", "instructions", "calls", "total"}));
  app.add_option("--top", words.top, "so many lines of each profile (20)");
  app.add_option(
      "--at", words.at,
      "the single instructions at that time, with their proven intervals; a time as for "
      "--time, begin, end, crash; or spike:N: where the Nth slowest instance of the last `spikes` "
      "begins; or '#N': at the instruction of a thread (--tid) before which it has N");
  app.add_option("--by", words.by,
                 "the table's rows: function, or line: source lines by the instructions that they "
                 "executed (function)")
      ->check(CLI::IsMember({"function", "line"}));
  app.add_flag("--lines", words.lines, "the same as --by line");
  app.add_flag("--overview", words.overview,
               "what the recording's index alone can tell: soon, also of a long one, and without "
               "calls");
  app.add_flag("--waits", words.waits,
               "also show which part of its time each thread waited for others, spinning and "
               "sleeping, as `locks` finds it");
  app.add_option("--around", words.around, "with --at: so many before it, and as many behind (10)");
  CLI::Option* const svg = app.add_option("--svg", words.svg, "writes a picture: one SVG file");
  app.add_option("--html", words.html,
                 "writes a page to zoom and search in: one HTML file that needs nothing else")
      ->excludes(svg);
  app.footer("`flowback help output` describes the text and the JSON.");
}

Status UnderstandTimeline(const CLI::App& app, TimelineWords& words) {
  if (words.by_line()) return CheckLines(app);
  words.of_whole_flow = OptionOfWholeFlow(app);
  if (words.waits && !words.at.empty())
    return Fail(Error(ErrorCode::kUsage, "--at shows single instructions: --waits does not apply")
                    .Remedy("`timeline --waits` without --at"));
  if (!words.overview) return {};
  if (Status status = CheckOverview(words.of_whole_flow); !status) return status;
  words.of_whole_flow = "--overview";
  return {};
}

}  // namespace flowback::cli
