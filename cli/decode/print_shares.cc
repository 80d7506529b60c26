// SPDX-License-Identifier: MIT
#include "cli/decode/print_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

std::string_view KindWord(ShareKind kind) {
  switch (kind) {
    case ShareKind::kFunction:
      return "function";
    case ShareKind::kObject:
      return "object";
    case ShareKind::kLine:
      return "line";
  }
  return "";
}

double PartOfAll(uint64_t part, uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::string Known(const std::string& text) { return text.empty() ? "[unknown]" : Printable(text); }

std::string PlaceText(ShareKind kind, const SharePlace& place) {
  switch (kind) {
    case ShareKind::kFunction:
      return Known(place.function) + " (" + Known(place.object) + ")";
    case ShareKind::kObject:
      return Known(place.object);
    case ShareKind::kLine:
      if (place.file.empty()) return "[unknown]";
      return Printable(place.file) + ":" + (place.line == 0 ? "?" : std::to_string(place.line));
  }
  return "";
}

void AppendJson(std::string& out, ShareKind kind, const SharePlace& place, const CodeShare& share,
                uint64_t all) {
  JsonLine line(out);
  line.Text("type", KindWord(kind));
  if (kind == ShareKind::kFunction) line.TextOrNull("function", place.function);
  if (kind != ShareKind::kLine) line.TextOrNull("object", place.object);
  if (kind == ShareKind::kLine) {
    line.TextOrNull("file", place.file);
    line.NumberOrNull("line", place.line);
  }
  line.Number("instructions", share.instructions).Number("calls", share.calls);
  line.Number("call_instructions", share.call_instructions);
  line.Raw("share", fmt::format("{:.6f}", PartOfAll(share.instructions, all))).End();
}

void AppendText(std::string& out, const CodeShare& share, uint64_t all, std::string_view place) {
  out += fmt::format("{:>16} {:>6.2f} % {:>12}  {}\n", share.instructions,
                     100 * PartOfAll(share.instructions, all), share.calls, place);
}

}  // namespace

Result<ShareKind> ParseShareKind(const std::string& word) {
  for (const ShareKind kind : {ShareKind::kFunction, ShareKind::kObject, ShareKind::kLine})
    if (word == KindWord(kind)) return kind;
  return Fail(Error(ErrorCode::kUsage, fmt::format("decode: can't sum up --by '{}'", word))
                  .Remedy("--by function, object or line"));
}

void PrintShares(ShareKind kind, const CodeShares& shares, bool json, Output& output) {
  CodeShare all;
  std::vector<const CodeShares::value_type*> sorted;
  for (const auto& each : shares) {
    all.instructions += each.second.instructions;
    all.calls += each.second.calls;
    all.call_instructions += each.second.call_instructions;
    sorted.push_back(&each);
  }
  std::ranges::stable_sort(sorted, std::greater(),
                           [](const auto* each) { return each->second.instructions; });
  if (!json)
    output.Write(
        fmt::format("{:>16} {:>8} {:>12}  {}\n", "instructions", "share", "calls", KindWord(kind)));
  for (const auto* each : sorted) {
    if (json)
      AppendJson(output.buffer(), kind, each->first, each->second, all.instructions);
    else
      AppendText(output.buffer(), each->second, all.instructions, PlaceText(kind, each->first));
    output.Commit();
  }
  if (!json) return AppendText(output.buffer(), all, all.instructions, "all");
  JsonLine line(output.buffer());
  line.Text("type", "total").Number("instructions", all.instructions).Number("calls", all.calls);
  line.Number("call_instructions", all.call_instructions).End();
}

}  // namespace flowback::cli
