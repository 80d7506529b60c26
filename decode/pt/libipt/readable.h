// SPDX-License-Identifier: MIT
// Which bytes of a stream libipt can read as packets, and where it may begin.
#pragma once

#include <intel-pt.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/recorded/pt_config.h"
#include "flowback/base/bytes.h"
#include "flowback/base/error.h"
#include "flowback/model/machine.h"

namespace flowback::libipt {

constexpr uint64_t kPsbSize = 16;

// Returns the offset of the next PSB at or after `from`; bytes.size(): no PSB follows.
uint64_t NextPsb(Bytes bytes, uint64_t from);

// How many PADs there are in `bytes`, which must hold whole packets that say nothing of the flow;
// else empty.
std::optional<uint64_t> PaddingInStatus(Bytes bytes, const PtConfig& pt);

// The packets from a PSB on, up to the first that libipt does not know.
struct Readable {
  uint64_t end = 0;
  pt_error_code code = pte_ok;  // why they end there; pte_ok: at the end of what was to be read
  // Met on the way. Another one begins inside what was read as a packet.
  std::vector<uint64_t> psbs;

  bool Covers(uint64_t psb) const {
    return psb < end && std::binary_search(psbs.begin(), psbs.end(), psb);
  }
};

// `part` ends where packets can't go on behind it. Offsets count from its begin. Errors: kSystem.
Result<Readable> ReadableFrom(Bytes part, uint64_t psb, const PtConfig& pt);

// Why the bytes at `psb` do not begin a PSB+; pte_ok when they do.
pt_error_code SyncError(Bytes stream, uint64_t psb, const Readable& readable, const PtConfig& pt);

}  // namespace flowback::libipt
