// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/program_regions.h"

#include <string_view>
#include <utility>

namespace flowback {

ProgramRegions::Role ProgramRegions::RoleOf(const Call& call) const {
  if (call.space == nullptr || call.function == 0) return Role::kOther;
  const auto [known, added] = roles_.try_emplace(call.function, Role::kOther);
  if (!added) return known->second;
  const auto symbol = symbolizer_.Find(*call.space, call.entry_ip);
  const std::string_view name = symbol ? std::string_view(symbol->function) : std::string_view();
  if (name == "flowback_region_begin" || name == "flowback_region_entered")
    known->second = Role::kBegins;
  else if (name == "flowback_region_end")
    known->second = Role::kEnds;
  else if (name.starts_with("flowback::SelfRegion::SelfRegion("))
    known->second = Role::kScope;
  return known->second;
}

// A constructor that was not inlined hands its own argument on, the one behind `this`.
std::optional<std::string> ProgramRegions::NameOf(const std::vector<Call>& calls, uint64_t address,
                                                  bool scope) {
  if (calls.empty()) return std::nullopt;
  const Call& innermost = calls.back();
  if (scope || RoleOf(innermost) != Role::kScope)
    return names_.Argument(innermost.space, address, scope ? 1 : 0);
  return names_.Argument(innermost.space, innermost.return_address, 1);
}

bool ProgramRegions::Begins(const std::vector<Call>& calls, uint64_t address, bool scope) {
  const std::optional<std::string> name = NameOf(calls, address, scope);
  ++counts_[name.value_or("")];
  return name && is_wanted_(*name);
}

void RegionRelay::OnEnter(const Call& call, size_t depth) {
  using Role = ProgramRegions::Role;
  const Role role = regions_.RoleOf(call);
  const ExitTime time{.tsc = call.tsc, .bounds = call.bounds};
  if (role == Role::kEnds && call.entry != CallEntry::kReturnedTo)
    End(call.instructions_before, time);
  teller_.OnEnter(call, depth);
  const Role left = std::exchange(left_, Role::kOther);
  if (left == Role::kOther || call.entry != CallEntry::kReturnedTo) return;
  if (role != Role::kBegins && role != Role::kScope)
    Begin(call.entry_ip, call.instructions_before, time, left == Role::kScope);
}

void RegionRelay::OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
                         const ExitTime& time) {
  teller_.OnExit(call, depth, how, instructions, time);
  if (how == CallExit::kLost || how == CallExit::kReplaced || how == CallExit::kPaused ||
      how == CallExit::kEnd) {
    // If too many stacks were left, one is reported as lost: the thread may still be in the region.
    if (inside_ && teller_.is_open()) return;
    open_ = 0;
    inside_ = false;
    left_ = ProgramRegions::Role::kOther;
    return;
  }
  if (how == CallExit::kReturn) NoteReturn(call, time);
}

// Flow that was recorded from flowback_region_entered on returns to what was not seen calling, and
// so does a constructor that it came back to.
void RegionRelay::NoteReturn(const Call& call, const ExitTime& time) {
  using Role = ProgramRegions::Role;
  const Role role = regions_.RoleOf(call);
  if (role != Role::kBegins && role != Role::kScope) return;
  if (call.return_address == 0) {
    left_ = role;
    return;
  }
  const std::vector<Call>& calls = stack_->calls();
  if (role == Role::kScope || calls.empty() || regions_.RoleOf(calls.back()) == Role::kBegins)
    return;
  Begin(call.return_address, stack_->instructions(), time, false);
}

void RegionRelay::Begin(uint64_t address, uint64_t position, const ExitTime& time, bool scope) {
  const bool wanted = regions_.Begins(stack_->calls(), address, scope);
  if (wanted && !inside_) {
    teller_.Begin(position, time, stack_->calls());
    opener_ = open_;
    inside_ = true;
  }
  ++open_;
}

void RegionRelay::End(uint64_t position, const ExitTime& time) {
  if (open_ == 0) return;
  --open_;
  if (!inside_ || open_ != opener_) return;
  inside_ = false;
  if (teller_.is_open()) teller_.End(position, time);
}

}  // namespace flowback
