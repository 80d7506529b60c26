// SPDX-License-Identifier: MIT
// The places of addresses, each looked up once.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "replay/crash/crash_report.h"

namespace flowback {

// Belongs to one process' address space.
class KnownPlaces {
 public:
  explicit KnownPlaces(Session& session) : session_(session) {}

  // Valid as long as this.
  const CrashPlace& Of(const AddressSpace* space, uint64_t address) {
    const auto [known, is_new] = places_.try_emplace(address);
    if (is_new) known->second = PlaceOf(session_, space, address, false);
    return known->second;
  }

 private:
  Session& session_;
  std::unordered_map<uint64_t, CrashPlace> places_;
};

}  // namespace flowback
