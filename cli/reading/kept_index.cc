// SPDX-License-Identifier: MIT
#include "cli/reading/kept_index.h"

#include <cstdint>

#include "replay/flow/index_disk.h"
#include "replay/flow/index_key.h"

namespace flowback::cli {
namespace {

// So many bytes of trace take 20 ms or more to decode, and the key of their recording three.
constexpr uint64_t kWorthBytes = uint64_t{4} << 20;

// A timeline of so many takes as long, as it costs several times as much.
constexpr uint64_t kWorthTimeline = uint64_t{1} << 19;

// The index of these takes more than the quarter of a second from which on it is kept.
constexpr uint64_t kWorthPass = uint64_t{16} << 20;

IndexCache CacheFrom(uint64_t least, const OpenedRecording& opened) {
  const ReaderOptions& options = opened.options();
  if (!options.index || options.search.cache.empty() || options.engine != "native" ||
      opened.trace_bytes() < least)
    return {};
  IndexCache cache{.folder = options.search.cache, .most_bytes = options.search.cache_bytes};
  cache.key = IndexKey(opened.recording(), opened.code(), opened.inputs(), {});
  return cache;
}

}  // namespace

IndexCache IndexCacheOf(const OpenedRecording& opened) { return CacheFrom(kWorthBytes, opened); }

IndexCache TimelineCacheOf(const OpenedRecording& opened) {
  return CacheFrom(kWorthTimeline, opened);
}

bool HasLongTrace(const OpenedRecording& opened) { return opened.trace_bytes() >= kWorthPass; }

IndexCache LastingCacheOf(const OpenedRecording& opened) {
  if (!HasLongTrace(opened)) return {};
  IndexCache cache = IndexCacheOf(opened);
  if (!IsUsable(cache) || !DiskOf(cache).MayStore()) return {};
  return cache;
}

bool ToldAll(const RecordingCode& code) {
  return code.ModeConflicts().empty() && code.UnusedImages().empty() && !code.CacheRefusal();
}

}  // namespace flowback::cli
