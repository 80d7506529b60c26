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
  app.add_option("--thread", reader.tid, "Select threads by number, as --tid");
  app.add_option("--function", words.function,
                 "Select calls of this function and their callees. Any of its names, a pattern "
                 "(str*) or /an expression/");
  app.add_option("--depth,--max-depth", words.depth, "Levels of call paths (default 32)")
      ->check([](const std::string& word) { return std::string(word == "0" ? "at least 1" : ""); });
  app.add_option("--sort", words.sort,
                 "Sort functions and call paths by time, instructions, calls, or total (time with "
                 "calls). Default: time; of emulated recordings, instructions")
      ->check(CLI::IsMember({"time", "instructions", "calls", "total"}));
  app.add_option("--top", words.top, "Lines of each profile (default 20)");
  app.add_option("--at", words.at,
                 "Print the instructions at this time with their proven bounds: a time as for "
                 "--time, begin, end, crash, spike:N (the N-th slowest instance of the last "
                 "`spikes`), or '#N' (the N-th instruction of a thread, --tid)");
  app.add_option(
         "--by", words.by,
         "Profile by function (default), or by line: source lines by executed instructions; "
         "inlined code counts for the line it was written on")
      ->check(CLI::IsMember({"function", "line"}));
  app.add_flag("--lines", words.lines, "Short for --by line");
  app.add_flag("--overview", words.overview,
               "Print what the recording's index alone proves: fast even for long recordings, but "
               "without calls");
  app.add_flag("--waits", words.waits,
               "Also show how long each thread waited for others, spinning and sleeping, as "
               "`locks` finds it");
  app.add_option("--around", words.around,
                 "With --at: number of instructions before it, and after it (default 10)");
  CLI::Option* const svg = app.add_option("--svg", words.svg, "Write a picture as one SVG file");
  app.add_option("--html", words.html,
                 "Write a page to zoom and search in, as one HTML file that needs nothing else")
      ->excludes(svg);
  app.footer("`flowback help output timeline` describes the text and the JSON.");
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
