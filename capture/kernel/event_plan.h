// SPDX-License-Identifier: MIT
// Turns wanted events into arguments of perf_event_open: how often events are sampled, and what
// their samples hold, as `perf record` chooses it.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/kernel/wanted_event.h"

namespace flowback::kernel {

struct SamplingChoice {
  uint64_t frequency = 4000;            // samples a second, of events that name no period
  std::optional<uint64_t> period = {};  // instead of it: of events that name no frequency either
  bool launches = false;                // a command is started: events begin with its exec
  bool of_cpus = false;                 // all threads on the CPUs, not certain threads
  bool hybrid = false;                  // events may be of one kind of core only
  bool per_thread = false;              // a buffer for each thread, on any CPU
  bool inherits = true;                 // threads and processes that begin later as well
  bool build_ids = false;               // in MMAP2 records
  bool switches = false;                // SWITCH records
  bool namespaces = false;
  CallStacks stacks = {};     // of all samples that have no own
  uint64_t accesses = 0;      // more bits of sample_type, of accesses to memory
  bool delayed = false;       // events begin on command
  bool tracks_apart = false;  // what tracks tasks goes on where events are switched off
  uint64_t branches = 0;      // branch_sample_type of all that have no own
};

struct PlannedEvent {
  WantedEvent wanted;
  perf_event_attr attr{};
  bool has_aux = false;         // it owns an AUX area
  bool counts = false;          // its counter is read
  bool may_be_refused = false;  // the recording goes on without it
};

// In the order of `wanted`. Behind traces, events of CPUs and of a hybrid machine comes a dummy
// that tracks tasks and mappings, where `wanted` has none; else the first event tracks them.
std::vector<PlannedEvent> PlanEvents(std::vector<WantedEvent> wanted, const SamplingChoice& choice);

// Whether its trace goes to an AUX area of its own: Intel PT.
bool HasAux(const WantedEvent& event);

}  // namespace flowback::kernel
