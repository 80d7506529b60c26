// SPDX-License-Identifier: MIT
// A timeline as bytes, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/recording.h"
#include "flowback/replay/timeline.h"
#include "replay/flow/space_names.h"

namespace flowback {

// All of it. Empty: it names code that is in none of the spaces.
std::vector<uint8_t> TimelineToBytes(const Timeline& timeline, const SpaceNames& spaces);
// Empty: the bytes are not valid. A result can always be shown: all its numbers of functions, paths
// and kinds exist, and the law holds.
std::optional<Timeline> TimelineFromBytes(Bytes bytes, const Recording& recording,
                                          const SpaceNames& spaces);

}  // namespace flowback
