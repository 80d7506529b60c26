// SPDX-License-Identifier: MIT
// How fast the single parts of decoding are: packets alone, the graph walked bit by bit, the memo,
// the whole flow, its text. See README.md beside this file.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cli/listing/flow_printer.h"
#include "cli/listing/instruction_text.h"
#include "cli/listing/line_text.h"
#include "decode/pt/packets/packet.h"
#include "tests/bench/graph_walk.h"
#include "tests/bench/libipt_peer.h"
#include "tests/bench/workload.h"
#include "tests/support/flow_consumers.h"
#include "tests/support/generator/stream_generator.h"

namespace flowback::bench {
namespace {

constexpr int kRepetitions = 5;

// One workload, and what stays warm between the passes.
struct Subject {
  Workload workload;
  std::unique_ptr<Decoder> native;
  std::unique_ptr<LibiptPeer> libipt;  // null where the code is in no files
  std::unique_ptr<GraphWalk> graph;
  uint64_t instructions = 0;
};

void Report(benchmark::State& state, const Subject& subject, uint64_t instructions) {
  const auto passes = static_cast<double>(state.iterations());
  state.counters["instructions"] = static_cast<double>(instructions);
  if (instructions != 0)
    state.SetItemsProcessed(static_cast<int64_t>(passes * static_cast<double>(instructions)));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(subject.workload.bytes.size()));
}

void RunLexer(benchmark::State& state, Subject* subject) {
  uint64_t packets = 0;
  for (auto _ : state) {
    pt::PebsState pebs;
    pt::Packet packet;
    Bytes rest = subject->workload.bytes;
    packets = 0;
    while (const pt::ReadResult size = pt::ReadPacket(rest, pebs, packet)) {
      benchmark::DoNotOptimize(packet);
      rest = rest.subspan(*size);
      ++packets;
    }
  }
  state.counters["packets"] = static_cast<double>(packets);
  Report(state, *subject, 0);
}

void RunGraph(benchmark::State& state, Subject* subject) {
  const DecodeInput input = subject->workload.Input();
  uint64_t count = 0;
  for (auto _ : state) count = subject->graph->Count(input);
  Report(state, *subject, count);
}

void RunMemo(benchmark::State& state, Subject* subject) {
  const DecodeInput input = subject->workload.Input();
  uint64_t count = 0;
  for (auto _ : state) count = subject->native->Summarize(input)->digest.count;
  Report(state, *subject, count);
}

void RunLibipt(benchmark::State& state, Subject* subject) {
  uint64_t count = 0;
  for (auto _ : state) count = subject->libipt->Decode();
  Report(state, *subject, count);
}

template <class Consumer>
void RunFlow(benchmark::State& state, Subject& subject, bool times) {
  DecodeInput input = subject.workload.Input();
  input.times = times;
  uint64_t count = 0;
  for (auto _ : state) {
    Consumer consumer;
    benchmark::DoNotOptimize(subject.native->Decode(input, consumer)->decoded);
    count = consumer.count();
  }
  Report(state, subject, count);
}

void RunPlainFlow(benchmark::State& state, Subject* subject) {
  RunFlow<FlowCounter>(state, *subject, false);
}
void RunTimedFlow(benchmark::State& state, Subject* subject) {
  RunFlow<FlowCounter>(state, *subject, true);
}
void RunDigestedFlow(benchmark::State& state, Subject* subject) {
  RunFlow<FlowDigester>(state, *subject, true);
}

// The lines that `--as instructions -F ip` prints, in pieces of the output's size.
class Lines final : public ExecutionConsumer {
 public:
  // `file`: where the text goes; -1: nowhere.
  explicit Lines(int file) : file_(file), tools_(settings_) {
    settings_.layout.fields.Add(cli::Field::kIp);
    settings_.layout.usual = false;
    clock_ = std::make_unique<RecordingClock>(recording_);
    threads_ = std::make_unique<Threads>(recording_);
    settings_.trace.clock = clock_.get();
    settings_.trace.threads = threads_.get();
    settings_.trace.recording = &recording_;
    printer_ = cli::MakeInstructionPrinter(settings_);
    printer_->WriteTo(text_);
    printer_->Use(tools_);
    owner_.stream = &stream_;
    printer_->Begin(owner_);
    printer_->BeginPiece(stream_);
  }
  void OnBlock(const BlockRun& run) override {
    printer_->OnBlock(run);
    count_ += run.lengths.size();
    if (text_.text.size() >= kPiece) Flush();
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}
  void Flush() {
    if (file_ >= 0 && write(file_, text_.text.data(), text_.text.size()) < 0) failed_ = true;
    text_.Clear();
  }
  uint64_t TakeCount() { return std::exchange(count_, 0); }
  bool failed() const { return failed_; }

 private:
  static constexpr size_t kPiece = size_t{256} << 10;

  int file_;
  Recording recording_;
  Stream stream_;
  StreamOwner owner_;
  cli::PrintSettings settings_;
  std::unique_ptr<RecordingClock> clock_;
  std::unique_ptr<Threads> threads_;
  cli::PrintTools tools_;
  cli::ListingText text_;
  std::unique_ptr<cli::FlowPrinter> printer_;
  uint64_t count_ = 0;
  bool failed_ = false;
};

void RunLines(benchmark::State& state, Subject& subject, int file) {
  Lines lines(file);
  const DecodeInput input = subject.workload.Input();
  benchmark::DoNotOptimize(subject.native->Decode(input, lines)->decoded);  // renders each block
  uint64_t count = lines.TakeCount();
  for (auto _ : state) {
    benchmark::DoNotOptimize(subject.native->Decode(input, lines)->decoded);
    lines.Flush();
    count = lines.TakeCount();
  }
  if (lines.failed()) state.SkipWithError("writing failed");
  Report(state, subject, count);
}

void RunTextToMemory(benchmark::State& state, Subject* subject) { RunLines(state, *subject, -1); }
void RunTextToNull(benchmark::State& state, Subject* subject) {
  const int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
  RunLines(state, *subject, file);
  close(file);
}

struct Part {
  const char* name;
  void (*run)(benchmark::State&, Subject*);
};
constexpr Part kParts[] = {{"lexer", RunLexer},
                           {"graph", RunGraph},
                           {"memo", RunMemo},
                           {"flow", RunPlainFlow},
                           {"flow-times", RunTimedFlow},
                           {"flow-times-digest", RunDigestedFlow},
                           {"text-memory", RunTextToMemory},
                           {"text-null", RunTextToNull},
                           {"libipt", RunLibipt}};

// A stream that is the same everywhere.
Workload FixedStream() {
  testing::GeneratorOptions options;
  options.seed = 4;
  options.instructions = 2'000'000;
  options.functions = 40;
  options.tsc = options.mtc = true;
  options.psb_period = 16'384;
  auto stream = std::make_shared<testing::GeneratedStream>(testing::GenerateStream(options));
  Workload workload;
  workload.name = "fixed";
  workload.bytes = stream->bytes;
  workload.code = testing::CodeOf(*stream);
  workload.config = stream->config;
  workload.storage = stream;
  return workload;
}

Result<Subject> Prepare(Workload workload, bool has_files) {
  Subject subject;
  subject.workload = std::move(workload);
  Result<std::unique_ptr<Decoder>> native = MakeDecoder("native");
  if (!native) return Fail(native.error());
  subject.native = std::move(*native);
  const Result<FlowSummary> summary = subject.native->Summarize(subject.workload.Input());
  if (!summary) return Fail(summary.error());
  subject.instructions = summary->digest.count;
  subject.graph = std::make_unique<GraphWalk>();
  if (has_files) {
    Result<LibiptPeer> libipt = LibiptPeer::Create(subject.workload);
    if (!libipt) return Fail(libipt.error());
    subject.libipt = std::make_unique<LibiptPeer>(std::move(*libipt));
  }
  return subject;
}

int Complain(const std::string& what) {
  std::fprintf(stderr, "parts_bench: %s\n", what.c_str());
  return 2;
}

void Register(Subject* subject) {
  for (const Part& part : kParts) {
    if (part.run == RunLibipt && subject->libipt == nullptr) continue;
    const std::string name = subject->workload.name + "/" + part.name;
    benchmark::RegisterBenchmark(name.c_str(), part.run, subject)
        ->Repetitions(kRepetitions)
        ->DisplayAggregatesOnly()
        ->Unit(benchmark::kMillisecond);
  }
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool usual = arguments.empty();
  if (usual) arguments = {"big-gzip", "big-sqlite3"};
  Result<std::vector<Workload>> workloads = TakeWorkloads(arguments);
  if (!workloads) return Complain(workloads.error().message());
  if (!arguments.empty()) return Complain("unknown argument " + arguments[0]);
  std::vector<Result<Subject>> subjects;
  for (Workload& workload : *workloads) subjects.push_back(Prepare(std::move(workload), true));
  if (usual) subjects.push_back(Prepare(FixedStream(), false));
  for (Result<Subject>& subject : subjects) {
    if (!subject) return Complain(subject.error().message());
    Register(&*subject);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace flowback::bench

int main(int argc, char** argv) { return flowback::bench::Main(argc, argv); }
