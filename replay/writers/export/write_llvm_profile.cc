// SPDX-License-Identifier: MIT
// LLVM's text of a sample profile, which `clang -fprofile-sample-use` reads.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "replay/profile/sample_profile.h"
#include "replay/symbols/elf/symbol_file.h"
#include "replay/writers/export/export_input.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

std::string Text(const LineOfFunction& line) {
  return line.discriminator == 0 ? fmt::format("{}", line.offset)
                                 : fmt::format("{}.{}", line.offset, line.discriminator);
}

void AppendLine(const FunctionProfile& function, const LineOfFunction& line, uint64_t times,
                std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}: {}", Text(line), times);
  const auto calls = function.calls_from.find(line);
  if (calls != function.calls_from.end()) {
    std::vector<std::pair<std::string_view, uint64_t>> targets(calls->second.begin(),
                                                               calls->second.end());
    std::ranges::stable_sort(targets, std::ranges::greater(),
                             [](auto& each) { return each.second; });
    for (const auto& [name, count] : targets)
      fmt::format_to(std::back_inserter(out), " {}:{}", name, count);
  }
  out += '\n';
}

// Its lines, then what was inlined into it.
void AppendBody(const FunctionProfile& function, size_t depth, std::string& out) {
  for (const auto& [line, times] : function.lines) {
    out.append(depth, ' ');
    AppendLine(function, line, times, out);
  }
  for (const auto& [line, functions] : function.inlined)
    for (const auto& [name, inlined] : functions) {
      out.append(depth, ' ');
      fmt::format_to(std::back_inserter(out), "{}: {}:{}\n", Text(line), name, inlined.bytes);
      AppendBody(inlined, depth + 1, out);
    }
}

// A compiler that counts by probes finds no lines in a profile, and ignores this one.
void WarnOfProbes(const ProfileExport& input) {
  const ObjectImage& image = *input.profile.image;
  if (!input.warn) return;
  const auto file = symbols::SymbolFile::Open(image.file(), image.bytes(), image.content());
  if (file == nullptr || file->Find(".pseudo_probe") == nullptr) return;
  input.warn(
      "export: " + image.file() +
          " was built with -fpseudo-probe-for-profiling, and this profile is by source lines: "
          "compile without that option to use it",
      {"for a profile by probes, give `llvm-profgen --unsymbolized-profile` the sink of --to "
       "llvm-raw"});
}

}  // namespace

Status WriteLlvmProfile(const ProfileExport& input, TextSink& sink) {
  const CompilerProfile& profile = input.profile;
  const ImageSearch& search = input.search;
  const Result<StaticCode> code = StaticCode::Of(*profile.image, search);
  if (!code) return Fail(code.error());
  WarnOfProbes(input);
  SourceLines lines(search);
  const auto functions = MakeSampleProfile(profile, *code, lines);
  if (functions.empty())
    return Fail(Error(ErrorCode::kUnsupported,
                      "export: " + profile.image->file() +
                          " has no debug information, and a compiler's profile is by source lines")
                    .Remedy("build it with -g1 -fdebug-info-for-profiling (clang), or give "
                            "--debug-dir a folder with its debug files"));
  std::vector<const std::pair<const std::string, FunctionProfile>*> hottest;
  for (const auto& each : functions) hottest.push_back(&each);
  std::ranges::stable_sort(hottest, std::ranges::greater(),
                           [](const auto* each) { return each->second.bytes; });
  for (const auto* each : hottest) {
    fmt::format_to(std::back_inserter(sink.buffer()), "{}:{}:{}\n", each->first, each->second.bytes,
                   each->second.calls);
    AppendBody(each->second, 1, sink.buffer());
    sink.Commit();
  }
  if (input.warn)
    for (const std::string& problem : lines.Problems()) input.warn(problem, {});
  return {};
}

}  // namespace flowback
