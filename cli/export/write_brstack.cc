// SPDX-License-Identifier: MIT
// Branch stacks as `perf script -F ip,brstack --show-mmap-events` prints them: the mappings of
// code, then a line for each stack, the newest branch first. A recording of all branches gives
// stacks that lie one behind the other.
#include <fmt/format.h>

#include <iterator>
#include <ranges>
#include <variant>
#include <vector>

#include "cli/branches/branch_totals.h"
#include "cli/export/export_formats.h"
#include "cli/reading/stream_report.h"
#include "cli/text/printable.h"
#include "cli/text/status.h"
#include "flowback/replay/player.h"

namespace flowback::cli {
namespace {

class StackWriter final : public PlayConsumer {
 public:
  StackWriter(OpenedRecording& opened, Output& output) : opened_(opened), output_(output) {}

  void OnThreadBegin(const ThreadFlow&, size_t) override { Flush(); }
  void OnThreadEnd(const ThreadFlow&, size_t) override { Flush(); }
  void OnBlock(const BlockRun& run) override {
    if (run.exit != BlockExit::kTaken) return;
    stack_.push_back({run.LastAddress(), run.next, run.branch});
    if (stack_.size() == kDepth) Flush();
  }
  void OnEvent(const TraceEvent& event) override {
    if (event.kind != EventKind::kCoreBusRatio) Flush();
  }
  void OnLoss(const DataLoss& loss) override {
    opened_.losses().Add(loss);
    Flush();
  }
  void OnUnknown(const UnknownFlow&) override { Flush(); }
  bool Done() const override { return output_.closed(); }

 private:
  static constexpr size_t kDepth = 64;

  struct Entry {
    uint64_t from = 0;
    uint64_t to = 0;
    BranchFacts facts;
  };

  void Flush() {
    if (stack_.empty()) return;
    auto out = std::back_inserter(output_.buffer());
    fmt::format_to(out, "{:>16x} ", stack_.back().to);
    for (const Entry& entry : stack_ | std::views::reverse)
      fmt::format_to(out, " {:#x}/{:#x}/{}/-/-/{} ", entry.from, entry.to,
                     PredictionWord(entry.facts.prediction), entry.facts.cycles);
    output_.buffer() += '\n';
    output_.Commit();
    stack_.clear();
  }
  static char PredictionWord(BranchFacts::Prediction prediction) {
    switch (prediction) {
      case BranchFacts::Prediction::kNotTold:
        return '-';
      case BranchFacts::Prediction::kRight:
        return 'P';
      case BranchFacts::Prediction::kWrong:
        return 'M';
    }
    return '-';
  }

  OpenedRecording& opened_;
  Output& output_;
  std::vector<Entry> stack_;  // the oldest first
};

void WriteMaps(const Recording& recording, std::string& out) {
  for (const SidebandRecord& record : recording.sideband) {
    const auto* map = std::get_if<MmapRecord>(&record);
    if (map == nullptr || map->kernel || !map->executable || !map->path.starts_with('/')) continue;
    // The text has no way to write it, and another name would be another file.
    if (Printable(map->path) != map->path) {
      Warn("the mapping of " + std::string(Printable(map->path)) +
               " is left out: the text can't have its name",
           {"rename the file, or read the recording itself"});
      continue;
    }
    fmt::format_to(std::back_inserter(out),
                   "PERF_RECORD_MMAP2 {}/{}: [{:#x}({:#x}) @ {:#x} 00:00 0 0]: r-xp {}\n", map->pid,
                   map->tid, map->address, map->size, map->file_offset, map->path);
  }
}

}  // namespace

Status WriteBrstack(const ExportInput& input, Output& output) {
  OpenedRecording& opened = input.opened;
  const WorkProgress progress = opened.ShowProgress("export", opened.TraceBytes());
  opened.AddKnownLosses();
  WriteMaps(opened.recording(), output.buffer());
  output.Commit();
  Player player(
      opened.inputs(), [&opened] { return opened.NewDecoder(); },
      {.threads = opened.options().ThreadCount(), .in_flight = opened.options().in_flight});
  StackWriter writer(opened, output);
  return player.Play(FlowsOf(opened.threads().owners()), writer);
}

}  // namespace flowback::cli
