// SPDX-License-Identifier: MIT
// What a cursor costs: the first pass, what it keeps, opening it again from a file, and how long a
// jump to any instruction takes.
//   cursor_bench RECORDING [--symfs FOLDER] [--section SPEC]... [--seeks N] [--index FOLDER]
// With --index the index is kept there, or used where it is.
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/replay/thread_cursor.h"

namespace {

using namespace flowback;
using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

// Returns CPU time, which other programs on a busy machine do not change.
double CpuMilliseconds() { return static_cast<double>(std::clock()) * 1000 / CLOCKS_PER_SEC; }

long PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

double HeapMegabytes() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<double>(heap.uordblks + heap.hblkhd) / 1e6;
}

struct Words {
  OpenOptions open;
  ImageSearch search;
  size_t seeks = 1000;
  IndexCache cache;
};

Result<Words> Understand(int argc, char** argv) {
  Words words;
  if (argc < 2) return Fail(ErrorCode::kUsage, "usage: cursor_bench RECORDING [--seeks N]");
  words.open.input = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--seeks") words.seeks = std::strtoul(argv[i + 1], nullptr, 10);
    if (option == "--index") words.cache.folder = argv[i + 1];
    if (option == "--symfs") words.search.symfs = argv[i + 1];
    if (option != "--section") continue;
    const auto section = ParseSectionSpec(argv[i + 1]);
    if (!section) return Fail(section.error());
    words.open.sections.push_back(*section);
  }
  return words;
}

void Seek(FlowIndex& index, const IndexedThread& thread, size_t seeks) {
  ThreadCursor cursor(index, thread);
  std::mt19937_64 random(1);
  std::vector<double> times;
  for (size_t i = 0; i < seeks; ++i) {
    const uint64_t to = random() % thread.instructions;
    const auto start = Clock::now();
    cursor.ToInstruction(to);
    times.push_back(Milliseconds(start));
  }
  std::ranges::sort(times);
  const auto start = Clock::now();
  cursor.ToEnd();
  constexpr int kSteps = 1'000'000;
  int steps = 0;
  while (steps < kSteps && cursor.Previous()) ++steps;
  const double back = Milliseconds(start);
  std::printf("thread %d: %" PRIu64
              " instructions; %zu seeks: median %.2f ms, worst %.2f ms; "
              "%d steps backward: %.0f ms\n",
              thread.tid, thread.instructions, seeks, times[times.size() / 2], times.back(), steps,
              back);
}

Status PrintSummary(const Recording& recording, const StreamInputs& inputs, Decoder& decoder) {
  const auto start = Clock::now();
  const double cpu = CpuMilliseconds();
  for (const Stream& stream : recording.streams)
    if (const auto sum = decoder.Summarize(inputs.For(stream)); !sum) return Fail(sum.error());
  std::printf("a summary: %.0f ms, %.0f ms of CPU\n", Milliseconds(start), CpuMilliseconds() - cpu);
  return {};
}

Status Run(const Words& words) {
  const auto begin = Clock::now();
  const auto recording = OpenRecording(words.open);
  if (!recording) return Fail(recording.error());
  const auto code = RecordingCode::Load(*recording, words.search);
  if (!code) return Fail(code.error());
  const auto decoder = MakeDecoder("native");
  if (!decoder) return Fail(decoder.error());
  const StreamInputs inputs(*recording, *code, Resync::kEarliest);
  uint64_t bytes = 0;
  for (const Stream& stream : recording->streams) bytes += stream.bytes.size();
  std::printf("%" PRIu64 " bytes, opened in %.0f ms\n", bytes, Milliseconds(begin));
  if (words.cache.folder.empty())
    if (const Status status = PrintSummary(*recording, inputs, **decoder); !status) return status;
  const double heap = HeapMegabytes();
  const long before = PeakMegabytes();
  const auto start = Clock::now();
  const double cpu = CpuMilliseconds();
  Result<FlowIndex> index = FlowIndex::Open(*recording, *code, inputs, **decoder, {}, words.cache);
  if (!index) return Fail(index.error());
  std::printf(
      "index: %s in %.0f ms, %.0f ms of CPU; %zu segments, %zu blocks in the profile; %.3f MB in "
      "memory, "
      "%.3f MB (%.2f %%) in a file; peak %ld MB, of these %ld before\n",
      index->from_cache() ? "read" : "made", Milliseconds(start), CpuMilliseconds() - cpu,
      index->segments(), index->profile().size(), HeapMegabytes() - heap,
      static_cast<double>(index->file_bytes()) / 1e6,
      100.0 * static_cast<double>(index->file_bytes()) / static_cast<double>(bytes),
      PeakMegabytes(), before);
  for (const IndexedThread& thread : index->threads())
    if (thread.instructions != 0) Seek(*index, thread, words.seeks);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto words = Understand(argc, argv);
  const flowback::Status done = words ? Run(*words) : flowback::Fail(words.error());
  if (done) return 0;
  std::fprintf(stderr, "cursor_bench: %s\n", done.error().message().c_str());
  return 1;
}
