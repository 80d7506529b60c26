// SPDX-License-Identifier: MIT
// The regions that a program names itself (flowback/self.h), as instances: from the return of
// flowback_region_begin to the call of flowback_region_end that belongs to it.
//
// They nest. A region within a wanted region is a part of it, under any name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "flowback/replay/functions.h"
#include "flowback/replay/symbolizer.h"
#include "replay/spikes/instances/instance_teller.h"
#include "replay/spikes/instances/region_names.h"

namespace flowback {

// The requested and the existing regions of all threads.
class ProgramRegions {
 public:
  enum class Role : uint8_t {
    kOther,
    kBegins,  // flowback_region_begin and what it calls last
    kEnds,
    kScope,  // the constructor of flowback::SelfRegion
  };

  // `functions` and `symbolizer` must outlive it.
  ProgramRegions(FunctionFinder& functions, Symbolizer& symbolizer,
                 std::function<bool(const std::string& name)> is_wanted)
      : names_(functions), symbolizer_(symbolizer), is_wanted_(std::move(is_wanted)) {}

  Role RoleOf(const Call& call) const;
  // Whether the region is wanted that begins where the innermost of these calls goes on. `scope`: a
  // constructor of SelfRegion has returned there.
  bool Begins(const std::vector<Call>& calls, uint64_t address, bool scope);

  // How often each name was begun, in all passes over the flow; of those whose names the code does
  // not prove, the name is empty.
  const std::map<std::string, uint64_t>& counts() const { return counts_; }
  uint64_t unnamed() const {
    const auto found = counts_.find("");
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  std::optional<std::string> NameOf(const std::vector<Call>& calls, uint64_t address, bool scope);

  RegionNames names_;
  Symbolizer& symbolizer_;
  std::function<bool(const std::string& name)> is_wanted_;
  mutable std::unordered_map<uint64_t, Role> roles_;  // by Call::function
  std::map<std::string, uint64_t> counts_;
};

// Hands a thread's calls on, and begins and ends instances with the regions among them.
class RegionRelay final : public CallListener {
 public:
  // Both must outlive it.
  RegionRelay(ProgramRegions& regions, InstanceTeller& teller)
      : regions_(regions), teller_(teller) {}
  // The one that this listens to. REQUIRES: before its first call.
  void ListensTo(const CallStack& stack) { stack_ = &stack; }

  bool WantsCallNumbers() const override { return teller_.WantsCallNumbers(); }
  void OnEnter(const Call& call, size_t depth) override;
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override;
  void OnGap(const UntracedGap& gap, size_t depth) override { teller_.OnGap(gap, depth); }
  void OnSwitch(uint32_t stack) override { teller_.OnSwitch(stack); }

 private:
  void NoteReturn(const Call& call, const ExitTime& time);
  void Begin(uint64_t address, uint64_t position, const ExitTime& time, bool scope);
  void End(uint64_t position, const ExitTime& time);

  ProgramRegions& regions_;
  InstanceTeller& teller_;
  const CallStack* stack_ = nullptr;
  size_t open_ = 0;    // regions that the thread is in
  size_t opener_ = 0;  // open regions when the instance began
  bool inside_ = false;
  // What the thread has left to where it was not seen calling: the beginning of a region. Else
  // kOther.
  ProgramRegions::Role left_ = ProgramRegions::Role::kOther;
};

}  // namespace flowback
