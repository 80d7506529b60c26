// SPDX-License-Identifier: MIT
#include "cli/decode/decode_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/options/arguments.h"
#include "cli/text/quantity.h"

namespace flowback::cli {
namespace {

Status UnderstandCalls(DecodeOptions& options) {
  const bool selects = options.calls.max_depth != UINT64_MAX || !options.min_duration.empty();
  if (selects && options.kind != "calls")
    return Fail(
        Error(ErrorCode::kUsage,
              fmt::format("decode --as {}: --depth and --min-duration do not apply", options.kind))
            .Remedy("use them with --as calls"));
  if (options.min_duration.empty()) return {};
  const Result<uint64_t> duration = ParseDuration(options.min_duration, "--min-duration");
  if (!duration) return Fail(duration.error());
  options.calls.min_duration = *duration;
  return {};
}

Status UnderstandShares(DecodeOptions& options) {
  if (options.by.empty()) return {};
  if (options.kind != "summary")
    return Fail(
        Error(ErrorCode::kUsage, fmt::format("decode --as {}: --by does not apply", options.kind))
            .Remedy("use it with --as summary"));
  const Result<ShareKind> kind = ParseShareKind(options.by);
  if (!kind) return Fail(kind.error());
  options.shares = *kind;
  return {};
}

Status UnderstandFunction(DecodeOptions& options) {
  if (options.function.empty()) return {};
  constexpr std::string_view kFitting[] = {"calls", "instructions", "lines", "blocks", "branches"};
  if (std::ranges::find(kFitting, options.kind) == std::end(kFitting))
    return Fail(Error(ErrorCode::kUsage,
                      fmt::format("decode --as {}: --function does not apply", options.kind))
                    .Remedy(fmt::format("use it with --as {}", fmt::join(kFitting, ", "))));
  Result<NamePattern> pattern = NamePattern::Parse(options.function);
  if (!pattern) return Fail(pattern.error());
  options.calls.function = *std::move(pattern);
  return {};
}

}  // namespace

Status UnderstandSelection(DecodeOptions& options) {
  if (Status status = UnderstandCalls(options); !status) return status;
  if (Status status = UnderstandFunction(options); !status) return status;
  return UnderstandShares(options);
}

void AddDecodeOptions(CLI::App& app, DecodeOptions& options) {
  app.add_option("--as", options.kind,
                 "Print instructions (default), lines, blocks, branches, calls, events, samples, "
                 "packets, digest or summary");
  app.add_option(
      "-F,--fields", options.fields,
      "Print these columns: comm, pid, tid, cpu, time, ip, insn, bytes, sym, symoff, dso, srcline, "
      "flags, source. +FIELD adds to the usual ones, -FIELD removes (-F +srcline, --fields=-comm)");
  app.add_flag("--not-taken", options.not_taken,
               "With branches: also print branches that were not taken");
  app.add_option("--depth,--max-depth", options.calls.max_depth, "With calls: print N levels only")
      ->check([](const std::string& word) { return std::string(word == "0" ? "at least 1" : ""); });
  app.add_option("--function", options.function,
                 "Select instructions, lines, blocks or branches of this function; with calls, its "
                 "calls and their callees. Any of its names, a pattern (str*) or /an expression/");
  app.add_option("--min-duration", options.min_duration,
                 "With calls: print only those that took at least this long, e.g. 50us");
  app.add_option("--by", options.by,
                 "With summary: add up instructions by function, object (file) or source line");
  app.add_flag("--by-cpu", options.by_cpu, "Print one result per CPU stream, named cpuN");
  app.add_flag(
      "--by-time", options.by_time,
      "Print all threads' lines in the order of time, instead of one thread after the other");
  app.add_flag("--tod", options.time_of_day,
               "Print times as time of day, if the recording has it (flowback record, perf record "
               "-k CLOCK)");
  app.footer(
      "Lines that start with '#' report losses, at the place of the missing flow. `flowback help "
      "output` describes every kind.");
}

}  // namespace flowback::cli
