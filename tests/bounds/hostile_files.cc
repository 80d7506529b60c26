// SPDX-License-Identifier: MIT
#include "tests/bounds/hostile_files.h"

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/formats/perf_records/process_end.h"
#include "decode/pt/packets/packet_writer.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/perf_data_converter.h"

namespace flowback::test {
namespace {

using support::FieldWriter;
using support::PerfDataBuilder;
using support::Trailer;

constexpr int32_t kPid = 1000;
constexpr uint64_t kBegin = 1000000000000;

Trailer At(uint64_t time, int32_t tid = kPid) { return {kBegin + time, kPid, tid, 0, 102}; }

std::vector<uint8_t> ShortTrace() {
  pt::PacketWriter trace;
  trace.Psb();
  trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
  trace.Write(pt::PsbEnd{});
  trace.TipPge(0x401000);
  trace.TipPgd(std::nullopt);
  return trace.Take();
}

std::string Text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

using Fill = std::function<void(PerfDataBuilder& file, uint64_t number)>;

// `count` times what `fill` adds, and one short trace.
HostileKind Records(const char* name, uint64_t count, size_t per_byte, Fill fill) {
  const auto make = [=](const ScratchFolder& folder) -> std::vector<std::string> {
    PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
    for (uint64_t i = 0; i < count; ++i) fill(file, i);
    const std::vector<uint8_t> trace = ShortTrace();
    file.Aux(0, trace.size(), 0, At(count + 1));
    file.Auxtrace(0, 0, -1, 0, trace);
    return {folder.Write("perf.data", Text(file.Build()))};
  };
  return {name, make, per_byte};
}

// Records of one type, each the header alone.
HostileKind Headers(const char* name, uint32_t type) {
  return Records(name, 1'000'000, 2,
                 [=](PerfDataBuilder& file, uint64_t) { file.Record(type, 0, FieldWriter()); });
}

HostileKind Compressed() {
  const auto make = [](const ScratchFolder& folder) -> std::vector<std::string> {
    PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
    for (int i = 0; i < 1'500'000; ++i) file.Record(perf::kRecordSwitch, 0, FieldWriter());
    file.Auxtrace(0, 0, -1, 0, ShortTrace());
    const support::FileBytes packed =
        support::ToCompressed(support::TakeApart(file.Build()), size_t{1} << 20);
    return {folder.Write("perf.data", Text(packed))};
  };
  return {"CompressedToATenThousandth", make, 2};
}

// A branch stack of one entry each, of `threads` threads.
HostileKind Stacks(const char* name, uint64_t count, uint64_t threads, size_t per_byte) {
  const auto make = [=](const ScratchFolder& folder) -> std::vector<std::string> {
    PerfDataBuilder file;
    const uint64_t type = perf::kSampleTid | perf::kSampleTime | perf::kSampleBranchStack;
    file.AddEvent({0, 0, type, true, {102}, perf::kBranchAny});
    for (uint64_t i = 0; i < count; ++i) {
      FieldWriter body;
      body.U32(kPid).U32(static_cast<uint32_t>(kPid + i % threads)).U64(kBegin + i);
      file.Record(perf::kRecordSample, 0, body.U64(1).U64(0x401000 + 16 * i).U64(0x401000).U64(2));
    }
    return {folder.Write("perf.data", Text(file.Build()))};
  };
  return {name, make, per_byte, 0, true};
}

// Text of perf script, of `count` lines of one kind and a stack, as short as it can be.
HostileKind StackText(const char* name, uint64_t count, size_t per_byte,
                      std::function<std::string(uint64_t number)> line) {
  const auto make = [=](const ScratchFolder& folder) -> std::vector<std::string> {
    std::string text = "1 0x1/0x1/P/-/-/0\n";
    for (uint64_t i = 0; i < count; ++i) text += line(i) + '\n';
    return {folder.Write("stacks.txt", text)};
  };
  return {name, make, per_byte, 0, true};
}
HostileKind DumpsOfRegisters() {
  const auto make = [](const ScratchFolder& folder) -> std::vector<std::string> {
    std::string text = "flowback-branch-registers 1\nunit arch-lbr\n";
    for (unsigned i = 0; i < 150'000; ++i) text += "dump\n0x1500 1\n0x1600 1\n";
    return {folder.Write("dump.txt", text)};
  };
  return {"DumpsOfRegisters", make, 24, 0, true};
}
HostileKind LongStacks() {
  return StackText("TextOfLongBranchStacks", 50, 12, [](uint64_t) {
    std::string line = "1";
    while (line.size() < 65'000) line += " 0x1/0x1/P///0";
    return line;
  });
}

void Switch(PerfDataBuilder& file, uint64_t i) {
  file.KernelRecord(perf::kRecordSwitch, i % 2 == 0 ? 0 : perf::kMiscSwitchOut, FieldWriter(),
                    At(i));
}

// Five switches of the one thread for each CPU with trace of it.
void BufferOfTheThread(PerfDataBuilder& file, uint64_t i) {
  Switch(file, i);
  const auto cpu = static_cast<int32_t>(i / 5 + 1);
  if (i % 5 == 0) file.Auxtrace(0, static_cast<uint32_t>(cpu), -1, cpu, ShortTrace());
}

// Two threads take turns on one CPU, and each tenth record adds a buffer of it with flow in some of
// the stays: at the begin, somewhere, and at the end.
constexpr uint64_t kTurns = 200'000;

void BufferOfTwoThreads(PerfDataBuilder& file, uint64_t i) {
  const int32_t tid = kPid + static_cast<int32_t>(i / 2 % 2);
  const uint16_t misc = i % 2 == 0 ? 0 : perf::kMiscSwitchOut;
  const uint64_t microsecond = 1000;
  file.KernelRecord(perf::kRecordSwitch, misc, FieldWriter(), At(i * microsecond, tid));
  if (i % 10 != 0) return;
  if (i == 0) file.ItraceStart(kPid, kPid, At(0));
  if (i == 0) file.ItraceStart(kPid, kPid + 1, At(1, kPid + 1));
  pt::PacketWriter trace;
  trace.Psb();
  trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
  trace.Write(pt::PsbEnd{});
  for (const uint64_t turn : {uint64_t{2}, i / 4 * 4 + 2, kTurns - 4}) {
    const uint64_t tsc = (turn * microsecond + microsecond / 2) * 12 / 5;
    trace.Write(pt::Tsc{.tsc = tsc});
    trace.TipPge(0x401000);
    trace.TipPgd(std::nullopt);
    trace.Write(pt::Tsc{.tsc = tsc + 100});
  }
  file.Auxtrace(0, static_cast<uint32_t>(i + 1), -1, 0, trace.Take());
}

constexpr uint64_t kStreams = 8'000;

// Each stream's flow is ahead of that of all streams before it.
void BufferFromBefore(PerfDataBuilder& file, uint64_t i) {
  if (i == 0) file.ItraceStart(kPid, kPid, At(0));
  pt::PacketWriter trace;
  trace.Psb();
  trace.Write(pt::Tsc{.tsc = 100 * (kStreams - i)});
  trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
  trace.Write(pt::PsbEnd{});
  for (uint64_t time = 1; time <= 3; ++time) {
    trace.Write(pt::Tsc{.tsc = 100 * (kStreams - i) + 10 * time});
    trace.TipPge(0x401000);
    trace.TipPgd(std::nullopt);
  }
  const auto cpu = static_cast<int32_t>(i + 1);
  file.Auxtrace(0, static_cast<uint32_t>(cpu), -1, cpu, trace.Take());
}

// A name of 64 KB, inherited by all.
void LongName(PerfDataBuilder& file, uint64_t i) {
  if (i == 0) file.Comm(kPid, kPid, std::string(60'000, 'n'), true, At(0));
  file.Fork(kPid, kPid + 1 + static_cast<int32_t>(i), kPid, kPid, At(i + 1));
}

// Ends of processes that have no name, in the header's feature.
void EndsOfProcesses(PerfDataBuilder& file, uint64_t) {
  constexpr uint32_t kEnds = 200'000;
  FieldWriter content;
  for (uint32_t pid = kPid; pid < kPid + kEnds; ++pid) {
    content.U32(pid).U32(pid);
    for (int times_and_addresses = 0; times_and_addresses < 4; ++times_and_addresses)
      content.U64(kBegin + pid);
    content.U32(0).U32(kEndKnowsIp | kEndKnowsFault);
    for (int texts = 0; texts < 3; ++texts) content.U32(0);
  }
  file.Feature(perf::kFeatureProcessEnds, content);
}

}  // namespace

std::vector<HostileKind> RecordKinds() {
  const auto tid = [](uint64_t i) { return kPid + static_cast<int32_t>(i); };
  return {
      Headers("SwitchHeaders", perf::kRecordSwitch),
      Headers("UnknownHeaders", 200),
      Headers("FinishedRounds", perf::kRecordFinishedRound),
      Headers("LostHeaders", perf::kRecordLost),
      Compressed(),
      Stacks("BranchStacks", 150'000, 1, 12),
      Stacks("BranchStacksOfManyThreads", 40'000, 40'000, 110),
      StackText("TextOfBranchStacks", 150'000, 24,
                [](uint64_t) { return std::string("1 0x1/0x1/P///0"); }),
      LongStacks(),
      StackText("TextOfLongLines", 100, 6, [](uint64_t) { return std::string(100'000, '/'); }),
      DumpsOfRegisters(),
      StackText("TextOfMappings", 40'000, 24,
                [](uint64_t i) {
                  return "PERF_RECORD_MMAP2 42/42: [" + std::to_string(i) +
                         "000(0x1000) @ 0 0 0 0]: x /a";
                }),
      Records("Switches", 100'000, 12, Switch),
      Records("Starts", 40'000, 40,
              [=](PerfDataBuilder& file, uint64_t i) { file.ItraceStart(kPid, tid(i), At(i)); }),
      Records(
          "Names", 40'000, 16,
          [=](PerfDataBuilder& file, uint64_t i) { file.Comm(kPid, tid(i), "", false, At(i)); }),
      Records("LongNamesOfMany", 40'000, 40, LongName),
      Records("Mappings", 40'000, 24,
              [](PerfDataBuilder& file, uint64_t i) {
                file.Mmap2(kPid, 0x2000 * i, 0x1000, 0, "", At(i));
              }),
      Records("Exits", 40'000, 40,
              [=](PerfDataBuilder& file, uint64_t i) { file.Exit(kPid, tid(i), At(i)); }),
      Records("Counters", 60'000, 24,
              [=](PerfDataBuilder& file, uint64_t i) {
                FieldWriter body;
                body.U32(static_cast<uint32_t>(kPid)).U32(static_cast<uint32_t>(tid(i))).U64(i);
                file.KernelRecord(perf::kRecordRead, 0, body, At(i));
              }),
      Records("EndsOfProcesses", 1, 10, EndsOfProcesses),
      Records("AuxRecords", 60'000, 24,
              [](PerfDataBuilder& file, uint64_t i) { file.Aux(8 * i, 8, 1, At(i)); }),
      Records("AuxAreas", 20'000, 24,
              [](PerfDataBuilder& file, uint64_t i) {
                file.Auxtrace(64 + 64 * i, 0, -1, 0, {0x02, 0x82, 0, 0, 0, 0, 0, 0});
              }),
      Records("AuxBuffers", 10'000, 64,
              [](PerfDataBuilder& file, uint64_t i) {
                file.Auxtrace(0, static_cast<uint32_t>(i + 1), -1, static_cast<int32_t>(i + 1), {});
              }),
      Records("AuxBuffersOfOneThread", 20'000, 64, BufferOfTheThread),
      Records("AuxBuffersOfTwoThreads", kTurns, 64, BufferOfTwoThreads),
      Records("AuxBuffersLastFirst", kStreams, 64, BufferFromBefore),
  };
}

namespace {

// Callchains of `depth` addresses, `tid` of each sample.
HostileKind Callchains(const char* name, uint64_t count, uint64_t depth, uint64_t threads,
                       size_t per_byte) {
  const auto make = [=](const ScratchFolder& folder) -> std::vector<std::string> {
    PerfDataBuilder file;
    const uint64_t type = perf::kSampleTid | perf::kSampleCallchain;
    file.AddEvent({0, 0, type, true, {102}});
    for (uint64_t i = 0; i < count; ++i) {
      FieldWriter body;
      body.U32(kPid).U32(static_cast<uint32_t>(kPid + i % threads)).U64(depth);
      for (uint64_t j = 0; j < depth; ++j) body.U64(0x401000 + 16 * (i + j));
      file.Record(perf::kRecordSample, 0, body);
    }
    return {folder.Write("perf.data", Text(file.Build()))};
  };
  return {name, make, per_byte};
}

// Copies of stacks of `words` words, which go on at nothing that is known.
HostileKind StackCopies(const char* name, uint64_t count, uint64_t words, size_t per_byte) {
  const auto make = [=](const ScratchFolder& folder) -> std::vector<std::string> {
    PerfDataBuilder file;
    const uint64_t type =
        perf::kSampleTid | perf::kSampleCallchain | perf::kSampleRegsUser | perf::kSampleStackUser;
    file.AddEvent({0, 0, type, true, {102}});
    for (uint64_t i = 0; i < count; ++i) {
      FieldWriter body;
      body.U32(kPid).U32(kPid).U64(0).U64(2).U64(8 * words);
      for (uint64_t j = 0; j < words; ++j) body.U64(0x401000 + 16 * (i + j));
      if (words != 0) body.U64(8 * words);
      file.Record(perf::kRecordSample, 0, body);
    }
    return {folder.Write("perf.data", Text(file.Build()))};
  };
  return {name, make, per_byte};
}

}  // namespace

std::vector<HostileKind> CallSampleKinds() {
  return {StackCopies("EmptyCopiesOfStacks", 300'000, 0, 20),
          StackCopies("CopiesOfStacks", 300, 7'000, 1),
          Callchains("EmptyCallchains", 400'000, 0, 1, 20),
          Callchains("CallchainsOfManyThreads", 40'000, 1, 40'000, 40),
          Callchains("DeepCallchains", 300, 8'000, 1, 20)};
}

}  // namespace flowback::test
