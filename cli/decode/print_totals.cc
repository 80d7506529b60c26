// SPDX-License-Identifier: MIT
// `decode --as digest` and `--as summary`.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/decode/listings.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

// The numbers of a summary with their keys in JSON and words in text, where {} is the source's
// unit.
struct Row {
  const char* key;
  const char* words;
  uint64_t FlowSummary::* value;
};
constexpr Row kRows[] = {
    {"blocks", "blocks", &FlowSummary::blocks},
    {"taken", "conditional, taken", &FlowSummary::taken},
    {"not_taken", "conditional, not taken", &FlowSummary::not_taken},
    {"jumps", "jumps", &FlowSummary::jumps},
    {"indirect_jumps", "indirect jumps", &FlowSummary::indirect_jumps},
    {"calls", "calls", &FlowSummary::calls},
    {"indirect_calls", "indirect calls", &FlowSummary::indirect_calls},
    {"returns", "returns", &FlowSummary::returns},
    {"far", "far transfers", &FlowSummary::far},
    {"bytes_decoded", "{} decoded", &FlowSummary::bytes_decoded},
    {"bytes_padding", "{} of padding", &FlowSummary::bytes_padding},
    {"bytes_lost", "{} lost", &FlowSummary::bytes_lost},
};

// The account is a whole stream's: a span of time has none.
std::span<const Row> RowsFor(const PrintSettings& settings) {
  constexpr size_t kOfAccount = 3;
  return std::span(kRows).first(std::size(kRows) - (settings.times.all ? 0 : kOfAccount));
}

void AppendTimes(JsonLine& line, const FlowSummary& summary, const RecordingClock& clock) {
  const auto time = [&](const char* key, uint64_t tsc) {
    if (tsc != 0 && clock.has_nanoseconds())
      line.Number(key, clock.Value(tsc));
    else
      line.Null(key);
  };
  time("time_first", summary.first_tsc);
  time("time_last", summary.last_tsc);
  line.Number("tsc_first", summary.first_tsc).Number("tsc_last", summary.last_tsc);
}

void PrintJson(std::string_view type, const StreamOwner* owner, const FlowSummary& summary,
               const PrintSettings& settings, Output& output) {
  JsonLine line(output.buffer());
  line.Text("type", type);
  if (owner != nullptr) {
    line.Number("stream", owner->stream->index).Text("label", owner->label);
    if (owner->tid >= 0)
      line.Number("tid", owner->tid);
    else
      line.Null("tid");
  }
  line.Number("instructions", summary.digest.count);
  for (const Row& row : RowsFor(settings)) line.Number(row.key, summary.*row.value);
  if (settings.times.all) line.Text("unit", settings.trace.source->Unit().plural);
  line.Number("losses", summary.LossCount());
  AppendTimes(line, summary, *settings.trace.clock);
  line.End();
  output.Commit();
}

std::string SpanText(const FlowSummary& summary, const RecordingClock& clock) {
  if (summary.first_tsc == 0) return "not recorded";
  std::string text;
  clock.AppendText(text, summary.first_tsc);
  text += " to ";
  clock.AppendText(text, summary.last_tsc);
  if (clock.has_nanoseconds())
    text += fmt::format(
        " ({} s)", SecondsText(clock.Value(summary.last_tsc) - clock.Value(summary.first_tsc)));
  if (clock.emulated()) text += " (emulated)";
  return text;
}

void PrintText(const std::string& title, const FlowSummary& summary, const PrintSettings& settings,
               Output& output) {
  std::string& out = output.buffer();
  out += title + '\n';
  out += fmt::format("  {:<24}{}\n", "instructions", summary.digest.count);
  const std::string_view unit = settings.trace.source->Unit().plural;
  for (const Row& row : RowsFor(settings))
    out +=
        fmt::format("  {:<24}{}\n", fmt::format(fmt::runtime(row.words), unit), summary.*row.value);
  out += fmt::format("  {:<24}{}\n", "losses", summary.LossCount());
  out += fmt::format("  {:<24}{}\n", "time", SpanText(summary, *settings.trace.clock));
  output.Commit();
}

// Adds all of `part` but its digest's hash, which means nothing over several streams.
void AddTo(FlowSummary& all, const FlowSummary& part) {
  for (DataLoss loss : part.losses) {
    loss.after += all.digest.count;
    all.AddLoss(std::move(loss));
  }
  all.digest.count += part.digest.count;
  for (const Row& row : kRows) all.*row.value += part.*row.value;
  if (part.first_tsc != 0 && (all.first_tsc == 0 || part.first_tsc < all.first_tsc))
    all.first_tsc = part.first_tsc;
  all.last_tsc = std::max(all.last_tsc, part.last_tsc);
}

std::string TitleOf(const StreamOwner& owner, const Threads& threads) {
  const std::string_view comm = threads.CommAt(owner.tid, 0).comm;
  return fmt::format("{} {}{}{}", owner.tid >= 0 ? "thread" : "stream", owner.label,
                     comm.empty() ? "" : " ", Printable(comm));
}

}  // namespace

void PrintDigest(const StreamTotals& totals, bool json, Output& output) {
  const FlowDigest& digest = totals.summary.digest;
  if (!json) {
    output.Write(fmt::format("{} {} {:016x}\n", totals.owner->label, digest.count, digest.hash));
    return;
  }
  JsonLine line(output.buffer());
  line.Text("type", "digest").Number("stream", totals.owner->stream->index);
  line.Text("label", totals.owner->label);
  if (totals.owner->tid >= 0)
    line.Number("tid", totals.owner->tid);
  else
    line.Null("tid");
  line.Number("count", digest.count).Text("digest", fmt::format("{:016x}", digest.hash)).End();
  output.Commit();
}

void PrintSummary(const std::vector<StreamTotals>& totals, const PrintSettings& settings,
                  Output& output) {
  FlowSummary all;
  for (const StreamTotals& each : totals) {
    AddTo(all, each.summary);
    if (settings.layout.json)
      PrintJson("thread", each.owner, each.summary, settings, output);
    else
      PrintText(TitleOf(*each.owner, *settings.trace.threads), each.summary, settings, output);
  }
  if (settings.layout.json)
    PrintJson("total", nullptr, all, settings, output);
  else if (totals.size() != 1)
    PrintText("all", all, settings, output);
}

}  // namespace flowback::cli
