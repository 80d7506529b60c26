// SPDX-License-Identifier: MIT
// Branch stacks as `perf script -F ip,brstack --show-mmap-events` prints them: the mappings of
// code, then a line for each stack, the newest branch first.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <ranges>
#include <string>
#include <string_view>
#include <variant>

#include "cli/export/export_formats.h"
#include "cli/export/flow_stacks.h"
#include "cli/text/printable.h"
#include "cli/text/status.h"

namespace flowback::cli {
namespace {

// Most of the work is to write numbers: each entry goes through a buffer on the stack.
class StackWriter final : public FlowStacks {
 public:
  StackWriter(OpenedRecording& opened, Output& output) : opened_(opened), output_(output) {}
  bool Done() const override { return output_.closed(); }

 private:
  void Take(const ThreadFlow&, uint64_t, std::span<const StackEntry> stack) override {
    std::string& out = output_.buffer();
    fmt::format_to(std::back_inserter(out), "{:>16x} ", stack.back().to);
    for (const StackEntry& entry : stack | std::views::reverse) Append(entry, out);
    out += '\n';
    output_.Commit();
  }
  void Lose(const DataLoss& loss) override { opened_.losses().Add(loss); }

  // " 0xFROM/0xTO/P/-/-/CYCLES "
  static void Append(const StackEntry& entry, std::string& out) {
    char text[80];
    char* at = text;
    const auto add = [&](std::string_view words) {
      at = std::copy(words.begin(), words.end(), at);
    };
    const auto number = [&](auto value, int base) {
      at = std::to_chars(at, std::end(text), value, base).ptr;
    };
    add(" 0x");
    number(entry.from, 16);
    add("/0x");
    number(entry.to, 16);
    *at++ = '/';
    *at++ = PredictionWord(entry.facts.prediction);
    add("/-/-/");
    number(entry.facts.cycles, 10);
    *at++ = ' ';
    out.append(text, at);
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
  StackWriter writer(opened, output);
  return PlayStacks(opened, writer);
}

}  // namespace flowback::cli
