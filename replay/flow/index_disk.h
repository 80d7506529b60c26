// SPDX-License-Identifier: MIT
// The folder of indexes and of other results kept beside them.
#pragma once

#include "base/own_build.h"
#include "decode/code/cache/disk_cache.h"
#include "flowback/replay/flow_index.h"

namespace flowback {

// Whether anything can be found there again.
inline bool IsUsable(const IndexCache& cache) {
  return OwnBuild() != 0 && !cache.folder.empty() && !cache.key.empty();
}

inline DiskCache DiskOf(const IndexCache& cache) {
  return DiskCache({.folder = cache.folder, .most_bytes = cache.most_bytes}, OwnBuild());
}

}  // namespace flowback
