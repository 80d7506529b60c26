// SPDX-License-Identifier: MIT
// CPUs that several threads share: whose flow is which, with fewer and fewer times and addresses.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <variant>

#include "decode/pt/packets/ip_packets.h"
#include "decode/pt/packets/packet.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

// A stream with packets left out, and where each packet stood before.
struct Thinned {
  std::vector<uint8_t> bytes;
  std::vector<std::pair<size_t, size_t>> origins;  // offset now, then; by both

  void Copy(Bytes stream, size_t at, size_t size) {
    origins.emplace_back(bytes.size(), at);
    bytes.insert(bytes.end(), stream.begin() + at, stream.begin() + at + size);
  }
};

// Leaves out timing packets: so a recording with other options would look.
Thinned WithoutTiming(Bytes stream, bool mtc) {
  Thinned rest;
  pt::PebsState pebs;
  pt::Packet packet;
  for (size_t at = 0; at < stream.size();) {
    const pt::ReadResult size = pt::ReadPacket(stream.subspan(at), pebs, packet);
    if (!size) break;
    const bool drop =
        std::holds_alternative<pt::Cyc>(packet) || (mtc && std::holds_alternative<pt::Mtc>(packet));
    if (!drop) rest.Copy(stream, at, *size);
    at += *size;
  }
  return rest;
}

// Now and then an overflow swallows everything up to where tracing begins again.
Thinned WithOverflows(Bytes stream, size_t distance) {
  std::mt19937_64 random(stream.size());
  Thinned rest;
  pt::PebsState pebs;
  pt::Packet packet;
  pt::LastIp last_ip;
  bool lost = false;
  size_t next = distance;
  for (size_t at = 0; at < stream.size();) {
    const pt::ReadResult size = pt::ReadPacket(stream.subspan(at), pebs, packet);
    if (!size) break;
    std::optional<uint64_t> ip;
    std::visit(
        [&](const auto& p) {
          if constexpr (requires { p.ip.ip_bytes; }) ip = last_ip.Apply(p.ip);
        },
        packet);
    if (std::holds_alternative<pt::Psb>(packet)) last_ip.Reset();
    const bool flow = std::holds_alternative<pt::ShortTnt>(packet);
    if (!lost && flow && at >= next) {
      lost = true;
      rest.origins.emplace_back(rest.bytes.size(), at);
      pt::Ovf{}.Encode(pt::ByteSink(rest.bytes));
    } else if (lost && std::holds_alternative<pt::TipPge>(packet)) {
      lost = false;
      next = at + distance / 2 + random() % distance;
      rest.origins.emplace_back(rest.bytes.size(), at);
      pt::TipPge{{.ip_bytes = 6, .payload = *ip}}.Encode(pt::ByteSink(rest.bytes));
    } else if (!lost) {
      rest.Copy(stream, at, *size);
    }
    at += *size;
  }
  return rest;
}

int32_t OwnerAt(const std::vector<StayChange>& changes, uint64_t offset) {
  const auto after = std::ranges::upper_bound(changes, offset, {}, &StayChange::offset);
  return std::prev(after)->stay->tid;
}

// How the recording's bytes are attributed, compared with the same recording as it was.
struct Attribution {
  size_t wrong = 0;
  size_t nobodys = 0;
  size_t all = 0;
};

template <class Thin>
Attribution Attribute(const PerfRecording& truth, const Thin& thin) {
  OpenedPerf whole;
  OpenPerf(truth, {}, whole);
  std::vector<Thinned> thinned;
  for (const Stream& stream : whole.recording.streams) thinned.push_back(thin(stream.bytes));
  OpenedPerf opened;
  OpenPerf(truth, [&](const Stream& stream) { return thinned[stream.index].bytes; }, opened);
  Attribution sum;
  for (const Stream& stream : opened.recording.streams) {
    const std::vector<StayChange>& before =
        whole.inputs->For(whole.recording.streams[stream.index]).changes;
    const std::vector<StayChange>& now = opened.inputs->For(stream).changes;
    const auto& origins = thinned[stream.index].origins;
    for (size_t i = 0; i < origins.size(); ++i) {
      const size_t end = i + 1 < origins.size() ? origins[i + 1].first : stream.bytes.size();
      const int32_t owner = OwnerAt(now, origins[i].first);
      sum.all += end - origins[i].first;
      if (owner < 0)
        sum.nobodys += end - origins[i].first;
      else if (owner != OwnerAt(before, origins[i].second))
        sum.wrong += end - origins[i].first;
    }
  }
  std::printf("%s: %zu bytes, %zu nobody's\n", truth.name.c_str(), sum.all, sum.nobodys);
  return sum;
}

class SharedCpusTest : public ::testing::TestWithParam<PerfRecording> {};

TEST_P(SharedCpusTest, FindsTheThreadsWithoutCycles) {
  const PerfRecording& truth = GetParam();
  OpenedPerf opened;
  ASSERT_NO_FATAL_FAILURE(OpenPerf(
      truth, [](const Stream& stream) { return WithoutTiming(stream.bytes, false).bytes; },
      opened));
  EXPECT_EQ(SummedDigests(opened, *Engine("native")), DigestsOf(truth));
}

// With TSC packets alone hundreds of pauses may hold a switch; addresses leave few of them.
TEST_P(SharedCpusTest, GivesNoThreadWhatMayBeAnothers) {
  const Attribution sum =
      Attribute(GetParam(), [](Bytes stream) { return WithoutTiming(stream, true); });
  EXPECT_EQ(sum.wrong, 0);
  EXPECT_LT(sum.nobodys, sum.all / 20);
}

TEST_P(SharedCpusTest, FindsTheThreadsBesideOverflows) {
  for (const bool mtc : {true, false}) {
    const Attribution sum = Attribute(GetParam(), [mtc](Bytes stream) {
      const Thinned timed = WithoutTiming(stream, !mtc);
      Thinned lossy = WithOverflows(timed.bytes, 1500);
      for (auto& [now, then] : lossy.origins)
        then = std::prev(std::ranges::upper_bound(timed.origins, then, {},
                                                  &std::pair<size_t, size_t>::first))
                   ->second;
      return lossy;
    });
    EXPECT_EQ(sum.wrong, 0) << (mtc ? "with MTC" : "TSC only");
    EXPECT_LT(sum.nobodys, sum.all / 4);
  }
}

std::vector<PerfRecording> WithSharedCpus() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  std::erase_if(recordings, [](const PerfRecording& recording) {
    return recording.threads.size() == 1 || recording.name.ends_with("-perthread");
  });
  return recordings;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharedCpusTest);
INSTANTIATE_TEST_SUITE_P(Recordings, SharedCpusTest, ::testing::ValuesIn(WithSharedCpus()),
                         [](const auto& test) { return TestName(test.param.name); });

}  // namespace
}  // namespace flowback::golden
