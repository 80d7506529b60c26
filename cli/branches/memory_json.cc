// SPDX-License-Identifier: MIT
// `branches --mem --json`: a line for each instruction, then one for each cache line.
#include <fmt/format.h>

#include "cli/branches/branches_view.h"
#include "cli/branches/memory_view.h"
#include "cli/branches/place_text.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

void AddCounts(const AccessCounts& counts, JsonLine& line) {
  line.Number("samples", counts.samples).Number("loads", counts.loads);
  line.Number("stores", counts.stores).Number("remote", counts.remote);
  line.Number("modified", counts.modified).Number("remote_modified", counts.remote_modified);
  line.Raw("latency", CyclesJson(counts.latency));
}

std::string LevelsJson(const AccessingCode& code) {
  std::string json = "{";
  for (size_t i = 1; i < code.levels.size(); ++i)
    if (code.levels[i] != 0)
      json += fmt::format("{}\"{}\":{}", json.size() > 1 ? "," : "",
                          Name(static_cast<MemoryLevel>(i)), code.levels[i]);
  return json + '}';
}

void PrintInstruction(const MemoryView& view, const AccessingCode& code, std::string& out) {
  JsonLine line(out);
  line.Text("type", "instruction").Hex("ip", code.address);
  AddSymbolJson(view.names, code.space, code.address, line);
  AddObjectJson(view.ObjectOf(code.place), code.place.offset, line);
  AddSourceJson(view.names, code.space, code.address, line);
  AddCounts(code.counts, line);
  line.Number("inexact", code.inexact).Raw("levels", LevelsJson(code)).End();
}

std::string UsesJson(const MemoryView& view, const LineSum& sum) {
  std::string json = "[";
  for (const LineUse& use : sum.uses) {
    if (json.size() > 1) json += ',';
    std::string tids = "[";
    for (const int32_t tid : use.tids)
      tids +=
          fmt::format("{}{}", tids.size() > 1 ? "," : "", tid < 0 ? "null" : std::to_string(tid));
    std::string text;
    JsonLine line(text);
    line.Hex("ip", view.report.code[use.code].address).Number("samples", use.samples);
    line.Number("loads", use.loads).Number("stores", use.stores).Hex("places", use.places);
    line.Raw("tids", tids + ']').End();
    text.pop_back();  // its line's end
    json += text;
  }
  return json + ']';
}

void PrintLine(const MemoryView& view, const LineSum& sum, std::string& out) {
  JsonLine line(out);
  line.Text("type", "line").Hex("address", sum.address);
  sum.pid < 0 ? line.Null("pid") : line.Number("pid", sum.pid);
  line.Number("threads", sum.threads.size()).Bool("apart", sum.apart());
  AddCounts(sum.counts, line);
  line.Raw("uses", UsesJson(view, sum)).End();
}

}  // namespace

void PrintMemoryJson(const MemoryView& view, Output& output) {
  const AccessReport& report = view.report;
  JsonLine header(output.buffer());
  header.Text("schema", "flowback.memory/1").Text("input", view.opened.recording().path);
  header.Bool("emulated", view.opened.recording().machine.emulated).Bool("samples", true);
  header.Number("line_bytes", kCacheLine).Number("sampled", report.samples);
  header.Number("accesses", report.accesses).Number("fetches", report.fetches);
  header.Number("inexact", report.inexact).Number("nowhere", report.nowhere);
  header.Number("impossible", report.impossible).Number("cut", report.cut);
  header.Number("unread", report.unread).End();
  output.Commit();
  for (const AccessingCode& code : report.code) {
    if (output.closed()) return;
    PrintInstruction(view, code, output.buffer());
    output.Commit();
  }
  for (const LineSum& line : report.lines) {
    if (output.closed()) return;
    PrintLine(view, line, output.buffer());
    output.Commit();
  }
}

}  // namespace flowback::cli
