// SPDX-License-Identifier: MIT
#include "replay/writers/calls/exported_paths.h"

namespace flowback {

size_t ExportedPaths::KeyHash::operator()(const Key& key) const {
  constexpr uint64_t kMix = 0x9e3779b97f4a7c15;
  const uint64_t mixed = ((uint64_t{key.parent} << 32 | key.function) * kMix ^ key.site) * kMix;
  return static_cast<size_t>(mixed ^ mixed >> 32);
}

void ExportedPaths::OnThread(const ExportedThread& thread) {
  at_ = static_cast<uint32_t>(paths_.size());
  paths_.push_back({.thread = static_cast<uint32_t>(threads_.size())});
  threads_.push_back(thread);
  callers_.clear();
  last_ = 0;
}

// Nothing is known of a thread before its first call.
void ExportedPaths::Advance(uint64_t time) {
  if (last_ != 0) paths_[at_].time += time - last_;
  last_ = time;
}

void ExportedPaths::OnEnter(const ExportedEntry& entry) {
  Advance(entry.time);
  callers_.push_back(at_);
  at_ = Child(entry);
}

uint32_t ExportedPaths::Child(const ExportedEntry& entry) {
  if (paths_[at_].function == ExportedPath::kCut) return at_;
  Key key{at_, entry.function, sites_ ? entry.site : 0};
  if (const auto known = children_.find(key); known != children_.end()) return known->second;
  if (paths_.size() >= kMostPaths) {
    is_cut_ = true;
    key = {at_, ExportedPath::kCut, 0};
    if (const auto known = children_.find(key); known != children_.end()) return known->second;
  }
  const auto child = static_cast<uint32_t>(paths_.size());
  children_.emplace(key, child);
  paths_.push_back({.parent = at_,
                    .function = key.function,
                    .site = key.site,
                    .space = entry.space,
                    .thread = paths_[at_].thread});
  return child;
}

void ExportedPaths::OnExit(const ExportedExit& exit) {
  Advance(exit.time);
  ExportedPath& path = paths_[at_];
  if (!exit.goes_on) {
    ++path.calls;
    path.instructions += exit.self;
  }
  at_ = callers_.back();
  callers_.pop_back();
}

}  // namespace flowback
