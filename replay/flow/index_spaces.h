// SPDX-License-Identifier: MIT
// The address spaces of all streams of an index, by numbers.
#pragma once

#include "flowback/replay/flow_index.h"
#include "replay/flow/space_names.h"

namespace flowback {

class IndexSpaces {
 public:
  // Valid as long as the index.
  static const SpaceNames& Of(const FlowIndex& index);
};

}  // namespace flowback
