// SPDX-License-Identifier: MIT
// What `pack` says of the bundle that it has made.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "replay/session/bundle_files.h"

namespace flowback::cli {

struct PackReport {
  std::string input;
  std::string output;
  struct Sum {
    uint64_t files = 0;
    uint64_t bytes = 0;
  };
  std::array<Sum, kPackedKinds> kinds{};  // by PackedKind
  uint64_t packed_bytes = 0;              // the bundle's size
  std::vector<std::string> cores;         // members
  bool redacted = false;

  Sum Total() const;
};

std::string PackText(const PackReport& report);
std::string PackJson(const PackReport& report);

}  // namespace flowback::cli
