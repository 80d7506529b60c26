// SPDX-License-Identifier: MIT
// Numbers of processes and threads are used again: each flow is decoded with the code of the
// process that made it, though the other's lies at the same address.
#include <gtest/gtest.h>

#include "capture/formats/perf_records/perf_layout.h"
#include "decode/pt/packets/packet_writer.h"
#include "flowback/base/flow_digest.h"
#include "tests/cli/run_program.h"
#include "tests/support/elf_writer.h"
#include "tests/support/perf_data_builder.h"

namespace flowback::test {
namespace {

using support::FieldWriter;
using support::PerfDataBuilder;
using support::Trailer;

constexpr uint64_t kCode = 0x401000;
// Both end with SYSCALL; the one has three instructions, the other two.
const std::vector<uint8_t> kThree = {0x90, 0x90, 0x0f, 0x05};
const std::vector<uint8_t> kTwo = {0x66, 0x90, 0x0f, 0x05};

uint64_t Microseconds(uint64_t time) { return 1000000000000 + 1000 * time; }
pt::Tsc Tsc(uint64_t microseconds) { return {.tsc = 2400 * microseconds}; }

std::string Digest(const std::vector<uint64_t>& offsets) {
  FlowDigest digest;
  for (const uint64_t offset : offsets) digest.Append(kCode + offset);
  char text[64];
  std::snprintf(text, sizeof text, "%llu %016llx", static_cast<unsigned long long>(digest.count),
                static_cast<unsigned long long>(digest.hash));
  return text;
}

class NumberReuse : public ::testing::Test {
 protected:
  std::string WriteImage(const std::string& name, const std::vector<uint8_t>& code) const {
    ElfSpec spec;
    spec.segments = {{.address = kCode, .bytes = code}};
    const WrittenElf elf = WriteElf(spec);
    offset_ = elf.segment_offsets.at(0);
    return folder_.Write(name, std::string(elf.bytes.begin(), elf.bytes.end()));
  }
  static Trailer At(uint64_t time, int32_t pid, int32_t tid) {
    return {Microseconds(time), pid, tid, 1, 102};
  }
  void Start(PerfDataBuilder& file, uint64_t time, int32_t pid, int32_t tid,
             const std::string& image) const {
    file.Comm(pid, tid, "program", true, At(time, pid, tid));
    file.Mmap2(pid, kCode, 4, offset_, image, At(time, pid, tid));
  }
  ProgramResult Decode(const PerfDataBuilder& builder, const char* engine) const {
    const std::vector<uint8_t> bytes = builder.Build();
    const std::string file = folder_.Write("perf.data", std::string(bytes.begin(), bytes.end()));
    return RunFlowback({"decode", "--as", "digest", "--engine", engine, file});
  }

  void ExpectBothRan(PerfDataBuilder& file, const Trailer& end) const;

  ScratchFolder folder_;
  mutable uint64_t offset_ = 0;
};

void Switch(PerfDataBuilder& file, bool out, const Trailer& who) {
  file.KernelRecord(perf::kRecordSwitch, out ? perf::kMiscSwitchOut : 0, FieldWriter(), who);
}

// A PSB with the time, and one system call's flow behind it.
void Begin(pt::PacketWriter& trace, uint64_t time) {
  trace.Psb();
  trace.Write(Tsc(time));
  trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
  trace.Write(pt::PsbEnd{});
}
void SystemCall(pt::PacketWriter& trace, uint64_t time) {
  trace.TipPge(kCode);
  trace.Write(Tsc(time));
  trace.TipPgd(std::nullopt);
}

// On CPU 1 the first one runs at 12, the other at 100; each in its own code.
void NumberReuse::ExpectBothRan(PerfDataBuilder& file, const Trailer& end) const {
  pt::PacketWriter trace;
  Begin(trace, 10);
  SystemCall(trace, 12);
  SystemCall(trace, 100);
  const uint64_t size = trace.size();
  file.Aux(0, size, 0, end);
  file.Auxtrace(0, 0, -1, 1, trace.Take());
  for (const char* engine : {"native", "libipt"}) {
    const ProgramResult result = Decode(file, engine);
    if (result.err.contains("built without")) continue;
    EXPECT_EQ(result.out, std::to_string(end.tid) + " " + Digest({0, 1, 2, 0, 2}) + "\n")
        << result.err;
  }
}

TEST_F(NumberReuse, OfAProcessOnASharedCpu) {
  const std::string three = WriteImage("three", kThree);
  const std::string two = WriteImage("two", kTwo);
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  Start(file, 5, 100, 100, three);
  file.ItraceStart(100, 100, At(10, 100, 100));
  Switch(file, false, At(11, 100, 100));
  file.Exit(100, 100, At(29, 100, 100));
  Switch(file, true, At(30, 100, 100));
  file.Fork(100, 100, 50, 50, At(35, 50, 50));
  Start(file, 40, 100, 100, two);
  // The packets' time when it begins to run is that of the other one.
  Switch(file, false, At(50, 100, 100));
  Switch(file, true, At(110, 100, 100));
  ExpectBothRan(file, At(120, 100, 100));
}

TEST_F(NumberReuse, OfAThreadOnASharedCpu) {
  const std::string three = WriteImage("three", kThree);
  const std::string two = WriteImage("two", kTwo);
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  Start(file, 5, 100, 100, three);
  Start(file, 5, 200, 200, two);
  file.ItraceStart(100, 150, At(10, 100, 150));
  Switch(file, false, At(11, 100, 150));
  file.Exit(100, 150, At(29, 100, 150));
  Switch(file, true, At(30, 100, 150));
  file.Fork(200, 150, 200, 200, At(35, 200, 200));
  Switch(file, false, At(50, 200, 150));
  Switch(file, true, At(110, 200, 150));
  ExpectBothRan(file, At(120, 200, 150));
}

TEST_F(NumberReuse, OfAThreadWithItsOwnBuffers) {
  const std::string three = WriteImage("three", kThree);
  const std::string two = WriteImage("two", kTwo);
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  Start(file, 5, 100, 100, three);
  Start(file, 5, 200, 200, two);
  file.ItraceStart(100, 150, At(10, 100, 150));
  file.ItraceStart(200, 150, At(40, 200, 150));
  uint32_t index = 0;
  for (const int32_t pid : {100, 200}) {
    pt::PacketWriter trace;
    Begin(trace, index == 0 ? 10 : 50);
    SystemCall(trace, index == 0 ? 12 : 100);
    file.Aux(0, trace.size(), 0, At(120, pid, 150));
    file.Auxtrace(0, index++, 150, -1, trace.Take());
  }
  const ProgramResult result = Decode(file, "native");
  EXPECT_EQ(result.out, "150 " + Digest({0, 1, 2, 0, 2}) + "\n") << result.err;
}

}  // namespace
}  // namespace flowback::test
