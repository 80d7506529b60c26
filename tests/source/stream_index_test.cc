// SPDX-License-Identifier: MIT
// One pass over a stream gives the same as the slower ways: reading packet by packet, asking for
// single times, decoding. On generated streams, whole and damaged.
#include "decode/stream_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/decode/trace_source.h"
#include "tests/differential/harness.h"

namespace flowback::testing {
namespace {

constexpr uint64_t kNever = ~uint64_t{0};

std::string Text(const Pause& pause) {
  std::string text = std::to_string(pause.offset);
  for (const uint64_t time : {pause.earliest, pause.resumed, pause.latest})
    text += ' ' + std::to_string(time);
  return text + (pause.inside ? " inside" : "") + (pause.at_end ? " at end" : "") + '\n';
}

std::string TextOf(const PauseList& pauses) {
  std::string text;
  pauses.Visit([&](const Pause& pause) {
    text += Text(pause);
    return true;
  });
  return text;
}

TEST(PauseList, KeepsThemAsTheyCame) {
  std::mt19937_64 random(1);
  const auto number = [&] { return random() >> random() % 64; };
  for (int round = 0; round < 200; ++round) {
    PauseList list(1 << 20);
    std::string added;
    for (uint64_t i = random() % 300; i > 0; --i) {
      const Pause pause{.offset = number(),
                        .earliest = random() % 4 == 0 ? 0 : number(),
                        .resumed = random() % 4 == 0 ? 0 : number(),
                        .latest = random() % 4 == 0 ? kNever : number(),
                        .inside = random() % 2 == 0,
                        .at_end = random() % 2 == 0};
      list.Add(pause);
      added += Text(pause);
    }
    ASSERT_TRUE(list.complete());
    ASSERT_EQ(TextOf(list), added) << round;
  }
}

TEST(PauseList, StopsWhenItIsTold) {
  PauseList list(1000);
  for (uint64_t offset = 1; offset < 10; ++offset) list.Add({.offset = offset});
  uint64_t last = 0;
  list.Visit([&](const Pause& pause) { return (last = pause.offset) != 4; });
  EXPECT_EQ(last, 4u);
}

TEST(PauseList, IsGivenUpWhereItGrowsTooLong) {
  PauseList list(100);
  for (uint64_t i = 0; i < 30; ++i) list.Add({.offset = i * 1000, .earliest = i});
  EXPECT_FALSE(list.complete());
  EXPECT_EQ(list.bytes(), 0u);
}

TEST(Pause, IsConvertedWhereATimeIsTold) {
  const TimeConversion twice{.shift = 0, .mult = 2, .zero = 1000};
  const Pause pause{.offset = 5, .earliest = 0, .resumed = 7, .latest = kNever, .inside = true};
  EXPECT_EQ(pause.In(twice),
            (Pause{.offset = 5, .resumed = 1014, .latest = kNever, .inside = true}));
}

// A generated stream, and the source that reads it.
class Indexed {
 public:
  explicit Indexed(const Subject& subject) : subject_(subject) {
    stream_.bytes = subject.stream().bytes;
    recording_.config = subject.stream().config;
    source_ = *OpenSource(recording_);
  }

  Stream& stream() { return stream_; }
  bool keeps_pauses() { return index().pauses.complete(); }
  void CheckPackets();
  void CheckSyncPoints();
  void CheckPauses();
  // Whether decoding has the same first and last time.
  bool HasTimesOfFlow() {
    DecodeInput input = subject_.Input(stream_.bytes, Resync::kEarliest);
    input.gaps = stream_.gaps;
    const FlowSummary sum = SummarizeAll(*Native(), input);
    return sum.first_tsc == index().times.lo && sum.last_tsc == index().times.hi;
  }
  void CheckTruePlaces();

 private:
  const StreamIndex& index() {
    if (index_ == nullptr) index_ = source_->Index(stream_);
    return *index_;
  }

  const Subject& subject_;
  Recording recording_;
  Stream stream_;
  std::shared_ptr<const TraceSource> source_;
  std::shared_ptr<const StreamIndex> index_;
};

// Reads the packets one by one.
void Indexed::CheckPackets() {
  std::map<std::string_view, PacketCount> counts;
  uint64_t unread = 0;
  const std::unique_ptr<PacketReader> reader = source_->Packets(stream_);
  const std::unique_ptr<PacketBatch> packets = reader->NewBatch();
  for (bool more = true; more; packets->Clear()) {
    more = reader->Read(*packets, 1000);
    for (size_t i = 0; i < packets->size(); ++i) {
      const TracePacket& packet = (*packets)[i];
      if (packet.lost) {
        unread += packet.size;
        continue;
      }
      PacketCount& count = counts[packets->Name(i)];
      ++count.count;
      count.bytes += packet.size;
    }
  }
  EXPECT_TRUE(std::ranges::equal(index().packets, counts, [](const auto& a, const auto& b) {
    return a.first == b.first && a.second == b.second;
  }));
  EXPECT_EQ(index().unread_bytes, unread);
  EXPECT_EQ(index().padding_bytes, counts["PAD"].bytes);
  EXPECT_EQ(index().packet_bytes + index().padding_bytes + index().unread_bytes,
            stream_.bytes.size());
}

// Looks for each PSB, and asks for its time.
void Indexed::CheckSyncPoints() {
  std::vector<std::pair<uint64_t, uint64_t>> expected;
  const std::unique_ptr<PacketReader> reader = source_->Packets(stream_);
  const std::unique_ptr<PacketBatch> packets = reader->NewBatch();
  while (reader->Read(*packets, 1000)) {
  }
  for (size_t i = 0; i < packets->size(); ++i) {
    const uint64_t offset = (*packets)[i].offset;
    if ((*packets)[i].lost || packets->Name(i) != "PSB") continue;
    if (!expected.empty() && offset - expected.back().first < StreamIndex::kSyncSpacing) continue;
    expected.emplace_back(offset, source_->FirstTime(stream_, {offset, stream_.bytes.size()}));
  }
  std::vector<std::pair<uint64_t, uint64_t>> told;
  for (const SyncPoint& point : index().sync_points)
    told.emplace_back(point.offset, point.first_tsc);
  EXPECT_EQ(told, expected);
}

// They are reported as they come, kept, and the same in another unit.
void Indexed::CheckPauses() {
  std::string told;
  const auto index = source_->Index(stream_, [&](const Pause& pause) {
    told += Text(pause);
    return true;
  });
  if (index->pauses.complete()) {
    EXPECT_TRUE(TextOf(index->pauses) == told);
  }
  EXPECT_LE(index->pauses.bytes(), StreamIndex::MostPauseBytes(stream_.bytes.size()));
  const TimeConversion unit{.shift = 1, .mult = 3, .zero = 17};
  std::string visited;
  const auto add = [&](const Pause& pause) {
    visited += Text(pause);
    return true;
  };
  EXPECT_EQ(source_->VisitPauses(stream_, unit, add), index->times.hi != 0);
  const std::string direct = std::exchange(visited, {});
  const std::shared_ptr<const TraceSource> keeper = KeepIndexes(source_);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(keeper->VisitPauses(stream_, unit, add), index->times.hi != 0);
    EXPECT_TRUE(std::exchange(visited, {}) == direct);
  }
}

// The generator knows where execution was.
void Indexed::CheckTruePlaces() {
  std::map<uint64_t, uint64_t> ips;
  for (const GeneratedPsb& psb : subject_.truth().psbs) ips[psb.offset] = psb.ip;
  EXPECT_FALSE(index().sync_points.empty());
  for (const SyncPoint& point : index().sync_points) {
    ASSERT_TRUE(ips.contains(point.offset)) << point.offset;
    EXPECT_EQ(point.ip.value_or(0), ips[point.offset]) << point.offset;
  }
}

GeneratorOptions Options(uint64_t seed) {
  GeneratorOptions options = MixedOptions(seed);
  options.instructions = 60'000;
  return options;
}

TEST(StreamIndex, TellsWhatReadingTells) {
  int kept = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Subject subject(GenerateStream(Options(seed)));
    SCOPED_TRACE(Describe(subject.stream().options));
    Indexed indexed(subject);
    indexed.CheckPackets();
    indexed.CheckSyncPoints();
    indexed.CheckPauses();
    indexed.CheckTruePlaces();
    EXPECT_TRUE(indexed.HasTimesOfFlow());
    kept += indexed.keeps_pauses() ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GE(kept, 200);
}

TEST(StreamIndex, TellsTheSameOfDamagedStreams) {
  int same_times = 0;
  constexpr int kSeeds = 300;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    GeneratedStream generated = GenerateStream(Options(seed));
    std::mt19937_64 random(seed);
    for (int i = 0; i < 5; ++i)
      generated.bytes[random() % generated.bytes.size()] = static_cast<uint8_t>(random());
    const Subject subject(std::move(generated));
    SCOPED_TRACE(Describe(subject.stream().options));
    Indexed indexed(subject);
    Stream& stream = indexed.stream();
    for (uint64_t gaps = seed % 4; gaps > 0; --gaps)
      stream.gaps.push_back({.offset = random() % stream.bytes.size(), .reason = "a hole"});
    std::ranges::sort(stream.gaps, {}, &StreamGap::offset);
    indexed.CheckPackets();
    indexed.CheckSyncPoints();
    indexed.CheckPauses();
    same_times += indexed.HasTimesOfFlow() ? 1 : 0;
    if (HasFailure()) return;
  }
  // A decoder passes over packets that it does not trust.
  EXPECT_GE(same_times, kSeeds * 9 / 10);
  RecordProperty("same_times", same_times);
}

}  // namespace
}  // namespace flowback::testing
