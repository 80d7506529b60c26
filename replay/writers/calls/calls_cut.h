// SPDX-License-Identifier: MIT
// Leaves calls out of what a writer is told: those outside of a time, of other functions, short
// ones, deep ones.
//
// Calls left out below a kept call count as its own instructions, so that the sums stay the flow's.
// A call cut by the time is reported as one that goes on: it has no instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/writers/calls/exported_calls.h"

namespace flowback {

class CallsCut final : public CallsTeller {
 public:
  // All must outlive it.
  CallsCut(const CallsPart& part, const std::vector<ExportedFunction>& functions, CallsTeller& next)
      : part_(part), functions_(functions), next_(next) {}

  void OnThread(const ExportedThread& thread) override;
  void OnEnter(const ExportedEntry& entry) override;
  void OnExit(const ExportedExit& exit) override;
  void OnLoss(std::string_view cause, uint64_t time) override;
  void OnAbsence(const Absence& absence) override;
  void OnThreadEnd(uint64_t time) override;
  bool Done() const override { return next_.Done(); }

 private:
  struct Open {
    ExportedEntry entry;
    bool matches = false;   // its function, or an outer call's, is wanted
    bool wanted = false;    // it may be told
    bool told = false;      // it was
    size_t level = 0;       // of the wanted calls, from 1
    uint64_t absorbed = 0;  // instructions of calls in it that are left out
  };

  bool Matches(uint32_t function);
  void TellOpen();
  void Absorb(uint64_t instructions);

  const CallsPart& part_;
  const std::vector<ExportedFunction>& functions_;
  CallsTeller& next_;
  std::vector<int8_t> matches_;  // by function: -1: not asked yet
  // Of the thread.
  std::vector<Open> open_;
  size_t told_ = 0;  // number of the outermost open calls that were checked for reporting
  std::unordered_map<uint64_t, uint64_t> absorbed_;  // of calls on stacks that were left
};

}  // namespace flowback
