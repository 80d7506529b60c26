// SPDX-License-Identifier: MIT
// `--trigger` with a kernel that the test plays: of a program whose calls' places in the trace are
// known, the slow calls' trace is kept and no other.
#include <asm/perf_regs.h>
#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <variant>

#include "decode/pt/packets/packet.h"
#include "flowback/decode/decoder.h"
#include "tests/record/events/event_simulated.h"
#include "tests/support/generator/stream_generator.h"
#include "tests/support/places.h"

namespace flowback::record_test {
namespace {

constexpr uint32_t kPtType = 8;  // of the tree skylake_server
constexpr uint32_t kUprobeType = 7;
constexpr uint64_t kPage = 4096;

// A moment at which tracing hardware wrote a sync point.
struct Moment {
  size_t offset = 0;
  uint64_t time = 0;
  uint64_t instructions = 0;
};

uint64_t CounterAt(Bytes bytes, size_t at) {
  pt::PebsState pebs;
  while (true) {
    pt::Packet packet;
    const pt::ReadResult size = pt::ReadPacket(bytes.subspan(at), pebs, packet);
    if (!size) return 0;
    if (const auto* tsc = std::get_if<pt::Tsc>(&packet)) return tsc->tsc;
    at += *size;
  }
}

flowback::testing::GeneratedStream TimedStream(uint64_t seed) {
  return flowback::testing::GenerateStream({.seed = seed,
                                            .instructions = 1'000'000,
                                            .shape = flowback::testing::CodeShape::kTipDense,
                                            .return_compression = false,
                                            .tsc = true});
}

std::vector<Moment> MomentsOf(const flowback::testing::GeneratedStream& stream) {
  std::vector<Moment> moments;
  for (const auto& psb : stream.truth.psbs)
    moments.push_back({psb.offset, CounterAt(stream.bytes, psb.offset), psb.instructions});
  return moments;
}

class EventTrigger : public EventSimulated {
 protected:
  EventTrigger() {
    kernel_.GiveAllRights();
    options_.direction.slow_function = "handle@" + RecordedProgramsFolder() + "/slow_calls";
    options_.streams.snapshot_bytes = 64 << 10;
    options_.events.trace_buffer_bytes = 64 << 10;
  }
  // A sample of the probe at the function's beginning or end.
  void Hit(bool returns, uint64_t time, int cpu = -1, uint64_t stack = 0x7000,
           pid_t tid = kProgram) {
    SimulatedKernel::Event* event = kernel_.FindEvent(kUprobeType, returns, cpu);
    ASSERT_NE(event, nullptr);
    std::vector<uint8_t> body;
    const auto word = [&](uint64_t value) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
      body.insert(body.end(), bytes, bytes + sizeof value);
    };
    const auto pid = static_cast<uint64_t>(kProgram);
    word(event->id);
    word(0x401000);
    word(pid | static_cast<uint64_t>(tid) << 32);
    word(time);
    word(static_cast<uint64_t>(std::max(cpu, 0)));
    word(PERF_SAMPLE_REGS_ABI_64);
    word(returns ? stack + 8 : stack);
    event->ring->Write(PERF_RECORD_SAMPLE, 0, body, {});
  }
  void Trace(Bytes bytes, int cpu = -1) {
    for (auto& [descriptor, event] : kernel_.events())
      if (event.attr.type == kPtType && event.cpu == cpu)
        kernel_.WriteAux(const_cast<SimulatedKernel::Event&>(event), bytes);
  }
};

Bytes Part(const flowback::testing::GeneratedStream& stream, const Moment& begin,
           const Moment& end) {
  return Bytes(stream.bytes).subspan(begin.offset, end.offset - begin.offset);
}

// The parts follow on each other in the stream, with padding up to a multiple of 8 behind each.
void ExpectParts(Bytes stream, const std::vector<Bytes>& parts) {
  for (const Bytes part : parts) {
    ASSERT_GE(stream.size(), part.size());
    EXPECT_TRUE(std::ranges::equal(stream.first(part.size()), part));
    stream = stream.subspan(std::min(stream.size(), (part.size() + 7) / 8 * 8));
  }
  EXPECT_TRUE(stream.empty()) << stream.size() << " bytes more";
}

// Calls of two segments each, one segment between two of them. The recorder comes late every other
// time, when more is in the trace.
TEST_F(EventTrigger, ExactlyTheSlowCallsAreKept) {
  const flowback::testing::GeneratedStream stream = TimedStream(1);
  const std::vector<Moment> moments = MomentsOf(stream);
  ASSERT_GT(moments.size(), 30u);
  const size_t calls = (moments.size() - 1) / 3;
  std::vector<uint64_t> lengths;
  for (size_t i = 0; i < calls; ++i)
    lengths.push_back(moments[3 * i + 2].time - moments[3 * i].time);
  std::ranges::sort(lengths);
  const uint64_t limit = lengths[calls * 3 / 4];
  options_.direction.slow = std::chrono::nanoseconds(limit);
  size_t call = 0;
  kernel_.meanwhile = [&] {
    const Moment& begin = moments[3 * call];
    const Moment& end = moments[3 * call + 2];
    const Moment& next = moments[3 * call + 3];
    Hit(false, begin.time);
    Trace(Part(stream, begin, end));
    Hit(true, end.time);
    Trace(Part(stream, end, next));
    return ++call < calls;
  };
  const RecordSummary summary = Recorded();
  std::vector<Bytes> kept;
  uint64_t bytes = 0, instructions = 0;
  for (size_t i = 0; i < calls; ++i) {
    if (moments[3 * i + 2].time - moments[3 * i].time <= limit) continue;
    kept.push_back(Part(stream, moments[3 * i], moments[3 * i + 2]));
    bytes += kept.back().size();
    instructions += moments[3 * i + 2].instructions - moments[3 * i].instructions;
  }
  ASSERT_GT(kept.size(), 2u);
  ASSERT_LT(kept.size(), calls / 2);
  ASSERT_TRUE(summary.slow_calls);
  EXPECT_EQ(summary.slow_calls->calls, calls);
  EXPECT_EQ(summary.slow_calls->slow, kept.size());
  EXPECT_EQ(summary.slow_calls->cut, 0u);
  EXPECT_EQ(summary.slow_calls->halves, 0u);
  EXPECT_EQ(summary.bytes, bytes);
  const Recording recording = Open();
  ASSERT_EQ(recording.streams.size(), 1u);
  // By these names `spikes` knows that there are no normal calls.
  for (const char* name : {"uprobe:handle", "uprobe:handle:return"})
    EXPECT_NE(std::ranges::find(recording.events, name), recording.events.end()) << name;
  ExpectParts(recording.streams[0].bytes, kept);
  const AddressSpaceHistory code = flowback::testing::CodeOf(stream);
  DecodeInput input;
  input.bytes = recording.streams[0].bytes;
  input.code = &code;
  input.config = stream.config;
  input.gaps = recording.streams[0].gaps;
  const auto decoded = (*MakeDecoder("native"))->Summarize(input);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->digest.count, instructions);
}

// From one CPU to another; what runs on a third meanwhile is another's.
TEST_F(EventTrigger, ACallIsOnTheCpusThatItsThreadWasOn) {
  const flowback::testing::GeneratedStream first = TimedStream(2);
  const flowback::testing::GeneratedStream second = TimedStream(3);
  const std::vector<Moment> here = MomentsOf(first);
  const std::vector<Moment> there = MomentsOf(second);
  ASSERT_GT(here.size(), 4u);
  options_.events.per_thread = false;
  options_.events.cpus = "0-2";
  options_.direction.slow = std::chrono::nanoseconds(1);
  bool more = true;
  kernel_.meanwhile = [&] {
    if (!std::exchange(more, false)) return false;
    Hit(false, here[1].time, 1);
    Trace(Part(first, here[0], here[3]), 1);
    Trace(Part(second, there[0], there[3]), 2);
    // It ends on a CPU whose buffer is looked at before.
    Trace(Part(second, there[0], there[3]), 0);
    Hit(true, std::max(here[2].time, there[2].time), 0);
    return true;
  };
  const RecordSummary summary = Recorded();
  ASSERT_TRUE(summary.slow_calls);
  EXPECT_EQ(summary.slow_calls->slow, 1u);
  std::vector<int32_t> cpus;
  for (const Stream& stream : Open().streams)
    if (!stream.bytes.empty()) cpus.push_back(stream.cpu);
  std::ranges::sort(cpus);
  EXPECT_EQ(cpus, (std::vector<int32_t>{0, 1}));
}

// A message reports the part that has left the buffer.
TEST_F(EventTrigger, ACallLongerThanTheBufferIsCut) {
  const flowback::testing::GeneratedStream stream = TimedStream(4);
  const std::vector<Moment> moments = MomentsOf(stream);
  options_.streams.snapshot_bytes = 8 << 10;
  options_.events.trace_buffer_bytes = 8 << 10;
  options_.direction.slow = std::chrono::nanoseconds(1);
  bool more = true;
  kernel_.meanwhile = [&] {
    if (!std::exchange(more, false)) return false;
    Hit(false, moments.front().time);
    Trace(Part(stream, moments.front(), moments.back()));
    Hit(true, moments.back().time);
    return true;
  };
  const RecordSummary summary = Recorded();
  ASSERT_GT(moments.back().offset, 3u * (8 << 10));
  ASSERT_TRUE(summary.slow_calls);
  EXPECT_EQ(summary.slow_calls->slow, 1u);
  EXPECT_EQ(summary.slow_calls->cut, 1u);
  EXPECT_GT(summary.bytes, kPage);
}

// A call in a call ends first; one that was left without a return has no end.
TEST_F(EventTrigger, EndsBelongToTheirBeginnings) {
  options_.direction.slow = std::chrono::nanoseconds(100);
  options_.engine = "events";
  options_.events.words = {"dummy:u"};
  options_.streams.snapshot_bytes.reset();
  bool more = true;
  kernel_.meanwhile = [&] {
    if (!std::exchange(more, false)) return false;
    Hit(true, 900, -1, 0x7000);  // it began before
    Hit(false, 1000, -1, 0x7000);
    Hit(false, 1010, -1, 0x6000);
    Hit(true, 1020, -1, 0x6000);   // 10 ns
    Hit(true, 1200, -1, 0x7000);   // 200 ns
    Hit(false, 2000, -1, 0x5000);  // left by longjmp
    Hit(false, 3000, -1, 0x5000);
    Hit(true, 3050, -1, 0x5000);  // 50 ns, not 1050
    return true;
  };
  const RecordSummary summary = Recorded();
  ASSERT_TRUE(summary.slow_calls);
  EXPECT_EQ(summary.slow_calls->calls, 3u);
  EXPECT_EQ(summary.slow_calls->slow, 1u);
  EXPECT_EQ(summary.slow_calls->halves, 1u);
}

TEST_F(EventTrigger, WhatIsMissingIsSaid) {
  const auto fails = [&](const std::string& words, const std::string& remedy, ErrorCode code) {
    const auto summary = Run();
    ASSERT_FALSE(summary);
    EXPECT_TRUE(summary.error().message().contains(words)) << summary.error().message();
    EXPECT_TRUE(summary.error().remedy().contains(remedy)) << summary.error().remedy();
    EXPECT_EQ(summary.error().code(), code);
  };
  kernel_.meanwhile = [] { return false; };
  const std::string function = options_.direction.slow_function;
  options_.direction.slow_function = "nothing@" + RecordedProgramsFolder() + "/slow_calls";
  fails("there is no function 'nothing'", "@/usr/lib/", ErrorCode::kUsage);
  options_.direction.slow_function = function;
  kernel_.tree().Remove(std::string(kernel::kPmuFolder) + "/uprobe/type");
  kernel_.tree().Remove(std::string(kernel::kPmuFolder) + "/uprobe/format/retprobe");
  fails("no probes of user code", "CONFIG_UPROBE_EVENTS", ErrorCode::kUnsupported);
}

TEST_F(EventTrigger, ProbesTakeMoreRights) {
  kernel_.meanwhile = [] { return false; };
  kernel_.tree().Remove("/proc/self/status");
  options_.events.per_thread = false;
  const auto summary = Run();
  ASSERT_FALSE(summary);
  EXPECT_TRUE(summary.error().message().contains("CAP_PERFMON")) << summary.error().message();
  EXPECT_TRUE(summary.error().remedy().contains("SIGUSR2")) << summary.error().remedy();
}

}  // namespace
}  // namespace flowback::record_test
