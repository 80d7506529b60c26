// SPDX-License-Identifier: MIT
#include "replay/spikes/inlined_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "flowback/model/block_batch.h"

namespace flowback {
namespace {

// A stretch of code that executed.
struct Stretch {
  const AddressSpace* space = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
  auto operator<=>(const Stretch&) const = default;
};

class StretchCollector final : public PlayConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    uint64_t end = run.address;
    for (const uint8_t length : run.lengths) end += length;
    if (run.space != nullptr) stretches_.insert({run.space, run.address, end});
  }
  void OnBlocks(const BlockBatch& batch) override {
    std::vector<bool>& seen = seen_[batch.table];
    seen.resize(std::max(seen.size(), batch.table->size()));
    for (const BlockStep step : batch.steps) {
      if (seen[step.number()]) continue;
      seen[step.number()] = true;
      const CodeBlock& block = (*batch.table)[step.number()];
      stretches_.insert({&batch.table->space(), block.address, block.address + block.size});
    }
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}
  const std::set<Stretch>& stretches() const { return stretches_; }

 private:
  std::map<const BlockTable*, std::vector<bool>> seen_;
  std::set<Stretch> stretches_;
};

class InlinedFinder {
 public:
  InlinedFinder(const NamePattern& function, SourceLines& lines, Symbolizer& symbolizer)
      : function_(function), lines_(lines), symbolizer_(symbolizer) {}

  void LookAt(const Stretch& stretch) {
    for (uint64_t ip = stretch.begin; ip < stretch.end;) {
      const SourcePlace place = lines_.Find(*stretch.space, ip);
      for (const SourceFrame& frame : place.frames)
        if (frame.is_inlined && function_.Matches(frame.function)) Note(*stretch.space, ip, frame);
      ip = std::max(ip + 1, place.end);
    }
  }
  InlinedCalls Take() {
    found_.callers.assign(callers_.begin(), callers_.end());
    return std::move(found_);
  }

 private:
  void Note(const AddressSpace& space, uint64_t ip, const SourceFrame& frame) {
    const auto symbol = symbolizer_.Find(space, ip);
    if (!symbol || frame.line == 0) return;
    callers_.emplace(symbol->function);
    if (found_.file.empty()) found_.file = frame.file;
    if (frame.file != found_.file) return;
    found_.first_line =
        found_.first_line == 0 ? frame.line : std::min(found_.first_line, frame.line);
    found_.last_line = std::max(found_.last_line, frame.line);
  }

  const NamePattern& function_;
  SourceLines& lines_;
  Symbolizer& symbolizer_;
  InlinedCalls found_;
  std::set<std::string, std::less<>> callers_;
};

}  // namespace

Result<InlinedCalls> FindInlinedCalls(const TimelineSources& sources,
                                      const std::vector<const ThreadFlow*>& flows,
                                      const PlayOptions& options, const NamePattern& function,
                                      SourceLines& lines) {
  StretchCollector collector;
  Player player(sources.flow, options);
  if (Status status = player.Play(flows, collector); !status) return Fail(status.error());
  InlinedFinder finder(function, lines, sources.symbolizer);
  for (const Stretch& stretch : collector.stretches()) finder.LookAt(stretch);
  return finder.Take();
}

}  // namespace flowback
