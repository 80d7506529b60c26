// SPDX-License-Identifier: MIT
// What `spikes` found out about a recording, kept in the cache beside its index.
//
//   instances-KEY-REGION          the first pass: the instances of a region
//   spikes-KEY-REGION+OPTIONS     the second pass: what slow and normal ones did
//   loops-KEY-THREADS             --auto: the functions that look like handlers of requests
//
// A command that asks for the same decodes nothing. One that asks something else about the same
// region (--by, --over, --top) takes the list of instances and makes the second pass alone. As with
// timelines, names come from files that the key does not know, so these are noted, and what was
// kept does not count once one of them has changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowback/replay/flow_index.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/timeline.h"
#include "replay/flow/space_names.h"
#include "replay/spikes/request_loops.h"
#include "replay/spikes/spikes.h"

namespace flowback {

class KeptSpikes {
 public:
  // `sources` and `flows` must outlive it. `region` defines the instances, in words that differ for
  // any two regions. Nothing is kept or loaded if the cache has no folder or no key.
  KeptSpikes(const TimelineSources& sources, const std::vector<const ThreadFlow*>& flows,
             std::string region, IndexCache cache);

  std::optional<std::vector<RequestLoop>> LoadLoops() const;
  // Fills in what the first pass finds. Returns false, and leaves it as it is, if that was not kept
  // or something has changed since.
  bool LoadInstances(MeasuredInstances& measured);
  // The same for the second pass. REQUIRES: the report has its instances and knows the slow ones.
  bool LoadComparison(const SpikeOptions& options, SpikeReport& report);

  // Keep what FindRequestLoops and FindSpikes returned, unless it was loaded. Call them when no
  // user waits, while the symbolizer still knows which files it has read.
  void KeepLoops(const std::vector<RequestLoop>& loops) const;
  void Keep(const SpikeOptions& options, const SpikeReport& report) const;

 private:
  std::string NameOf(const std::string& kind, const std::string& region = {},
                     const std::string& words = {}) const;
  template <class Read>
  bool Load(const std::string& name, const Read& read) const;

  const TimelineSources& sources_;
  const std::vector<const ThreadFlow*>& flows_;
  const std::string region_;
  const IndexCache cache_;
  SpaceNames spaces_;
  std::string threads_;  // which flow is played, in bytes
  bool has_instances_ = false;
  bool has_comparison_ = false;
};

}  // namespace flowback
