// SPDX-License-Identifier: MIT
// Generated streams, whose truth the generator knows: each with its bytes damaged in every way, and
// with parts of its code taken away.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "decode/pt/stream/tip_order.h"
#include "tests/differential/harness.h"
#include "tests/judge/byte_damage.h"
#include "tests/judge/judge.h"

namespace flowback::judge {
namespace {

using testing::Subject;

constexpr uint64_t kShards = 20;
constexpr uint64_t kSeedsPerShard = 75;
constexpr uint64_t kFirstSeed = 1;
// In 1,200 damaged inputs; one seed has 33 of them.
constexpr uint64_t kMostDeferred = 35;

constexpr uint64_t kMostWithoutTimes = 3;  // of a shard's streams

constexpr Resync kResyncs[] = {Resync::kSyncPoint, Resync::kEarliest};
const char* NameOf(Resync resync) { return resync == Resync::kSyncPoint ? ", psb" : ", earliest"; }

class GeneratedSeeds : public ::testing::TestWithParam<uint64_t> {
 protected:
  void JudgeCode(const Subject& subject, const TrueFlow& truth, testing::Random& random) {
    AddressSpaceHistory code = CodeOf(subject.stream());
    auto space = std::make_shared<AddressSpace>(*code.epochs[0].space);
    const uint64_t address = truth.ips[random.Below(truth.ips.size())];
    const uint64_t size = uint64_t{1} << random.Between(0, 12);
    space->Unmap(address, size);
    code.epochs[0].space = std::move(space);
    for (const Resync resync : kResyncs) {
      DecodeInput input = subject.Input(resync);
      input.code = &code;
      char what[100];
      std::snprintf(what, sizeof(what), "seed %llu without %llu bytes at %#llx%s",
                    static_cast<unsigned long long>(subject.stream().options.seed),
                    static_cast<unsigned long long>(size), static_cast<unsigned long long>(address),
                    NameOf(resync));
      findings_.Add(JudgeInput(*decoder_, truth, input, nullptr, what));
    }
  }

  void JudgeBytes(const Subject& subject, const TrueFlow& truth, unsigned kind,
                  testing::Random& random) {
    const DamagedBytes damaged = DamageBytes(truth, subject.stream().bytes, kind, random);
    for (const Resync resync : kResyncs) {
      DecodeInput input = subject.Input(damaged.bytes, resync);
      input.gaps = damaged.gaps;
      findings_.Add(JudgeInput(*decoder_, truth, input, &damaged.damage,
                               "seed " + std::to_string(subject.stream().options.seed) + ", " +
                                   damaged.what + NameOf(resync)));
    }
  }

  const std::unique_ptr<Decoder> decoder_ = testing::Native();
  Findings findings_;
};

TEST_P(GeneratedSeeds, TellNothingFalse) {
  const testing::Seeds seeds = testing::SeedsOf(GetParam(), kFirstSeed, kSeedsPerShard);
  uint64_t without_times = 0;
  for (uint64_t i = 0; i < seeds.count; ++i) {
    const Subject subject(GenerateStream(testing::MixedOptions(seeds.first + i)));
    SCOPED_TRACE(Describe(subject.stream().options));
    TrueFlow truth = TrueFlowOf(*decoder_, subject.Input());
    for (size_t n = 0; n < subject.truth().times.size(); ++n)
      truth.known.push_back({n, subject.truth().times[n]});
    ASSERT_EQ(truth.digest, subject.truth().digest);
    truth.deferred_tips = subject.stream().options.deferred_tips;
    // Only the packets show whether TIPs are held back. The generator sends returns at once in any
    // case, so that some of its streams look as if it did so with all.
    const bool looks_at_once =
        truth.deferred_tips && pt::ShowsTipsAtOnce(subject.Input(), pt::Errata());
    if (looks_at_once) {
      truth.times.clear();
      truth.known.clear();
      without_times += subject.stream().options.tsc;
    }
    EXPECT_EQ(truth.TimesOutOfBounds(), 0U) << "of the undamaged stream";
    if (truth.ips.empty()) continue;
    testing::Random random(seeds.first + i);
    JudgeCode(subject, truth, random);
    for (unsigned kind = 0; kind < kByteDamages; ++kind) JudgeBytes(subject, truth, kind, random);
  }
  std::printf("%s\n", findings_.Text().c_str());
  std::printf("streams whose times are not judged: %llu\n",
              static_cast<unsigned long long>(without_times));
  EXPECT_TRUE(findings_.AllTrue());
  EXPECT_TRUE(findings_.FewExcused());
  if (seeds.usual) {
    EXPECT_LE(findings_.deferred_stretches, kMostDeferred);
    EXPECT_LE(without_times, kMostWithoutTimes);
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, GeneratedSeeds, ::testing::Range(uint64_t{0}, kShards));

}  // namespace
}  // namespace flowback::judge
