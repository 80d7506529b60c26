// SPDX-License-Identifier: MIT
// What a named region costs (flowback/self.h): self_bench
#include <benchmark/benchmark.h>

#include "flowback/self.h"

namespace {

void Regions(benchmark::State& state) {
  for (auto _ : state) {
    flowback_region_begin("request");
    flowback_region_end();
  }
}

void NestedRegions(benchmark::State& state) {
  flowback_region_begin("outer");
  Regions(state);
  flowback_region_end();
}

// With a recorder beside the program, of an event that hardly ever happens.
void Recorded(benchmark::State& state, bool regions_only) {
  static const char* const kEvent[] = {"-e", "cpu-clock:u", "-F", "1", nullptr};
  flowback_self_options options{};
  options.output = "/dev/null";
  options.engine = "events";
  options.arguments = kEvent;
  options.regions_only = regions_only;
  if (flowback_self_start(&options) == 0) return state.SkipWithError(flowback_self_reason());
  Regions(state);
  flowback_self_stop();
}

void CountedRegions(benchmark::State& state) { Recorded(state, false); }
void SwitchedRegions(benchmark::State& state) { Recorded(state, true); }

}  // namespace

BENCHMARK(Regions);
BENCHMARK(NestedRegions);
BENCHMARK(CountedRegions);
BENCHMARK(SwitchedRegions)->UseRealTime()->Iterations(2000);
BENCHMARK_MAIN();
