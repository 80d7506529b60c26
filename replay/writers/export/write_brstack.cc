// SPDX-License-Identifier: MIT
// Branch stacks as `perf script -F ip,brstack --show-mmap-events` prints them: the mappings of
// code, then a line for each stack, the newest branch first.
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <variant>

#include "replay/profile/flow_stacks.h"
#include "replay/profile/moved_text.h"
#include "replay/writers/export/export_input.h"
#include "replay/writers/export/sampled_stacks.h"
#include "replay/writers/export/stack_text.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

class StackWriter final : public FlowStacks {
 public:
  StackWriter(Session& session, TextSink& sink)
      : FlowStacks(session.recording()), session_(session), sink_(sink) {}
  bool Done() const override { return sink_.closed(); }

 private:
  void Take(const ThreadFlow&, uint64_t, std::span<const TakenBranch> stack) override {
    text_.Append(stack, sink_.buffer());
    sink_.Commit();
  }
  void Lose(const DataLoss& loss) override { session_.losses().Add(loss); }

  Session& session_;
  TextSink& sink_;
  StackText text_;
};

void WriteMaps(const FlowExport& input, std::string& out) {
  const Session& session = input.session;
  for (const SidebandRecord& record : session.recording().sideband) {
    const auto* map = std::get_if<MmapRecord>(&record);
    if (map == nullptr || map->kernel || !map->executable || !map->path.starts_with('/') ||
        HoldsMovedText(session.code(), *map))
      continue;
    // The text has no way to write it, and another name would be another file.
    if (Printable(map->path) != map->path) {
      if (input.warn)
        input.warn("the mapping of " + std::string(Printable(map->path)) +
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

Status WriteBrstack(const FlowExport& input, TextSink& sink) {
  Session& session = input.session;
  session.AddKnownLosses();
  WriteMaps(input, sink.buffer());
  sink.Commit();
  if (session.source().samples()) return WriteSampledStacks(session, sink);
  StackWriter writer(session, sink);
  return PlayStacks(session, writer, input.part);
}

}  // namespace flowback
