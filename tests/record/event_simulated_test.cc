// SPDX-License-Identifier: MIT
// Recording with a kernel that the test plays: traces of Intel PT with a known truth, full buffers,
// and all that can be refused.
#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "capture/record/event_recorder.h"
#include "capture/record/record_session.h"
#include "flowback/decode/decoder.h"
#include "tests/record/recorded.h"
#include "tests/support/kernel/simulated_kernel.h"
#include "tests/support/kernel/trees.h"
#include "tests/support/stream_generator.h"

namespace flowback::record_test {
namespace {

using test::SimulatedKernel;

constexpr pid_t kProgram = 4242;
constexpr uint32_t kPtType = 8;  // of the tree skylake_server

class EventSimulated : public ::testing::Test {
 protected:
  EventSimulated() : kernel_(test::Tree("skylake_server")) {
    kernel_.AddProcess(kProgram);
    options_.engine = "pt";
    options_.files.output = File("perf.data");
    options_.target.pids = {kProgram};
    options_.events.per_thread = true;
  }
  std::string File(const std::string& name) const { return (folder_.path() / name).string(); }
  Result<RecordSummary> Run() {
    const record::RecorderSignals signals;
    record::RecordSession session(options_, signals);
    record::EventRecorder recorder(options_, kernel_);
    const auto started = recorder.Start(session);
    if (!started) return Fail(started.error());
    session.Connect(*started, recorder);
    auto summary = recorder.Run();
    session.Disconnect();
    return summary;
  }
  RecordSummary Recorded() {
    auto summary = Run();
    EXPECT_TRUE(summary) << summary.error().message();
    EXPECT_TRUE(summary && !summary->failure);
    return summary ? *std::move(summary) : RecordSummary();
  }
  Recording Open() const {
    auto recording = OpenFile(options_.files.output);
    EXPECT_TRUE(recording) << recording.error().message();
    return recording ? *std::move(recording) : Recording();
  }

  support::TemporaryFolder folder_;
  SimulatedKernel kernel_;
  RecordOptions options_;
};

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
  // The last ones that were lost had no record behind them that could tell.
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

// ---- what is refused ----

struct Refusal {
  std::string name;
  void (*arrange)(SimulatedKernel& kernel, RecordOptions& options);
  ErrorCode code;
  std::string words;
  std::string remedy;

  friend void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }
};

void Set(SimulatedKernel& kernel, const std::string& file, const std::string& text) {
  kernel.tree().Remove(file);
  kernel.tree().Add(file, text);
}

void Ask(RecordOptions& options, const std::string& words) {
  options.engine = "events";
  options.events.words = {words};
}

template <int kError>
void FailNext(SimulatedKernel& kernel, RecordOptions&) {
  // What an older kernel may not know is left out first, one after the other.
  const int times = kError == EINVAL || kError == E2BIG ? 16 : 1;
  for (int i = 0; i < times; ++i) kernel.FailOpen(kError);
}

template <int kError>
void FailNextMap(SimulatedKernel& kernel, RecordOptions&) {
  for (int i = 0; i < 64; ++i) kernel.FailMap(kError);
}

constexpr const char* kParanoidFile = "/proc/sys/kernel/perf_event_paranoid";

const Refusal kRefusals[] = {
    {"NobodyMay", [](SimulatedKernel& kernel, RecordOptions&) { Set(kernel, kParanoidFile, "3"); },
     ErrorCode::kPermission, "perf_event_paranoid is 3", "perf_event_paranoid=2"},
    {"UbuntusValue",
     [](SimulatedKernel& kernel, RecordOptions&) { Set(kernel, kParanoidFile, "4"); },
     ErrorCode::kPermission, "perf_event_paranoid is 4", "perf_event_paranoid=2"},
    {"TheKernelsPart",
     [](SimulatedKernel&, RecordOptions& options) { Ask(options, "cpu-clock:k"); },
     ErrorCode::kPermission, "the kernel's part", "u"},
    {"Lockdown",
     [](SimulatedKernel& kernel, RecordOptions&) {
       Set(kernel, "/sys/kernel/security/lockdown", "none integrity [confidentiality]");
     },
     ErrorCode::kPermission, "locked down", "lockdown=confidentiality"},
    {"Seccomp",
     [](SimulatedKernel& kernel, RecordOptions&) {
       kernel.tree().Remove("/proc/self/status");
       kernel.tree().Add("/proc/self/status", "CapEff:\t0000000000000000");
       kernel.tree().Add("/proc/self/status", "Seccomp:\t2");
     },
     ErrorCode::kPermission, "seccomp", "--cap-add=PERFMON"},
    {"NoPerfEvents",
     [](SimulatedKernel& kernel, RecordOptions&) { kernel.tree().Remove(kParanoidFile); },
     ErrorCode::kUnsupported, "built without perf events", "CONFIG_PERF_EVENTS"},
    {"Taken", [](SimulatedKernel& kernel, RecordOptions&) { kernel.trace_is_taken = true; },
     ErrorCode::kBusy, "another program uses the unit", "end the other recording"},
    {"BranchStacksOfSoftware",
     [](SimulatedKernel&, RecordOptions& options) {
       Ask(options, "cpu-clock:u");
       options.events.branch_filter = "any,u";
     },
     ErrorCode::kNoHardware, "branch stacks", "leave -b"},
    {"NoBranchStacks",
     [](SimulatedKernel& kernel, RecordOptions& options) {
       kernel.tree().Remove("/sys/bus/event_source/devices/cpu/caps/branches");
       options.engine = "lbr";
     },
     ErrorCode::kNoHardware, "no branch stacks", "--engine emulate"},
    {"TooPrecise",
     [](SimulatedKernel& kernel, RecordOptions& options) {
       Set(kernel, "/sys/bus/event_source/devices/cpu/caps/max_precise", "1");
       Ask(options, "cycles:upp");
     },
     ErrorCode::kNoHardware, "can't do what is asked", "leave -b, -j and p out"},
    {"TooManyBreakpoints",
     [](SimulatedKernel&, RecordOptions& options) {
       Ask(options, "mem:1:u,mem:2:u,mem:3:u,mem:4:u,mem:5:u");
     },
     ErrorCode::kBusy, "all counters or breakpoints", "fewer events"},
    {"TooManyFiles", [](SimulatedKernel& kernel, RecordOptions&) { kernel.most_descriptors = 1; },
     ErrorCode::kSystem, "as many open files", "ulimit -n"},
    {"DeadProcess", [](SimulatedKernel&, RecordOptions& options) { options.target.pids = {4711}; },
     ErrorCode::kSystem, "there is no process 4711", "pgrep"},
    {"OfflineCpu",
     [](SimulatedKernel&, RecordOptions& options) {
       options.events.per_thread = false;
       options.events.cpus = "9";
     },
     ErrorCode::kNoHardware, "CPU 9 is not there", "-C"},
    {"NoSuchUnit",
     [](SimulatedKernel&, RecordOptions& options) { Ask(options, "armv8_pmuv3_0/event=1/u"); },
     ErrorCode::kNoHardware, "no PMU 'armv8_pmuv3_0'", "there are:"},
    {"TooOften",
     [](SimulatedKernel&, RecordOptions& options) {
       Ask(options, "cpu-clock:u");
       options.events.frequency = 1'000'000'000;
     },
     ErrorCode::kUnsupported, "does not take this combination", "leave terms"},
    {"E2big", FailNext<E2BIG>, ErrorCode::kUnsupported, "older than", "newer terms"},
    {"Einval", FailNext<EINVAL>, ErrorCode::kUnsupported, "combination", "one by one"},
    {"Enoent", FailNext<ENOENT>, ErrorCode::kNoHardware, "no such event", "flowback doctor"},
    {"Enodev", FailNext<ENODEV>, ErrorCode::kNoHardware, "does not have", "flowback doctor"},
    {"Eopnotsupp", FailNext<EOPNOTSUPP>, ErrorCode::kNoHardware, "can't do", "leave -b"},
    {"Emfile", FailNext<EMFILE>, ErrorCode::kSystem, "as many open files", "ulimit -n"},
    {"Enfile", FailNext<ENFILE>, ErrorCode::kSystem, "the system has", "fs.file-max"},
    {"Enospc", FailNext<ENOSPC>, ErrorCode::kBusy, "taken", "fewer events"},
    {"Enomem", FailNext<ENOMEM>, ErrorCode::kSystem, "no memory", "fewer"},
    {"Ebadf", FailNext<EBADF>, ErrorCode::kSystem, "leader", "by themselves"},
    {"Eintr", FailNext<EINTR>, ErrorCode::kSystem, "signal", "again"},
    {"Eoverflow", FailNext<EOVERFLOW>, ErrorCode::kUnsupported, "larger", "less"},
    {"Unknown", FailNext<EXFULL>, ErrorCode::kSystem, "perf_event_open", "flowback doctor"},
    {"LockedMemory", FailNextMap<EPERM>, ErrorCode::kPermission, "perf_event_mlock_kb", "-m"},
    {"MapFails", FailNextMap<EINVAL>, ErrorCode::kSystem, "mmap", "-m"}};

class EventRefused : public EventSimulated, public ::testing::WithParamInterface<Refusal> {};

TEST_P(EventRefused, SaysWhyAndWhatHelps) {
  GetParam().arrange(kernel_, options_);
  kernel_.meanwhile = [] { return false; };
  const auto summary = Run();
  ASSERT_FALSE(summary);
  const Error& error = summary.error();
  EXPECT_EQ(error.code(), GetParam().code) << error.message();
  EXPECT_TRUE(error.message().contains(GetParam().words)) << error.message();
  EXPECT_TRUE(error.remedy().contains(GetParam().remedy)) << error.remedy();
  EXPECT_TRUE(kernel_.events().empty()) << "all are closed";
}

INSTANTIATE_TEST_SUITE_P(All, EventRefused, ::testing::ValuesIn(kRefusals),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace flowback::record_test
