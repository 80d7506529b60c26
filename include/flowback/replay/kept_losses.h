// SPDX-License-Identifier: MIT
// What was lost of recordings, as plain sums: what of a LossTally is kept in a file.
#pragma once

#include <cstdint>
#include <map>

#include "flowback/model/execution.h"

namespace flowback {

struct KeptLosses {
  struct Sum {
    uint64_t count = 0;
    uint64_t bytes = 0;  // of trace
    friend bool operator==(const Sum&, const Sum&) = default;
  };
  std::map<LossCause, Sum> causes;  // without those that are 0
  uint64_t trace_bytes = 0;         // that were decoded; the lost bytes are a part of them
  uint64_t missing_bytes = 0;       // of trace, that the recordings' files do not contain
  uint64_t unattributed_bytes = 0;  // of trace, whose thread is unknown
  uint64_t damage = 0;              // warnings of damage to the recordings' files

  bool any() const { return !causes.empty() || damage != 0; }
  void Add(LossCause cause, const Sum& sum);
  // Adds the losses of other recordings. Numbers do not grow beyond 2^64 - 1.
  void Add(const KeptLosses& other);
  bool operator==(const KeptLosses&) const = default;
};

}  // namespace flowback
