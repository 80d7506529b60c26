// SPDX-License-Identifier: MIT
// coverage_bench RECORDING [THREADS]: seconds for the sums of a recording's streams, as `decode
// --as summary` makes them, for the counts of its instructions, and their ratio. The best of three
// each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "flowback/capture/open.h"
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/threads.h"

namespace {

double BestOfThree(const std::function<void()>& run) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

}  // namespace

int main(int count, char** words) {
  using namespace flowback;
  if (count < 2) return 2;
  OpenOptions options;
  options.input = words[1];
  const Result<Recording> recording = OpenRecording(options);
  if (!recording) return std::puts(recording.error().message().c_str()), 1;
  const Result<RecordingCode> code = RecordingCode::Load(*recording, {});
  if (!code) return std::puts(code.error().message().c_str()), 1;
  StreamInputs inputs(*recording, *code, Resync::kEarliest);
  inputs.set_threads(count < 3 ? 1 : static_cast<unsigned>(std::atoi(words[2])), 0);
  Threads threads(*recording);
  threads.GroupByThread(*recording, inputs);
  uint64_t summed = 0;
  const double sums = BestOfThree([&] {
    const auto decoder = MakeDecoder("native");
    summed = 0;
    for (const Stream& stream : recording->streams)
      if (const auto sum = (*decoder)->Summarize(inputs.For(stream))) summed += sum->digest.count;
  });
  CoverageCounts counts;
  const double counting = BestOfThree([&] {
    const auto counted = CountCoverage(
        {.recording = *recording,
         .code = *code,
         .flow = {.inputs = inputs, .make_decoder = [] { return MakeDecoder("native"); }},
         .owners = threads.owners()});
    if (counted) counts = *counted;
  });
  std::printf("sums %.3f s, counts %.3f s, ratio %.2f; %zu objects, %lu instructions\n", sums,
              counting, counting / sums, counts.objects.size(),
              static_cast<unsigned long>(counts.instructions));
  return counts.instructions == summed ? 0 : 1;
}
