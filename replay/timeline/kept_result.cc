// SPDX-License-Identifier: MIT
#include "replay/timeline/kept_result.h"

#include "replay/flow/index_disk.h"
#include "replay/symbols/symbol_sources.h"

namespace flowback {

void NoteFlows(NumberWriter& out, const std::vector<const ThreadFlow*>& flows) {
  for (const ThreadFlow* flow : flows) {
    out.Number(static_cast<uint32_t>(flow->pid));
    out.Number(static_cast<uint32_t>(flow->tid));
    out.Number(flow->pieces.size());
    for (const FlowPiece& piece : flow->pieces)
      for (const uint64_t number : {uint64_t{piece.stream->index}, piece.begin, piece.end})
        out.Number(number);
  }
}

bool LoadResult(const IndexCache& cache, const std::string& name, const Symbolizer& symbolizer,
                const std::function<bool(Bytes bytes)>& read) {
  const auto file = IsUsable(cache) ? DiskOf(cache).Load(name) : nullptr;
  if (file == nullptr) return false;
  NumberReader in(file->content());
  if (!HaveStayed(in, symbolizer)) return false;
  const Bytes bytes = in.Block();
  return in.Done() && read(bytes);
}

void StoreResult(const IndexCache& cache, const std::string& name, const Symbolizer& symbolizer,
                 const std::vector<uint8_t>& bytes) {
  if (!IsUsable(cache) || bytes.empty() || bytes.size() > cache.most_bytes / kResultPart) return;
  NumberWriter out;
  NoteSources(out, symbolizer);
  out.Block(bytes);
  const DiskCache disk = DiskOf(cache);
  if (disk.Store(name, out.bytes())) disk.Trim();
}

}  // namespace flowback
