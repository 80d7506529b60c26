// SPDX-License-Identifier: MIT
// Counts the return addresses, functions and handlers of a stack's calls, so that no search for an
// absent one is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "replay/calls/shadow_stack/count_table.h"

namespace flowback {

// Nearly all calls return before a count is needed: so only the outermost ones are counted, up to
// the innermost call at the last request.
class CallCounts {
 public:
  bool HasReturnTo(const std::vector<Call>& calls, uint64_t address) {
    Count(calls);
    return return_addresses_.Has(address);
  }
  bool HasFunction(const std::vector<Call>& calls, uint64_t id) {
    Count(calls);
    return functions_.Has(id);
  }
  bool HasResume(const std::vector<Call>& calls, uint64_t address) {
    Count(calls);
    return resumes_.Has(address);
  }
  // The innermost one is about to go.
  void Remove(const std::vector<Call>& calls) {
    if (counted_ != calls.size()) return;
    const Call& call = calls.back();
    return_addresses_.Remove(call.return_address);
    functions_.Remove(call.function);
    resumes_.Remove(call.resume);
    --counted_;
  }
  // It is about to be of another function.
  void ChangeFunction(const std::vector<Call>& calls, uint64_t id) {
    if (counted_ != calls.size()) return;
    functions_.Remove(calls.back().function);
    functions_.Add(id);
  }

 private:
  void Count(const std::vector<Call>& calls) {
    for (; counted_ < calls.size(); ++counted_) {
      const Call& call = calls[counted_];
      return_addresses_.Add(call.return_address);
      functions_.Add(call.function);
      resumes_.Add(call.resume);
    }
  }

  CountTable return_addresses_;
  CountTable functions_;
  CountTable resumes_;
  size_t counted_ = 0;
};

}  // namespace flowback
