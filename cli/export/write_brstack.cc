// SPDX-License-Identifier: MIT
// Branch stacks as `perf script -F ip,brstack --show-mmap-events` prints them: the mappings of
// code, then a line for each stack, the newest branch first.
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <variant>

#include "cli/export/export_formats.h"
#include "cli/export/flow_stacks.h"
#include "cli/export/moved_text.h"
#include "cli/export/sampled_stacks.h"
#include "cli/export/stack_text.h"
#include "cli/text/status.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

class StackWriter final : public FlowStacks {
 public:
  StackWriter(OpenedRecording& opened, Output& output) : opened_(opened), output_(output) {}
  bool Done() const override { return output_.closed(); }

 private:
  void Take(const ThreadFlow&, uint64_t, std::span<const TakenBranch> stack) override {
    text_.Append(stack, output_.buffer());
    output_.Commit();
  }
  void Lose(const DataLoss& loss) override { opened_.losses().Add(loss); }

  OpenedRecording& opened_;
  Output& output_;
  StackText text_;
};

void WriteMaps(const OpenedRecording& opened, std::string& out) {
  for (const SidebandRecord& record : opened.recording().sideband) {
    const auto* map = std::get_if<MmapRecord>(&record);
    if (map == nullptr || map->kernel || !map->executable || !map->path.starts_with('/') ||
        HoldsMovedText(opened, *map))
      continue;
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
  WriteMaps(opened, output.buffer());
  output.Commit();
  if (opened.source()->samples()) return WriteSampledStacks(opened, output);
  StackWriter writer(opened, output);
  return PlayStacks(opened, writer);
}

}  // namespace flowback::cli
