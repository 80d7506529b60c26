// SPDX-License-Identifier: MIT
#include "cli/decode/flow_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
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

void TextOrNull(JsonLine& line, std::string_view key, const std::string& text) {
  if (text.empty())
    line.Null(key);
  else
    line.Text(key, text);
}

void AppendJson(std::string& out, ShareKind kind, const SharePlace& place, const Share& share,
                uint64_t all) {
  JsonLine line(out);
  line.Text("type", KindWord(kind));
  if (kind == ShareKind::kFunction) TextOrNull(line, "function", place.function);
  if (kind != ShareKind::kLine) TextOrNull(line, "object", place.object);
  if (kind == ShareKind::kLine) {
    TextOrNull(line, "file", place.file);
    if (place.line != 0)
      line.Number("line", place.line);
    else
      line.Null("line");
  }
  line.Number("instructions", share.instructions).Number("calls", share.calls);
  line.Number("call_instructions", share.call_instructions);
  line.Raw("share", fmt::format("{:.6f}", PartOfAll(share.instructions, all))).End();
}

void AppendText(std::string& out, const Share& share, uint64_t all, std::string_view place) {
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

void ShareCounter::OnCounts(const ThreadStay*, const BlockCounts& counts) {
  for (const BlockUse& use : counts.uses) {
    Block& block = blocks_[{counts.space, use.block.address}];
    // Blocks that begin at one place may end at several.
    if (block.lengths.size() < use.count) {
      block.lengths.assign(use.block.lengths, use.block.lengths + use.count);
      block.times.resize(use.count);
    }
    block.times[use.count - 1u] += use.times;
  }
  entries_.Add(counts);
}

Shares ShareCounter::Take() {
  Shares shares;
  for (const auto& [place, block] : blocks_) {
    uint64_t ip = place.second;
    uint64_t times = std::accumulate(block.times.begin(), block.times.end(), uint64_t{0});
    for (size_t i = 0; i < block.lengths.size(); ++i) {
      shares[PlaceOf(place.first, ip)].instructions += times;
      times -= block.times[i];
      ip += block.lengths[i];
    }
  }
  for (const auto& [place, entry] : entries_.Take()) {
    Share& share = shares[PlaceOf(place.first, place.second)];
    share.calls += entry.calls;
    share.call_instructions += entry.call_instructions;
  }
  blocks_.clear();
  return shares;
}

SharePlace ShareCounter::PlaceOf(const AddressSpace* space, uint64_t ip) const {
  SharePlace result;
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(ip);
  if (mapping == nullptr) return result;
  if (kind_ == ShareKind::kLine) {
    const SourcePlace place = source_.At(space, ip);
    if (!place.known()) return result;
    result.file = place.frames.front().file;
    result.line = place.frames.front().line;
    return result;
  }
  result.object = settings_.names.recorded_path(mapping->section->name());
  if (kind_ == ShareKind::kObject) return result;
  if (const auto symbol = settings_.names.symbolizer->Find(*space, ip))
    result.function = symbol->function;
  return result;
}

void PrintShares(ShareKind kind, const Shares& shares, bool json, Output& output) {
  Share all;
  std::vector<const Shares::value_type*> sorted;
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
