// SPDX-License-Identifier: MIT
// How fast one core empties AUX areas into a file, beside a plain copy of as many bytes from memory
// into a file of the same folder: `drain_bench [FOLDER]`, $TMPDIR else. The kernel is simulated:
// its Intel PT has always half of an area ready, as fast as it is taken. See README.md.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "capture/record/control/record_session.h"
#include "capture/record/event_recorder/event_recorder.h"
#include "tests/support/generator/stream_generator.h"
#include "tests/support/kernel/simulated_kernel.h"
#include "tests/support/kernel/trees.h"

namespace flowback::bench {
namespace {

namespace fs = std::filesystem;
using test::SimulatedKernel;

constexpr uint64_t kTrace = uint64_t{1} << 30;  // bytes of one recording
constexpr pid_t kProgram = 4242;
constexpr uint32_t kPtType = 8;  // of the tree
std::string g_folder;            // set before the benchmarks run

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "drain_bench: %s\n", why.c_str());
  std::exit(1);
}

std::vector<uint8_t> TraceOf(size_t bytes) {
  const testing::GeneratedStream stream =
      testing::GenerateStream({.seed = 1, .instructions = 300'000});
  std::vector<uint8_t> trace;
  while (trace.size() < bytes) trace.insert(trace.end(), stream.bytes.begin(), stream.bytes.end());
  trace.resize(bytes);
  return trace;
}

// Records until `kTrace` bytes came.
void RecordOnce(uint64_t area, Bytes content, const std::string& file) {
  SimulatedKernel kernel(test::Tree("skylake_server"));
  kernel.AddProcess(kProgram);
  RecordOptions options;
  options.engine = "pt";
  options.files.output = file;
  options.target.pids = {kProgram};
  options.events.per_thread = true;
  options.events.trace_buffer_bytes = area;
  uint64_t given = 0;
  kernel.meanwhile = [&] {
    SimulatedKernel::Event& trace = *kernel.FindEvent(kPtType);
    given += given < area ? kernel.WriteAux(trace, content.subspan(given, area / 2))
                          : kernel.RepeatAux(trace, area / 2);
    return given < kTrace;
  };
  const record::RecorderSignals signals;
  record::RecordSession session(options, signals);
  record::EventRecorder recorder(options, kernel);
  if (const auto started = recorder.Start(session); !started) Die(started.error().message());
  const auto summary = recorder.Run();
  if (!summary || summary->failure) Die("the recording failed");
  if (summary->bytes != kTrace || summary->losses != 0) Die("trace is missing");
}

void Drain(benchmark::State& state) {
  const auto area = static_cast<uint64_t>(state.range(0)) << 20;
  const std::vector<uint8_t> content = TraceOf(area);
  const std::string file = g_folder + "/drained.data";
  for (auto _ : state) {
    RecordOnce(area, content, file);
    state.PauseTiming();
    fs::remove(file);
    state.ResumeTiming();
  }
  state.SetBytesProcessed(static_cast<int64_t>(kTrace) * state.iterations());
}

// What any reader does at least: `copies` of them once more within memory before it writes.
void Copy(benchmark::State& state, bool through_memory) {
  const auto area = static_cast<uint64_t>(state.range(0)) << 20;
  const std::vector<uint8_t> content = TraceOf(area);
  std::vector<uint8_t> between(area / 2);
  const std::string file = g_folder + "/copied.data";
  for (auto _ : state) {
    const int descriptor = open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (descriptor < 0) Die("can't create " + file);
    for (uint64_t done = 0; done < kTrace; done += area / 2) {
      const uint8_t* piece = content.data() + done % area;
      if (through_memory)
        piece = static_cast<uint8_t*>(std::memcpy(between.data(), piece, area / 2));
      if (write(descriptor, piece, area / 2) != static_cast<ssize_t>(area / 2)) Die("can't write");
    }
    close(descriptor);
    state.PauseTiming();
    fs::remove(file);
    state.ResumeTiming();
  }
  state.SetBytesProcessed(static_cast<int64_t>(kTrace) * state.iterations());
}

void RegisterAll() {
  const auto add = [](const char* name, auto function) {
    benchmark::RegisterBenchmark(name, function)
        ->ArgName("MiB")
        ->Arg(4)
        ->Arg(64)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime()
        ->Iterations(1)
        ->Repetitions(5)
        ->ReportAggregatesOnly();
  };
  add("drain", Drain);
  add("write", [](benchmark::State& state) { Copy(state, false); });
  add("memcpy+write", [](benchmark::State& state) { Copy(state, true); });
}

}  // namespace
}  // namespace flowback::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  flowback::bench::g_folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string();
  flowback::bench::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
