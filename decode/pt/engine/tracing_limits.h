// SPDX-License-Identifier: MIT
// Where tracing stops by itself, in code that needs no packet.
#pragma once

#include <cstdint>
#include <optional>

#include "base/recorded/pt_config.h"
#include "decode/pt/flow_names.h"
#include "decode/pt/stream/errata.h"

namespace flowback::pt {

class TracingLimits {
 public:
  // Both must outlive it.
  TracingLimits(const PtConfig& config, const Errata& errata) : config_(config), errata_(errata) {}

  // Whether tracing stops at the end of block `id`, which needs no packet: it leads to `ip`, where
  // the filter range ends, or, without an IP, out of the range, or to other page tables.
  bool StopAtEndOf(const BlockGraph& graph, uint32_t id, std::optional<uint64_t> ip) const;

 private:
  bool LeavesFilter(const BlockGraph& graph, uint32_t id) const;

  const PtConfig& config_;
  const Errata& errata_;
};

}  // namespace flowback::pt
