// SPDX-License-Identifier: MIT
// A recording's timelines, kept in the cache beside its index: a later command that asks for the
// same one decodes nothing.
//
// Each set of options that leads to another timeline has a file of its own, by the recording's key
// and all that was asked for. No file takes more than a part of the cache, so that a few of them do
// not drive out what else is there; those that were used longest ago go first.
//
// Names come from files that the key does not know. So these are noted, and a timeline is as none
// where one of them has changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowback/replay/flow_index.h"
#include "flowback/replay/timeline.h"

namespace flowback {

class KeptTimeline {
 public:
  // The timeline that MakeTimeline gives of these, which must outlive it. `focus` identifies
  // TimelineOptions::focus; empty if no focus is set. Nothing comes from the cache, or is kept
  // there, where that has no folder or no key.
  KeptTimeline(const TimelineSources& sources, const std::vector<const ThreadFlow*>& flows,
               const TimelineOptions& options, const std::string& focus, IndexCache cache);

  // Empty: it was not kept, or something has changed since.
  std::optional<Timeline> Load() const;
  // REQUIRES: MakeTimeline gave it, and the symbolizer still knows which files it has asked.
  // Call it when no user waits.
  void Keep(const Timeline& timeline) const;

 private:
  bool IsOfFlows(const Timeline& timeline) const;

  const TimelineSources& sources_;
  const std::vector<const ThreadFlow*>& flows_;
  const IndexCache cache_;
  std::string name_;
};

}  // namespace flowback
