// SPDX-License-Identifier: MIT
// Recording with a kernel that the test plays: traces of Intel PT with a known truth, full buffers,
// and what is opened.
#include "tests/record/events/event_simulated.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <ranges>
#include <thread>

#include "flowback/decode/decoder.h"
#include "tests/support/generator/stream_generator.h"

namespace flowback::record_test {
namespace {

constexpr uint32_t kPtType = 8;  // of the tree skylake_server

// ---- traces ----

flowback::testing::GeneratedStream MakeStream(uint64_t seed) {
  return flowback::testing::GenerateStream({.seed = seed,
                                            .instructions = 1'000'000,
                                            .shape = flowback::testing::CodeShape::kTipDense,
                                            .return_compression = false});
}

FlowDigest DigestOf(const flowback::testing::GeneratedStream& stream, const Stream& recorded) {
  const AddressSpaceHistory code = flowback::testing::CodeOf(stream);
  DecodeInput input;
  input.bytes = recorded.bytes;
  input.code = &code;
  input.config = stream.config;
  input.gaps = recorded.gaps;
  const auto summary = (*MakeDecoder("native"))->Summarize(input);
  EXPECT_TRUE(summary);
  return summary ? summary->digest : FlowDigest();
}

// Feeds the stream into the trace, so many bytes at a time. What finds no room is lost up to the
// next sync point: there hardware begins again.
class TraceSource {
 public:
  TraceSource(SimulatedKernel& kernel, const flowback::testing::GeneratedStream& stream,
              size_t piece)
      : kernel_(kernel), stream_(stream), piece_(piece) {}

  // False: all was written.
  bool Go() {
    const Bytes all(stream_.bytes);
    const Bytes rest = all.subspan(at_);
    const Bytes next = rest.first(std::min(piece_, rest.size()));
    const size_t taken = kernel_.WriteAux(*kernel_.FindEvent(kPtType), next);
    kept_.insert(kept_.end(), next.begin(), next.begin() + static_cast<ptrdiff_t>(taken));
    at_ += taken;
    if (taken < next.size()) {
      ++cuts_;
      at_ = NextSyncPoint(at_);
    }
    return at_ < all.size();
  }
  const std::vector<uint8_t>& kept() const { return kept_; }
  size_t cuts() const { return cuts_; }

 private:
  size_t NextSyncPoint(size_t at) const {
    for (const flowback::testing::GeneratedPsb& psb : stream_.truth.psbs)
      if (psb.offset > at) return psb.offset;
    return stream_.bytes.size();
  }

  SimulatedKernel& kernel_;
  const flowback::testing::GeneratedStream& stream_;
  const size_t piece_;
  size_t at_ = 0;
  size_t cuts_ = 0;
  std::vector<uint8_t> kept_;
};

// Pieces of odd sizes go over the area's end many times.
TEST_F(EventSimulated, AFullTraceDecodesToItsSource) {
  for (const uint64_t seed : {1, 2, 3}) {
    const flowback::testing::GeneratedStream stream = MakeStream(seed);
    options_.events.trace_buffer_bytes = 16 << 10;
    TraceSource source(kernel_, stream, 5001);
    kernel_.meanwhile = [&] { return source.Go(); };
    const RecordSummary summary = Recorded();
    EXPECT_EQ(summary.bytes, stream.bytes.size());
    EXPECT_EQ(summary.losses, 0u);
    EXPECT_GT(stream.bytes.size(), 3u * (16 << 10)) << "it went round";
    const Recording recording = Open();
    ASSERT_EQ(recording.streams.size(), 1u);
    const Bytes bytes = recording.streams[0].bytes;
    EXPECT_TRUE(std::ranges::equal(bytes, stream.bytes));
    EXPECT_EQ(DigestOf(stream, recording.streams[0]), stream.truth.digest);
  }
}

// Pipe mode: what a file's header has comes as records, and nothing is written twice.
TEST_F(EventSimulated, ATraceGoesThroughAPipe) {
  const flowback::testing::GeneratedStream stream = MakeStream(5);
  mkfifo(File("fifo").c_str(), 0600);
  for (const char* output : {"fifo", "pipe"}) {
    int ends[2] = {-1, -1};
    if (output == std::string("pipe")) {
      ASSERT_EQ(::pipe(ends), 0);
    } else {
      ends[0] = open(File("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
      ends[1] = open(File("fifo").c_str(), O_WRONLY | O_CLOEXEC);
      fcntl(ends[0], F_SETFL, 0);
    }
    options_.files.pipe = ends[1];  // which Record closes
    // A reader that takes its time: the recorder waits for it.
    auto read_all = std::async(std::launch::async, [&] {
      std::ofstream copy(File("copy"), std::ios::binary | std::ios::trunc);
      char bytes[3000];
      for (ssize_t got; (got = read(ends[0], bytes, sizeof bytes)) > 0;) copy.write(bytes, got);
      close(ends[0]);
    });
    TraceSource source(kernel_, stream, 5001);
    kernel_.meanwhile = [&] { return source.Go(); };
    const RecordSummary summary = Recorded();
    read_all.get();
    EXPECT_EQ(summary.losses, 0u);
    const auto recording = OpenFile(File("copy"));
    ASSERT_TRUE(recording) << output;
    ASSERT_EQ(recording->streams.size(), 1u) << output;
    EXPECT_TRUE(std::ranges::equal(recording->streams[0].bytes, stream.bytes)) << output;
    EXPECT_EQ(DigestOf(stream, recording->streams[0]), stream.truth.digest) << output;
  }
}

// A reader that is too slow loses trace: so much, at these places, and no more.
TEST_F(EventSimulated, WhatFoundNoRoomIsReported) {
  const flowback::testing::GeneratedStream stream = MakeStream(4);
  options_.events.trace_buffer_bytes = 8 << 10;
  TraceSource source(kernel_, stream, 11'000);
  kernel_.meanwhile = [&] { return source.Go(); };
  const RecordSummary summary = Recorded();
  ASSERT_GT(source.cuts(), 2u);
  EXPECT_EQ(summary.events->trace_gaps, source.cuts());
  EXPECT_EQ(summary.bytes, source.kept().size());
  const Recording recording = Open();
  ASSERT_EQ(recording.streams.size(), 1u);
  const Stream& recorded = recording.streams[0];
  EXPECT_TRUE(std::ranges::equal(recorded.bytes, source.kept()));
  const uint64_t at_end = source.kept().size() == recorded.gaps.size() ? 1 : 0;
  EXPECT_EQ(recorded.gaps.size() + at_end, source.cuts());
  const FlowDigest told = DigestOf(stream, recorded);
  EXPECT_GT(told.count, 0u);
  EXPECT_LT(told.count, stream.truth.digest.count);
}

// The latest bytes of a trace that went round; all of a shorter one.
TEST_F(EventSimulated, ASnapshotIsTheLatestTrace) {
  const flowback::testing::GeneratedStream stream = MakeStream(6);
  const uint64_t all = stream.bytes.size();
  options_.events.trace_buffer_bytes = 16 << 10;
  for (const uint64_t wanted : {uint64_t{8} << 10, std::bit_ceil(2 * all)}) {
    options_.streams.snapshot_bytes = wanted;
    TraceSource source(kernel_, stream, 5001);
    kernel_.meanwhile = [&] { return source.Go(); };
    const RecordSummary summary = Recorded();
    const uint64_t kept = std::min(all, wanted);
    EXPECT_EQ(summary.bytes, kept);
    const Recording recording = Open();
    ASSERT_EQ(recording.streams.size(), 1u);
    // Behind them padding, up to a multiple of 8.
    const Bytes bytes = recording.streams[0].bytes;
    ASSERT_LT(bytes.size() - kept, 8u);
    EXPECT_TRUE(std::ranges::equal(bytes.first(kept), Bytes(stream.bytes).last(kept)));
    // Counted from the first sync point on.
    uint64_t before = 0;
    for (const auto& psb : std::views::reverse(stream.truth.psbs))
      if (psb.offset >= all - kept) before = psb.instructions;
    EXPECT_EQ(DigestOf(stream, recording.streams[0]).count, stream.truth.digest.count - before);
  }
}

// A request while it runs is a snapshot of its own.
TEST_F(EventSimulated, SnapshotsOnRequest) {
  const flowback::testing::GeneratedStream stream = MakeStream(7);
  options_.streams.snapshot_bytes = 8 << 10;
  TraceSource source(kernel_, stream, 5001);
  size_t rounds = 0;
  kernel_.meanwhile = [&] {
    if (++rounds == 3) recorder_->RequestSnapshot();
    return source.Go();
  };
  EXPECT_EQ(Recorded().bytes, 2u * (8 << 10));
  Open();
}

// Hardware that another event had stopped meanwhile (a virtual machine's, say).
TEST_F(EventSimulated, CollisionsAreGaps) {
  const flowback::testing::GeneratedStream stream = MakeStream(5);
  TraceSource source(kernel_, stream, stream.bytes.size());
  kernel_.meanwhile = [&] {
    const bool more = source.Go();
    kernel_.NoteAux(*kernel_.FindEvent(kPtType), PERF_AUX_FLAG_COLLISION);
    return more;
  };
  EXPECT_EQ(Recorded().events->trace_gaps, 1u);
}

TEST_F(EventSimulated, LostRecordsAreCounted) {
  options_.events.record_buffer_bytes = 4096;
  int rounds = 0;
  kernel_.meanwhile = [&] {
    SimulatedKernel::Event& dummy = *kernel_.FindEvent(PERF_TYPE_SOFTWARE);
    std::vector<uint8_t> comm(24);
    std::memcpy(comm.data(), &kProgram, 4);
    std::memcpy(comm.data() + 4, &kProgram, 4);
    std::memcpy(comm.data() + 8, "busy", 5);
    for (int i = 0; i < 200; ++i) kernel_.Write(dummy, PERF_RECORD_COMM, 0, comm);
    return ++rounds < 5;
  };
  const RecordSummary summary = Recorded();
  const uint64_t lost = kernel_.events().empty() ? 0 : 1;
  EXPECT_EQ(lost, 0u) << "all events are closed";
  const Recording recording = Open();
  uint64_t told = 0;
  uint64_t comms = 0;
  for (const SidebandRecord& record : recording.sideband) {
    if (const auto* loss = std::get_if<LostRecord>(&record)) told += loss->count;
    const auto* comm = std::get_if<CommRecord>(&record);
    comms += comm != nullptr && comm->comm == "busy";
  }
  EXPECT_GT(told, 0u);
  EXPECT_EQ(summary.events->lost_records, told);
  // The last lost ones had no later record to report them.
  EXPECT_LE(comms + told, 1000u);
  EXPECT_GE(comms + told, 800u);
}

// ---- what is opened ----

TEST_F(EventSimulated, EachCpuHasABuffer) {
  options_.events.per_thread = false;
  size_t events = 0;
  kernel_.meanwhile = [&] {
    events = kernel_.events().size();
    return false;
  };
  Recorded();
  EXPECT_EQ(events, 8u) << "trace and dummy on each of four CPUs";
  EXPECT_TRUE(kernel_.events().empty());
}

TEST_F(EventSimulated, BuffersShrinkToWhatMayBeLocked) {
  kernel_.lockable_bytes = 300 << 10;
  kernel_.meanwhile = [] { return false; };
  const RecordSummary summary = Recorded();
  ASSERT_EQ(summary.notes.size(), 1u);
  EXPECT_TRUE(summary.notes[0].contains("instead of 4608 KiB")) << summary.notes[0];
}

TEST_F(EventSimulated, AnOlderKernelIsAskedForLess) {
  kernel_.FailOpen(EINVAL);
  kernel_.FailOpen(EINVAL);
  kernel_.meanwhile = [] { return false; };
  const RecordSummary summary = Recorded();
  ASSERT_EQ(summary.notes.size(), 1u);
  EXPECT_TRUE(summary.notes[0].contains("build-ids")) << summary.notes[0];
}

TEST_F(EventSimulated, WithoutRightsOnlyUserCodeIsRecorded) {
  options_.engine = "events";
  options_.events.words = {"cpu-clock"};
  bool kernel_left_out = false;
  kernel_.meanwhile = [&] {
    kernel_left_out = kernel_.FindEvent(PERF_TYPE_SOFTWARE)->attr.exclude_kernel;
    return false;
  };
  const RecordSummary summary = Recorded();
  EXPECT_TRUE(kernel_left_out);
  ASSERT_EQ(summary.notes.size(), 1u);
  EXPECT_TRUE(summary.notes[0].contains("only user code")) << summary.notes[0];
}

TEST_F(EventSimulated, BuffersWithoutATraceHaveNoRoomForOne) {
  options_.engine = "events";
  options_.events.words = {"cpu-clock:u"};
  kernel_.lockable_bytes = 300 << 10;
  kernel_.meanwhile = [] { return false; };
  const RecordSummary summary = Recorded();
  ASSERT_EQ(summary.notes.size(), 1u);
  EXPECT_TRUE(summary.notes[0].contains("256 instead of 512 KiB")) << summary.notes[0];
}

TEST_F(EventSimulated, WhatIsNamedTwiceIsRecordedOnce) {
  options_.events.per_thread = false;
  options_.target.pids = {kProgram, kProgram};
  options_.target.tids = {kProgram};
  options_.events.cpus = "1,0-1";
  size_t events = 0;
  kernel_.meanwhile = [&] {
    events = kernel_.events().size();
    return false;
  };
  Recorded();
  EXPECT_EQ(events, 4u) << "trace and dummy on each of two CPUs";
}

// As precise as can be is not more precise than the hardware.
TEST_F(EventSimulated, PrecisionIsWhatTheHardwareHas) {
  for (const char* most : {"0", "1", "2"}) {
    kernel_.tree().Remove("/sys/bus/event_source/devices/cpu/caps/max_precise");
    kernel_.tree().Add("/sys/bus/event_source/devices/cpu/caps/max_precise", most);
    options_.engine = "events";
    options_.events.words = {"cycles:uP"};
    std::string precision;
    kernel_.meanwhile = [&] {
      precision = std::to_string(kernel_.events().begin()->second.attr.precise_ip);
      return false;
    };
    Recorded();
    EXPECT_EQ(precision, most);
  }
}

TEST_F(EventSimulated, SamplesAreNoMoreThanTheKernelAllows) {
  kernel_.tree().Remove("/proc/sys/kernel/perf_event_max_sample_rate");
  kernel_.tree().Add("/proc/sys/kernel/perf_event_max_sample_rate", "1000");
  options_.engine = "events";
  options_.events.words = {"cpu-clock:u"};
  uint64_t frequency = 0;
  kernel_.meanwhile = [&] {
    frequency = kernel_.events().begin()->second.attr.sample_freq;
    return false;
  };
  const RecordSummary summary = Recorded();
  EXPECT_EQ(frequency, 1000u);
  ASSERT_EQ(summary.notes.size(), 1u);
  EXPECT_TRUE(summary.notes[0].contains("perf_event_max_sample_rate")) << summary.notes[0];
}

TEST_F(EventSimulated, APeriodIsOfEventsThatNameNoRate) {
  options_.engine = "events";
  options_.events.words = {"page-faults:u", "cpu-clock/freq=99/u", "task-clock/period=5/u"};
  options_.events.period = 1000;
  using Rates = std::vector<std::pair<bool, uint64_t>>;
  Rates rates;
  kernel_.meanwhile = [&] {
    rates.clear();
    for (const auto& [descriptor, event] : kernel_.events())
      rates.emplace_back(event.attr.freq != 0, event.attr.sample_period);
    return false;
  };
  Recorded();
  ASSERT_GE(rates.size(), 3U);
  EXPECT_EQ(Rates(rates.begin(), rates.begin() + 3),
            (Rates{{false, 1000}, {true, 99}, {false, 5}}));
}

// For CPUs the running processes are recorded, as with -a.
TEST_F(EventSimulated, WhatRunsOnNamedCpusIsTold) {
  kernel_.tree().Remove("/proc/sys/kernel/perf_event_paranoid");
  kernel_.tree().Add("/proc/sys/kernel/perf_event_paranoid", "-1");
  options_.target.pids = {};
  options_.events.per_thread = false;
  options_.events.cpus = "0";
  kernel_.meanwhile = [] { return false; };
  Recorded();
  const Recording recording = Open();
  EXPECT_TRUE(std::ranges::any_of(recording.sideband, [](const SidebandRecord& record) {
    const auto* comm = std::get_if<CommRecord>(&record);
    return comm != nullptr && comm->pid == kProgram;
  }));
}

// ---- what ends it ----

// The buffer is the first one's on that CPU; the other's records go into it as well.
TEST_F(EventSimulated, TheLastProcessToEndEndsIt) {
  kernel_.AddProcess(kProgram + 1);
  options_.target.pids = {kProgram, kProgram + 1};
  options_.events.per_thread = false;
  options_.events.cpus = "0";
  int rounds = 0;
  kernel_.meanwhile = [&] {
    if (++rounds == 2) kernel_.EndProcess(kProgram);
    if (rounds == 5) kernel_.EndProcess(kProgram + 1);
    return rounds < 10;
  };
  Recorded();
  EXPECT_EQ(rounds, 5);
}

// The set-up before is no part of it.
TEST_F(EventSimulated, TheDurationBeginsWithTheRecording) {
  using std::chrono::milliseconds;
  using Clock = std::chrono::steady_clock;
  struct Engine {
    std::atomic<Clock::time_point> stopped{Clock::time_point::max()};
    void RequestStop() { stopped = Clock::now(); }
    void RequestSnapshot() {}
  } engine;
  options_.limits.duration = milliseconds(200);
  const record::RecorderSignals signals;
  record::RecordSession session(options_, signals);
  std::thread supervisor([&] { session.Supervise(); });
  std::this_thread::sleep_for(milliseconds(300));
  const auto begun = Clock::now();
  session.Connect(-1, engine);
  std::this_thread::sleep_for(milliseconds(600));
  session.Disconnect();
  session.Done();
  supervisor.join();
  EXPECT_EQ(session.stop_reason(), StopReason::kDuration);
  EXPECT_GE(engine.stopped.load() - begun, milliseconds(200));
}

TEST_F(EventSimulated, BranchStacksOfEachMaker) {
  const struct {
    const char* tree;
    const char* engine;
    uint64_t config;
  } machines[] = {{"skylake_server", "lbr", 0},
                  {"zen3", "lbr", 0xc4},
                  {"zen4", "lbr", 0},
                  {"arm_brbe", "brbe", 0}};
  for (const auto& machine : machines) {
    SimulatedKernel kernel(test::Tree(machine.tree));
    kernel.AddProcess(kProgram);
    options_.engine = machine.engine;
    perf_event_attr attr{};
    kernel.meanwhile = [&] {
      attr = kernel.events().begin()->second.attr;
      return false;
    };
    const record::RecorderSignals signals;
    record::RecordSession session(options_, signals);
    record::EventRecorder recorder(options_, kernel);
    const auto started = recorder.Start(session);
    ASSERT_TRUE(started) << machine.tree << ": " << started.error().message();
    ASSERT_TRUE(recorder.Run());
    EXPECT_EQ(attr.config, machine.config) << machine.tree;
    EXPECT_EQ(attr.branch_sample_type, PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER);
    EXPECT_TRUE(attr.sample_type & PERF_SAMPLE_BRANCH_STACK);
  }
}

// The kernel changes its own code: its trace is read with its records of that.
TEST_F(EventSimulated, ChangesOfTheKernelsCodeAreAskedFor) {
  kernel_.GiveAllRights();
  for (const char* level : {"u", "k"}) {
    bool asked = false;
    options_.events.words = {std::string("intel_pt//") + level};
    kernel_.meanwhile = [&] {
      asked = kernel_.FindEvent(PERF_TYPE_SOFTWARE)->attr.text_poke;
      return false;
    };
    Recorded();
    EXPECT_EQ(asked, level == std::string("k"));
  }
}

}  // namespace
}  // namespace flowback::record_test
