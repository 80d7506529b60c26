// SPDX-License-Identifier: MIT
// Calls as bytes, each relative to the one before it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/number_bytes.h"
#include "flowback/replay/call_stack.h"
#include "replay/flow/space_names.h"

namespace flowback {

class CallWriter : public NumberWriter {
 public:
  // A call's function is named by its first address, so both sides must find the same function.
  CallWriter(const SpaceNames& spaces, FunctionFinder& functions)
      : spaces_(spaces), functions_(functions) {}

  // An end is marked, not counted ahead: so calls below have the same bytes, whichever calls lie
  // above.
  void Calls(const std::vector<Call>& calls);
  void Space(const AddressSpace* space);
  void Bounds(uint64_t tsc, const TscInterval& bounds) {
    Distance(tsc, bounds.lo);
    Distance(bounds.lo, bounds.hi);
  }
  // False: something was not of these spaces, or not of these functions.
  bool ok() const { return ok_; }

 private:
  void Put(const Call& call, const Call& before);

  const SpaceNames& spaces_;
  FunctionFinder& functions_;
  bool ok_ = true;
};

class CallReader : public NumberReader {
 public:
  CallReader(Bytes bytes, const SpaceNames& spaces, FunctionFinder& functions)
      : NumberReader(bytes), spaces_(spaces), functions_(functions) {}

  std::vector<Call> Calls();
  const AddressSpace* Space();
  TscInterval Bounds(uint64_t tsc) {
    TscInterval bounds;
    bounds.lo = Distance(tsc);
    bounds.hi = Distance(bounds.lo);
    return bounds;
  }
  bool Flag() { return Number() != 0; }
  FunctionFinder& functions() { return functions_; }

 private:
  Call Get(uint8_t head, const Call& before);

  const SpaceNames& spaces_;
  FunctionFinder& functions_;
};

}  // namespace flowback
