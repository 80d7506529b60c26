// SPDX-License-Identifier: MIT
// Why the slow instances of a region were slow.
//
//   Result<SpikeReport> report = FindSpikes(sources, flows, options,
//                                           [&] { return AccountTimes(sources); });
//
// The flow is followed once, and kept in short (InstanceRows): which instances are slow is known
// only when all have been measured. Then what each call path cost and where each branch went is
// summed up, for the slow ones and for the normal ones, and the first branches are played of those
// instances that are shown one by one. Where too much would have to be kept, a second pass sums up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/timeline.h"
#include "replay/spikes/causes/causes.h"
#include "replay/spikes/causes/slowness.h"
#include "replay/spikes/instances/branch_table.h"
#include "replay/spikes/instances/instance.h"
#include "replay/spikes/instances/instance_groups.h"
#include "replay/spikes/instances/path_tree.h"
#include "replay/spikes/instances/program_regions.h"
#include "replay/spikes/instances/region_places.h"
#include "replay/timeline/thread_times.h"

namespace flowback {

struct SpikeOptions {
  unsigned threads = 1;  // that decode
  size_t in_flight = 0;  // as PlayOptions
  TimeSpan span{};       // only instances that begin and end within it are compared
  // Whether a call of the function that is entered there is an instance. Empty: `places` decide.
  std::function<bool(const AddressSpace* space, uint64_t entry_ip)> is_region{};
  const RegionPlaces* places = nullptr;  // must outlive the call
  // The thread that comes to the stop may be another one than the one that came to the start: the
  // values that they write into the trace behind the places (PTWRITE) connect them.
  bool across_threads = false;
  ProgramRegions* regions = nullptr;  // must outlive the call
  // Empty: the time; of an emulated recording the instructions, or, where none stands out by them,
  // the time in the kernel from a millisecond on.
  std::optional<InstanceMeasure> measure{};
  SlowLimit limit{};
  uint64_t least_time = 0;  // shorter instances are not slow
  size_t top = 5;           // number of slow instances to show, the slowest first
  // Bytes of what instances did that are kept until it is known which are slow. Where they do not
  // suffice, the flow is followed a second time.
  size_t row_bytes = size_t{128} << 20;
};

// The first branch at which an instance leaves the way of another one.
struct Parting {
  uint64_t after = 0;                     // branches that are the same
  uint32_t edge = BranchTable::kNoEdge;   // where the instance went; kNoEdge: it ended
  uint32_t other = BranchTable::kNoEdge;  // where the other one went
  bool is_cut = false;                    // they are the same as far as they were kept
};

// The cost of one instance in a path, without the paths below it.
struct NodeCost {
  uint32_t node = 0;  // in SpikeReport::paths
  PathCost cost;
};

// A slow instance, against the median of the normal ones and the normal one that is most like it.
struct Outlier {
  uint32_t number = 0;
  uint32_t nearest = 0;         // the number of a normal instance
  Causes causes;                // against the median instance: the parts of what it took more
  Parting parting;              // from the nearest
  std::vector<NodeCost> costs;  // of all its paths, by node
};

// The first pass's result, for any measure of comparison.
struct MeasuredInstances {
  static constexpr size_t kMostInstances = size_t{1} << 21;

  bool nanoseconds = true;  // else times are TSC ticks
  bool has_times = true;
  std::vector<Instance> instances;  // by number, at most kMostInstances
  uint64_t left_out = 0;            // instances beyond these
  uint64_t unnamed_regions = 0;     // of the program's own, whose names are not in its code
  UnpairedPasses unpaired;          // of the places, across threads
  uint64_t overlapping = 0;         // calls that began while another stack had an open instance
  std::array<size_t, kInstanceStates> states{};
  std::vector<LossSum> losses;  // in the flow
  std::vector<TimelineFunction> functions;

  void CountStates();
  // Returns how many functions instances name: the first ones.
  size_t NamedFunctions() const;
};

struct SpikeReport : MeasuredInstances {
  bool emulated = false;
  InstanceMeasure measure = InstanceMeasure::kTime;
  // None stood out by instructions, so `measure` is the time in the kernel.
  bool by_kernel_instead = false;
  size_t slow_in_kernel = 0;     // that stand out by it, if compared by instructions
  std::vector<uint64_t> sorted;  // the measures of the whole instances
  Distribution distribution;     // of these
  Slowness slowness;
  size_t slow = 0;
  size_t normal = 0;
  uint32_t median = 0;  // the number of the normal instance in the middle; where `normal` is not 0
  std::vector<NodeCost> median_costs;  // of the paths of that instance
  Causes causes;                       // of all slow ones together
  std::vector<Outlier> outliers;
  PathTree paths;
  BranchTable branches;
  GroupSums slow_sums;
  GroupSums normal_sums;

  InstanceGroup GroupOf(const Instance& instance) const;
  // Only whole instances of the span are compared.
  bool IsCompared(const Instance& instance) const {
    return instance.state == InstanceState::kWhole && span.Contains(instance.begin.time) &&
           span.Contains(instance.end.time);
  }

  TimeSpan span{};
  uint64_t least_time = 0;
};

// Returns the numbers of a group's instances, by their measure, the least first.
std::vector<uint32_t> NumbersOf(const SpikeReport& report, InstanceGroup group);
// Returns the slowest instances, at most `most`, the slowest first: as --top and spike:N count
// them.
std::vector<uint32_t> SlowestOf(const SpikeReport& report, size_t most);

class KeptSpikes;

// `times` is called if a pass over the flow is made at all. What `kept` holds is not found out
// again; null: nothing is kept. Errors: as those of `times` and Player::Play; kSystem where the
// parts of what was extra do not add up.
Result<SpikeReport> FindSpikes(const TimelineSources& sources,
                               const std::vector<const ThreadFlow*>& flows,
                               const SpikeOptions& options, const TimesOf& times,
                               KeptSpikes* kept = nullptr);

}  // namespace flowback
