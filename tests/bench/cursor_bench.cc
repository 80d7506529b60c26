// SPDX-License-Identifier: MIT
// What a cursor costs: the first pass, what it keeps, and how long a jump to any instruction takes.
//   cursor_bench RECORDING [--symfs FOLDER] [--section SPEC]... [--seeks N]
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
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
};

Result<Words> Understand(int argc, char** argv) {
  Words words;
  if (argc < 2) return Fail(ErrorCode::kUsage, "usage: cursor_bench RECORDING [--seeks N]");
  words.open.input = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--seeks") words.seeks = std::strtoul(argv[i + 1], nullptr, 10);
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

Status Run(const Words& words) {
  const auto recording = OpenRecording(words.open);
  if (!recording) return Fail(recording.error());
  const auto code = RecordingCode::Load(*recording, words.search);
  if (!code) return Fail(code.error());
  const auto decoder = MakeDecoder("native");
  if (!decoder) return Fail(decoder.error());
  const StreamInputs inputs(*recording, *code, Resync::kEarliest);
  uint64_t bytes = 0;
  for (const Stream& stream : recording->streams) bytes += stream.bytes.size();
  const long before = PeakMegabytes();
  auto start = Clock::now();
  for (const Stream& stream : recording->streams)
    if (const auto sum = (*decoder)->Summarize(inputs.For(stream)); !sum) return Fail(sum.error());
  const double summary = Milliseconds(start);
  const double heap = HeapMegabytes();
  start = Clock::now();
  Result<FlowIndex> index = FlowIndex::Build(*recording, inputs, **decoder, {});
  if (!index) return Fail(index.error());
  std::printf("%" PRIu64
              " bytes, %zu segments: first pass %.0f ms, a summary %.0f ms; the index has %.1f MB; "
              "peak %ld MB, of these %ld before\n",
              bytes, index->segments(), Milliseconds(start), summary, HeapMegabytes() - heap,
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
