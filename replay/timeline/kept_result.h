// SPDX-License-Identifier: MIT
// What an analysis found of threads, as a file of the cache. It depends on the files that names
// came from, so these are noted in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/number_bytes.h"
#include "flowback/base/bytes.h"
#include "flowback/replay/flow_index.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/threads.h"

namespace flowback {

// The part of a cache that such a file may take.
inline constexpr uint64_t kResultPart = 8;

// Writes which threads these are, and which of their flow is played.
void NoteFlows(NumberWriter& out, const std::vector<const ThreadFlow*>& flows);

// Hands the bytes that StoreResult kept under that name to `read`, and returns what that returns.
// False, and nothing is read: no bytes are kept, or a file with names has changed since.
bool LoadResult(const IndexCache& cache, const std::string& name, const Symbolizer& symbolizer,
                const std::function<bool(Bytes bytes)>& read);
// Keeps nothing if the cache has no folder or no key, if there are no bytes, or too many.
void StoreResult(const IndexCache& cache, const std::string& name, const Symbolizer& symbolizer,
                 const std::vector<uint8_t>& bytes);

}  // namespace flowback
