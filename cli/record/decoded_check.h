// SPDX-License-Identifier: MIT
// Reads a recording back that has just been made, and compares it with what the recorder counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flowback/capture/record.h"

namespace flowback::cli {

struct DecodedCheck {
  uint64_t instructions = 0;    // that the recording decodes to
  std::string first_loss = {};  // why there are no more, as far as known; empty: nothing was lost
};

// Decodes the whole recording on all cores. Empty where it cannot be compared: the recorder counted
// nothing (hardware), the file does not hold all of the trace (a pipe, a snapshot, a failure),
// there are too many threads to read them back in bounded memory, or it cannot be opened.
std::optional<DecodedCheck> CheckDecoded(const RecordSummary& summary,
                                         const RecordOptions& options);

}  // namespace flowback::cli
