// SPDX-License-Identifier: MIT
// Reading arbitrary bytes as a recording of any format: an error that says something, or a
// recording whose parts are in bounds and no bigger than the file. Then the way of a user goes on:
// its code is looked for, its threads are told apart, and each stream is decoded, with every byte
// accounted for and each in one thread's piece.
//
// The seeds are made here rather than kept as files: a mutation of an input that is too short to be
// a perf.data file starts anew from a well-formed one.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/recorded/branch_records.h"
#include "capture/formats/input/format.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "capture/formats/samples/perf_event_samples.h"
#include "decode/pt/packets/packet_writer.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/replay/threads.h"
#include "tests/samples/access_file.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/perf_data_converter.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace flowback {
namespace {

using namespace perf;
using support::FieldWriter;
using support::PerfDataBuilder;
using support::Trailer;

constexpr Trailer kFirst{1000, 42, 42, 1, 100};
constexpr Trailer kSecond{2000, 42, 43, 0, 102};

void AddSideband(PerfDataBuilder& file) {
  file.Comm(42, 42, "program", true, kFirst);
  file.Mmap2(42, 0x400000, 0x1000, 0, "/bin/program", kFirst);
  file.ItraceStart(42, 42, kFirst);
  file.Fork(42, 43, 42, 42, kSecond);
  file.KernelRecord(kRecordSwitch, kMiscSwitchOut, FieldWriter(), kSecond);
  file.KernelRecord(kRecordSwitchCpuWide, 0, FieldWriter().U32(1).U32(1), kSecond);
  file.KernelRecord(kRecordLost, 0, FieldWriter().U64(102).U64(9), kSecond);
  file.Exit(42, 43, kSecond);
  file.Record(kRecordTimeConv, 0, FieldWriter().U64(31).U64(894784853).U64(5));
  file.Record(kRecordFinishedRound, 0, FieldWriter());
}

void AddRareSideband(PerfDataBuilder& file) {
  file.KernelRecord(kRecordLostSamples, 0, FieldWriter().U64(9), kSecond);
  file.KernelRecord(kRecordAuxOutputHwId, 0, FieldWriter().U64(1), kSecond);
  file.KernelRecord(kRecordKsymbol, 0, FieldWriter().U64(1).U32(2).U16(1).U16(0).Text("k"), kFirst);
  file.KernelRecord(kRecordBpfEvent, 0, FieldWriter().U16(1).U16(0).U32(1).U64(7), kFirst);
  file.KernelRecord(kRecordTextPoke, 0, FieldWriter().U64(1).U16(2).U16(2).U32(7), kFirst);
  file.KernelRecord(kRecordNamespaces, 0, FieldWriter().U32(1).U32(1).U64(1).U64(1).U64(1), kFirst);
  file.KernelRecord(kRecordCgroup, 0, FieldWriter().U64(1).Text("/"), kFirst);
  file.Record(kRecordThreadMap, 0, FieldWriter().U64(1).U64(42).Text("a", 16));
  file.Record(kRecordIdIndex, 0, FieldWriter().U64(1).U64(100).U64(0).U64(1).U64(42));
  FieldWriter error;
  error.U32(1).U32(5).U32(3).U32(42).U32(43).U32(1).U64(0x401000).U64(2000).Text("lost", 64);
  file.Record(kRecordAuxtraceError, 0, error);
}

// Snapshots with a PSB, a TSC and a PSBEND in each.
PerfDataBuilder Snapshots() {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  std::vector<uint8_t> trace;
  for (int i = 0; i < 8; ++i) trace.insert(trace.end(), {2, 0x82});
  trace.insert(trace.end(), {0x19, 7, 0, 0, 0, 0, 0, 0, 2, 0x23, 0xa4, 0xa4});
  file.Aux(0, 8, kAuxOverwrite, kFirst);
  file.Auxtrace(0, 0, -1, 1, trace);
  file.Auxtrace(0, 0, -1, 1, trace);
  AddRareSideband(file);
  return file;
}

// Samples of sched:sched_switch with their format.
PerfDataBuilder SchedSwitches() {
  PerfDataBuilder file;
  const uint64_t type = kSampleIdentifier | kSampleTid | kSampleTime | kSampleCpu | kSampleRead |
                        kSampleCallchain | kSampleRaw;
  file.AddEvent({kTypeTracepoint, 314, type, true, {100}});
  FieldWriter body;
  body.U64(100).U32(42).U32(43).U64(5).U32(1).U32(0).U64(1).U64(1).U64(2).U32(64);
  file.Record(kRecordSample, 0, body.Raw(std::vector<uint8_t>(64, 1)));
  const std::string format =
      "name: sched_switch\nID: 314\nformat:\n\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\n"
      "\tfield:long prev_state;\toffset:32;\tsize:8;\n\tfield:pid_t next_pid;\toffset:56;"
      "\tsize:4;\n\nprint fmt: x";
  file.Feature(kFeatureTracingData, FieldWriter().Raw({format.begin(), format.end()}));
  file.Feature(kFeatureClockData, FieldWriter().U32(1).U32(1).U64(1).U64(1));
  return file;
}

void AddFeatures(PerfDataBuilder& file) {
  file.TextFeature(kFeatureHostname, "host");
  file.TextFeature(kFeatureVersion, "flowback 0.1.0, emulated (step)");
  file.TextFeature(kFeatureCpuid, "GenuineIntel,6,94,3");
  file.Feature(kFeatureCpuCount, FieldWriter().U32(8).U32(4));
  file.Feature(kFeatureCommandLine, FieldWriter().U32(1).U32(8).Text("perf"));
  FieldWriter build_id;
  build_id.U32(67).U16(2 | kMiscBuildIdSize).U16(44).U32(42).Raw(std::vector<uint8_t>(20, 7));
  file.Feature(kFeatureBuildId, build_id.U8(20).U8(0).U16(0).Text("lib.so"));
  FieldWriter events;
  events.U32(1).U32(64).Raw(std::vector<uint8_t>(64)).U32(1).U32(16).Text("intel_pt//u", 16).U64(1);
  file.Feature(kFeatureEventDescriptions, events);
}

// Two threads that take turns on a CPU, in code that a build-id or nothing proves: this program's
// own, where it is found.
PerfDataBuilder SharedCpu() {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  constexpr uint64_t kTick = 1000;  // TSC ticks; the usual conversion makes 416 ns of them
  const auto at = [](uint64_t time, int32_t tid) {
    return Trailer{1000000000000 + time, 42, tid, 1, 102};
  };
  file.Mmap2(42, 0x400000, 0x1000, 0, "/proc/self/exe", at(1, 42));
  file.ItraceStart(42, 42, at(2, 42));
  pt::PacketWriter trace;
  for (uint64_t turn = 0; turn < 4; ++turn) {
    const int32_t tid = turn % 2 == 0 ? 42 : 43;
    const uint64_t time = (2 * turn + 1) * kTick * 10 / 24;
    file.KernelRecord(kRecordSwitch, 0, FieldWriter(), at(time, tid));
    file.KernelRecord(kRecordSwitch, kMiscSwitchOut, FieldWriter(), at(time + 300, tid));
    trace.Psb();
    trace.Write(pt::Tsc{.tsc = (2 * turn + 1) * kTick});
    trace.Write(pt::PsbEnd{});
    trace.TipPge(0x400000 + 16 * turn);
    trace.TipPgd(std::nullopt);
  }
  file.Aux(0, trace.size(), 0, at(5000, 42));
  file.Auxtrace(0, 0, -1, 1, trace.Take());
  return file;
}

// `perf record --aux-sample`: the second sample repeats the end of the first.
PerfDataBuilder AuxSamples() {
  PerfDataBuilder file;
  const uint64_t type = PerfDataBuilder::kUsualSampleType | kSampleAux;
  file.AddEvent({8, 0x100f621, type, true, {100}});
  file.AuxtraceInfo(PerfDataBuilder::UsualPtInfo());
  AddSideband(file);
  pt::PacketWriter trace;
  for (uint64_t time : {1000, 2000, 3000}) {
    trace.Psb();
    trace.Write(pt::Tsc{.tsc = time});
    trace.Write(pt::PsbEnd{});
    trace.TipPge(0x400000);
    trace.TipPgd(std::nullopt);
  }
  const std::vector<uint8_t> bytes = trace.Take();
  const auto part = static_cast<ptrdiff_t>(bytes.size() / 24 * 8);
  for (const ptrdiff_t begin : {ptrdiff_t{0}, part}) {
    const std::vector<uint8_t> aux(bytes.begin() + begin, bytes.begin() + begin + 2 * part);
    FieldWriter body;
    body.U64(100).U32(42).U32(42).U64(2000).U32(1).U32(0).U64(aux.size()).Raw(aux);
    file.Record(kRecordSample, 0, body);
  }
  return file;
}

// `perf record -b`: entries in this program's code and elsewhere.
PerfDataBuilder BranchStacks() {
  PerfDataBuilder file;
  const uint64_t type = PerfDataBuilder::kUsualSampleType | kSampleIp | kSampleBranchStack;
  file.AddEvent({0, 0, type, true, {100}, kBranchAny | kBranchHardwareIndex});
  file.Mmap2(42, 0x400000, 0x1000, 0, "/proc/self/exe", kFirst);
  for (uint64_t time = 1; time < 5; ++time) {
    FieldWriter body;
    body.U64(100).U64(0x400000).U32(42).U32(42).U64(time).U32(1).U32(0).U64(3).U64(0);
    for (uint64_t i = 0; i < 3; ++i)
      body.U64(0x400000 + 16 * i).U64(0x400000 + 8 * i).U64(2 | time << 4 | i << 20);
    file.Record(kRecordSample, 0, body);
  }
  return file;
}

// `perf record -d`, and registers of IBS.
PerfDataBuilder MemoryAccesses() {
  support::AccessFile file;
  file.TellAmd();
  file.Map(0x400000, 0x1000, 0, "/proc/self/exe");
  for (uint64_t i = 0; i < 4; ++i)
    file.Add({.ip = 0x400000 + i, .address = 0x7000 + 8 * i, .time = i, .data_source = 2 | i << 5});
  file.AddIbs(support::AccessFile::kOpId, 0x400000, 5, 0x3ff,
              {3 << 17, 0x400000, 7, 3, 1 | 3 << 17 | 1 << 7, 0x7040, 0x99040});
  file.AddIbs(support::AccessFile::kFetchId, 0x400000, 6, 0x3ff, {uint64_t{3} << 48, 0x400010, 0});
  return file.builder();
}

PerfDataBuilder PerCpuBuffer() {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  AddSideband(file);
  file.Aux(0, 13, kAuxTruncated, kFirst);
  file.Auxtrace(0, 0, -1, 1, std::vector<uint8_t>(13, 2));
  file.Aux(13, 16, 0, kFirst);
  file.Auxtrace(13, 0, -1, 1, std::vector<uint8_t>(16, 3));
  AddFeatures(file);
  return file;
}

PerfDataBuilder PerThreadBuffers() {
  PerfDataBuilder file;
  file.AddEvent({8, 0x100f621, kSampleTid | kSampleTime | kSampleIdentifier, true, {100}});
  file.AddEvent({1, 9, PerfDataBuilder::kUsualSampleType, true, {102, 103}});
  std::vector<uint64_t> info = PerfDataBuilder::UsualPtInfo();
  info[kPtFilterLength] = 8;
  info.push_back(0x34202c7265746c69);
  file.AuxtraceInfo(info);
  AddSideband(file);
  for (const int32_t tid : {42, 43}) {
    file.Aux(0, 21, 0, kFirst);
    file.Auxtrace(0, static_cast<uint32_t>(tid - 42), tid, -1, std::vector<uint8_t>(21, 2));
  }
  AddFeatures(file);
  return file;
}

void Check(bool holds) {
  if (!holds) std::abort();
}

void CheckStream(const Stream& stream) {
  unsigned sum = 0;
  StreamWindow window(stream.bytes, stream.joined);
  window.HoldAll();
  for (const uint8_t byte : stream.bytes) sum += byte;  // the address sanitizer sees a bad span
  Check(sum <= 255 * stream.bytes.size());
  uint64_t last = 0;
  for (const StreamGap& gap : stream.gaps) {
    Check(gap.offset >= last && gap.offset <= stream.bytes.size() && !gap.reason.empty());
    last = gap.offset;
  }
}

void CheckRecording(const Recording& recording, size_t file_size) {
  size_t total = 0;
  for (const Stream& stream : recording.streams) {
    CheckStream(stream);
    total += stream.bytes.size();
  }
  // Compressed records unpack to no more than this.
  const size_t most = (size_t{17} << 20) + 257 * file_size;
  // A branch record has 56 bytes, its entry in the file 24.
  Check(recording.source == kBranchStacks ? total <= 3 * most : total <= file_size);
  Check(recording.file_size == file_size);
  Check(recording.sideband.size() <= most / 8 && recording.build_ids.size() <= file_size / 8);
  Check(recording.warnings.size() < 64);
  Check(recording.time.shift < 64);
  recording.time.ToNanoseconds(~uint64_t{0});
  uint64_t last = 0;
  for (const SidebandRecord& record : recording.sideband) {
    const uint64_t time = std::visit([](const SidebandBase& base) { return base.time; }, record);
    Check(time == 0 || time >= last);
    last = std::max(last, time);
  }
}

class Swallower final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override { count += run.lengths.size(); }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override { Check(loss.begin <= loss.end); }
  bool Done() const override { return count > 100'000; }  // long loops are another fuzzer's

  uint64_t count = 0;
};

// Every byte is in one piece, pieces in order.
void CheckPieces(const std::vector<ThreadFlow>& flows, const Recording& recording) {
  uint64_t total = 0, in_pieces = 0;
  for (const Stream& stream : recording.streams) total += stream.bytes.size();
  for (const ThreadFlow& flow : flows)
    for (const FlowPiece& piece : flow.pieces) {
      Check(piece.begin <= piece.end && piece.end <= piece.stream->bytes.size());
      in_pieces += piece.end - piece.begin;
    }
  Check(total == in_pieces);
}

void DecodeAll(const Recording& recording) {
  constexpr size_t kMostStreams = 8;
  constexpr size_t kMostBytes = 64 << 10;
  size_t total = 0;
  for (const Stream& stream : recording.streams) total += stream.bytes.size();
  if (recording.streams.size() > kMostStreams || total > kMostBytes) return;
  const auto code = RecordingCode::Load(recording, {});
  if (!code) return Check(!code.error().message().empty());
  StreamInputs inputs(recording, *code, Resync::kEarliest);
  inputs.set_threads(1, 1);
  const auto made = inputs.source().MakeDecoder("");
  if (!made) return Check(!made.error().message().empty());
  const std::unique_ptr<Decoder>& decoder = *made;
  for (const Stream& stream : recording.streams) {
    const auto summary = decoder->Summarize(inputs.For(stream));
    Check(summary.has_value());
    Check(summary->bytes_decoded + summary->bytes_padding + summary->bytes_lost ==
          inputs.source().Unit().In(stream));
  }
  const std::vector<ThreadFlow> flows = ThreadFlows(recording, inputs);
  CheckPieces(flows, recording);
  for (const ThreadFlow& flow : flows)
    for (const FlowPiece& piece : flow.pieces) {
      Swallower swallower;
      Check(DecodePiece(piece, inputs, *decoder, swallower).has_value());
    }
}

// They are counted when the recording is opened, and delivered when its bytes are read again.
void CheckSamples(Candidate candidate, const Recording& recording) {
  uint64_t told = 0;
  const SampleVisitor visit = [&told](const EventSample& sample) {
    Check(sample.event != EventSample::kNoEvent && sample.tsc == 0);
    told += sample.access.address.has_value();
  };
  candidate.visit_samples = &visit;
  Check(ReadCandidate(candidate).has_value());
  uint64_t counted = 0;
  for (const auto& [name, count] : recording.record_counts)
    if (name == kAccessSamples) counted = count;
  Check(told == counted);
}

void ReadInput(const uint8_t* data, size_t size) {
  const std::vector<uint8_t> exact(data, data + size);
  Candidate candidate;
  candidate.path = "fuzzed";
  candidate.bytes = exact;
  const auto recording = ReadCandidate(candidate);
  if (recording) {
    CheckRecording(*recording, size);
    CheckSamples(candidate, *recording);
    DecodeAll(*recording);
  } else {
    Check(!recording.error().message().empty() && !recording.error().remedy().empty());
  }
}

}  // namespace
}  // namespace flowback

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  flowback::ReadInput(data, size);
  return 0;
}

namespace flowback {
namespace {

std::vector<uint8_t> Seed(unsigned int number) {
  const PerfDataBuilder files[] = {PerCpuBuffer(),  PerThreadBuffers(), Snapshots(),
                                   SchedSwitches(), SharedCpu(),        AuxSamples(),
                                   BranchStacks(),  MemoryAccesses()};
  constexpr unsigned int kFiles = 8;
  const std::vector<uint8_t> file = files[number % kFiles].Build();
  const support::PerfDataParts parts = support::TakeApart(file);
  switch (number / kFiles % 4) {
    case 1:
      return support::ToPipe(parts);
    case 2:
      return support::ToCompressed(parts, 50);
    case 3:
      return number % kFiles < 2 || number % kFiles > 3 ? support::ToForeign(parts)
                                                        : support::ToCompressed(parts, 50, true);
    default:
      return file;
  }
}

// A pipe and behind it as many of the smallest records as there is room for.
size_t LongRun(uint8_t* data, size_t max_size, unsigned int number) {
  const std::vector<uint8_t> pipe = support::ToPipe(support::TakeApart(PerCpuBuffer().Build()));
  size_t size = std::min(pipe.size(), max_size);
  std::memcpy(data, pipe.data(), size);
  constexpr uint8_t kTypes[] = {perf::kRecordSwitch, perf::kRecordFinishedRound, perf::kRecordLost,
                                perf::kRecordSample};
  const std::array<uint8_t, 8> record = {kTypes[number % 4], 0, 0, 0, 0, 0, 8, 0};
  for (; size + record.size() <= max_size; size += record.size())
    std::memcpy(data + size, record.data(), record.size());
  return size;
}

}  // namespace
}  // namespace flowback

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  if (size < flowback::perf::kPipeHeaderSize) {
    if (seed % 16 == 0) return flowback::LongRun(data, max_size, seed / 16);
    const std::vector<uint8_t> file = flowback::Seed(seed);
    size = std::min(file.size(), max_size);
    std::memcpy(data, file.data(), size);
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
