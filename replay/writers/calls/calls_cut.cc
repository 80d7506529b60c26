// SPDX-License-Identifier: MIT
#include "replay/writers/calls/calls_cut.h"

#include <algorithm>

namespace flowback {

void CallsCut::OnThread(const ExportedThread& thread) {
  open_.clear();
  absorbed_.clear();
  told_ = 0;
  next_.OnThread(thread);
}

bool CallsCut::Matches(uint32_t function) {
  if (!part_.matches) return true;
  if (matches_.size() <= function) matches_.resize(function + 1, -1);
  if (matches_[function] < 0) matches_[function] = part_.matches(functions_[function]) ? 1 : 0;
  return matches_[function] != 0;
}

void CallsCut::OnEnter(const ExportedEntry& entry) {
  const Open* const above = open_.empty() ? nullptr : &open_.back();
  Open call{.entry = entry};
  call.matches = (above != nullptr && above->matches) || Matches(entry.function);
  call.level = (above == nullptr ? 0 : above->level) + (call.matches ? 1 : 0);
  call.wanted = call.matches && call.level <= part_.max_depth && entry.time <= part_.span.end;
  if (entry.again)
    if (const auto kept = absorbed_.find(entry.call); kept != absorbed_.end()) {
      call.absorbed = kept->second;
      absorbed_.erase(kept);
    }
  open_.push_back(call);
  if (call.wanted && part_.min_duration == 0 && entry.time >= part_.span.begin) TellOpen();
}

// An outer call lasts at least as long as one in it. Calls are told in their order, so those that
// were are the outermost ones.
void CallsCut::TellOpen() {
  for (; told_ < open_.size(); ++told_) {
    Open& call = open_[told_];
    if (!call.wanted) continue;
    ExportedEntry entry = call.entry;
    if (entry.time < part_.span.begin) {
      entry.time = part_.span.begin;
      entry.again = true;
    }
    call.told = true;
    next_.OnEnter(entry);
  }
}

void CallsCut::OnExit(const ExportedExit& exit) {
  const uint64_t begin = std::max(open_.back().entry.time, part_.span.begin);
  const uint64_t end = std::min(exit.time, part_.span.end);
  if (open_.back().wanted && !open_.back().told && end >= begin && exit.time >= part_.span.begin &&
      end - begin >= part_.min_duration)
    TellOpen();
  const Open call = open_.back();
  open_.pop_back();
  told_ = std::min(told_, open_.size());
  if (!call.told) return Absorb(exit.instructions);
  if (exit.goes_on && call.absorbed != 0) absorbed_[call.entry.call] = call.absorbed;
  ExportedExit told = exit;
  told.time = end;
  told.self += call.absorbed;
  if (call.entry.time < part_.span.begin || exit.begin < part_.span.begin ||
      exit.time > part_.span.end) {
    told.goes_on = true;
    told.instructions = told.self = 0;
  }
  next_.OnExit(told);
}

// A call from a call that is left out, too, is among the latter's instructions.
void CallsCut::Absorb(uint64_t instructions) {
  if (!open_.empty() && open_.back().wanted) open_.back().absorbed += instructions;
}

void CallsCut::OnLoss(std::string_view cause, uint64_t time) {
  if (part_.span.Contains(time)) next_.OnLoss(cause, time);
}

void CallsCut::OnAbsence(const Absence& absence) {
  Absence cut = absence;
  cut.begin = std::max(cut.begin, part_.span.begin);
  cut.end = std::min(cut.end, part_.span.end);
  if (!part_.calls_only && cut.begin < cut.end) next_.OnAbsence(cut);
}

void CallsCut::OnThreadEnd(uint64_t time) { next_.OnThreadEnd(std::min(time, part_.span.end)); }

}  // namespace flowback
