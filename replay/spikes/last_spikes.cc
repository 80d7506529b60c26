// SPDX-License-Identifier: MIT
#include "replay/spikes/last_spikes.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/hex.h"
#include "base/mapped_file.h"
#include "base/number_bytes.h"
#include "replay/flow/index_disk.h"
#include "replay/flow/result_bytes.h"

namespace flowback {
namespace {

// The cache holds one such file for each recording.
std::string NameOf(const Recording& recording) {
  NumberWriter out;
  for (const auto& file : recording.files) {
    std::error_code ignored;
    const std::string path = std::filesystem::weakly_canonical(file->path(), ignored).string();
    out.Block({reinterpret_cast<const uint8_t*>(path.data()), path.size()});
  }
  return "last-spikes-" + Hex(ContentHash(out.bytes())).substr(2);
}

template <class Io, class Spikes>
void TellSpikes(Io& io, Spikes& spikes) {
  io.Text(spikes.region);
  io.List(spikes.slow, [&](auto& slow) {
    io.Number(slow.pid);
    io.Number(slow.tid);
    io.Number(slow.stream);
    TellPoint(io, slow.begin);
    TellPoint(io, slow.end);
    io.Number(slow.first_instruction);
    io.Number(slow.end_instruction);
  });
}

bool MakesSense(const LastSpikes& spikes, const Recording& recording) {
  return std::ranges::all_of(spikes.slow, [&](const SlowInstance& slow) {
    return slow.stream < recording.streams.size() && slow.begin.time <= slow.end.time &&
           slow.first_instruction <= slow.end_instruction;
  });
}

Error NoneKept(const Recording& recording) {
  return Error(ErrorCode::kUsage,
               recording.path + ": the cache has no spikes of it, so no instance has a number")
      .Remedy("`flowback spikes RECORDING FUNC` first, without --no-cache");
}

Error Changed(const Recording& recording) {
  return Error(ErrorCode::kUsage,
               recording.path +
                   ": the recording, its code or the options that it is decoded with "
                   "have changed since its spikes were found")
      .Remedy("`flowback spikes RECORDING FUNC` again");
}

}  // namespace

LastSpikes LastSpikesOf(const SpikeReport& report, const std::vector<const ThreadFlow*>& flows,
                        const std::string& region) {
  LastSpikes spikes{.region = region, .slow = {}};
  for (const uint32_t number : SlowestOf(report, LastSpikes::kMost)) {
    const Instance& instance = report.instances[number];
    const ThreadFlow& flow = *flows[instance.thread];
    if (flow.pieces.empty()) continue;
    spikes.slow.push_back({.pid = flow.pid,
                           .tid = flow.tid,
                           .stream = flow.pieces.front().stream->index,
                           .begin = instance.begin,
                           .end = instance.end,
                           .first_instruction = instance.first_instruction,
                           .end_instruction = instance.end_instruction});
  }
  return spikes;
}

std::vector<uint8_t> LastSpikesToBytes(const LastSpikes& spikes) {
  const SpaceNames none;
  ResultWriter out(none);
  TellSpikes(out, spikes);
  return out.Take();
}

std::optional<LastSpikes> LastSpikesFromBytes(Bytes bytes, const Recording& recording) {
  const SpaceNames none;
  ResultReader in(bytes, recording, none);
  LastSpikes spikes;
  TellSpikes(in, spikes);
  if (!in.Done() || !MakesSense(spikes, recording)) return std::nullopt;
  return spikes;
}

void KeepLastSpikes(const Recording& recording, const IndexCache& cache, const LastSpikes& spikes) {
  if (!IsUsable(cache)) return;
  NumberWriter out;
  out.Block({reinterpret_cast<const uint8_t*>(cache.key.data()), cache.key.size()});
  out.Block(LastSpikesToBytes(spikes));
  const DiskCache disk = DiskOf(cache);
  if (disk.Store(NameOf(recording), out.bytes()))
    disk.Trim();
  else
    disk.Store(NameOf(recording), {});  // no longer those of an earlier command
}

Result<LastSpikes> LoadLastSpikes(const Recording& recording, const IndexCache& cache) {
  const auto file = IsUsable(cache) ? DiskOf(cache).Load(NameOf(recording)) : nullptr;
  if (file == nullptr) return Fail(NoneKept(recording));
  NumberReader in(file->content());
  const Bytes key = in.Block();
  if (!std::ranges::equal(key, cache.key)) return Fail(Changed(recording));
  auto spikes = LastSpikesFromBytes(in.Block(), recording);
  if (!spikes || !in.Done()) return Fail(NoneKept(recording));
  return *std::move(spikes);
}

}  // namespace flowback
