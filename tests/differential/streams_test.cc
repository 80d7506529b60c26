// SPDX-License-Identifier: MIT
// 1500 generated streams: native == truth, and for a thousand of them and more == libipt.
//
// Packets that libipt 2.0.5 cannot read are left out of its half of the comparison by these rules,
// and counted in the output:
//   packets   the stream holds CFE, EVD or PEBS packets, which it does not know;
//   flag      a MODE.Exec and a FUP change the interrupt flag: it waits for a TIP to bind the
//             MODE.Exec to, and takes the FUP for an interrupt's where a TIP follows;
//   returns   at some compressed RET, a call stack that is popped at compressed RETs only, as its
//             is, does not have the RET's target on top (truth: wrong_without_pop);
//   overflow  an overflow resolves into a PSB+ whose FUP says where tracing goes on, after which
//             its instruction decoder stays disabled.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "decode/effort.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_groups.h"
#include "tests/differential/harness.h"
#include "tests/support/byte_account.h"
#include "tests/support/exact_flow.h"
#include "tests/support/exact_ranges.h"

namespace flowback::testing {
namespace {

constexpr uint64_t kShards = 20;
constexpr uint64_t kSeedsPerShard = 75;
constexpr uint64_t kFirstSeed = 1;
constexpr unsigned kLeastCompared = 50;  // so that a thousand are compared with libipt, too

const char* WhyNotReference(const GeneratedTruth& truth) {
  if (truth.events != 0) return "packets";
  if (truth.flag_changes != 0) return "flag";
  if (truth.wrong_without_pop) return "returns";
  for (const GeneratedLoss& loss : truth.losses)
    if (loss.into_psb) return "overflow";
  return nullptr;
}

void ExpectTruth(const Subject& subject, Decoder& native) {
  const GeneratedTruth& truth = subject.truth();
  const Seen seen = DecodeAll(native, subject.Input());
  EXPECT_EQ(CountsText(seen.sum), CountsText(truth)) << LossesText(seen.sum.losses);
  accounts::ExpectAccount(subject.Input(), seen.sum.losses, seen.account);
  ASSERT_EQ(seen.sum.losses.size(), truth.losses.size()) << LossesText(seen.sum.losses);
  for (size_t i = 0; i < truth.losses.size(); ++i) {
    EXPECT_EQ(seen.sum.losses[i].cause, LossCause::kOverflow);
    EXPECT_LE(seen.sum.losses[i].begin, truth.losses[i].offset);
    EXPECT_GE(seen.sum.losses[i].end, truth.losses[i].offset);
  }
}

// But padding, MTC and CYC.
uint64_t PacketsIn(Bytes bytes) {
  uint64_t count = 0;
  pt::PebsState pebs;
  pt::Packet packet;
  while (!bytes.empty()) {
    const pt::ReadResult size = pt::ReadPacket(bytes, pebs, packet);
    if (!size) break;
    bytes = bytes.subspan(*size);
    count += std::visit(
        []<class P>(const P&) { return !pt::kIsOneOf<P, pt::Pad, pt::Mtc, pt::Cyc>; }, packet);
  }
  return count;
}

void ExpectSameSums(const Subject& subject, Decoder& native) {
  const Seen seen = DecodeAll(native, subject.Input());
  const FlowSummary sum = SummarizeAll(native, subject.Input());
  ExpectSameInParallel(native, subject.Input(), sum);
  ExpectSameWithEvents(native, subject.Input(), sum);
  EXPECT_EQ(CountsText(sum), CountsText(seen.sum));
  EXPECT_EQ(sum.blocks, seen.sum.blocks);
  EXPECT_EQ(LossesText(sum.losses), LossesText(seen.sum.losses));
  ExpectSameTimes(sum, seen.sum);
  EXPECT_EQ(sum.bytes_decoded, seen.account.decoded);
  EXPECT_EQ(sum.bytes_padding, seen.account.padding);
  EXPECT_EQ(sum.bytes_lost, seen.account.lost);
  // Each packet was taken by heart, or is counted by why not.
  if (sum.losses.empty()) {
    EXPECT_EQ(sum.effort->All(), PacketsIn(subject.stream().bytes));
  }
}

// Also where the code is another program's.
void ExpectSameDelivery(const Subject& subject, const Subject& other) {
  deliveries::DeliveryComparison comparison;
  deliveries::RangeComparison ranges;
  for (const AddressSpaceHistory* const code : {subject.Input().code, other.Input().code}) {
    DecodeInput input = subject.Input();
    input.code = code;
    comparison.ExpectSame(input);
    ranges.ExpectSame(input);
  }
}

// Each piece ends behind the next PSB+, whose FUP proves the last instructions before it.
void ExpectPiecesMakeTheWhole(const Subject& subject, Decoder& native) {
  const std::vector<GeneratedPsb>& psbs = subject.truth().psbs;
  const Bytes whole(subject.stream().bytes);
  FlowDigest joined;
  for (size_t i = 0; i < psbs.size(); ++i) {
    const uint64_t end = i + 1 < psbs.size() ? psbs[i + 1].end : whole.size();
    const Bytes piece = Slice(whole, psbs[i].offset, end - psbs[i].offset);
    EXPECT_EQ(joined.count, psbs[i].instructions) << "before PSB " << i;
    joined.Append(DecodeAll(native, subject.Input(piece, Resync::kEarliest)).sum.digest);
  }
  EXPECT_EQ(DigestText(joined), DigestText(subject.truth().digest));
}

class Streams : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Streams, NativeEqualsTruthEqualsReference) {
  const std::unique_ptr<Decoder> native = Native();
  const std::unique_ptr<Decoder> reference = Reference();
  std::map<std::string, unsigned> left_out;
  unsigned compared = 0;
  std::unique_ptr<Subject> subject_now;
  const Seeds seeds = SeedsOf(GetParam(), kFirstSeed, kSeedsPerShard);
  for (uint64_t i = 0; i < seeds.count; ++i) {
    const std::unique_ptr<Subject> before = std::move(subject_now);
    subject_now = std::make_unique<Subject>(GenerateStream(MixedOptions(seeds.first + i)));
    const Subject& subject = *subject_now;
    SCOPED_TRACE(Describe(subject.stream().options));
    ExpectTruth(subject, *native);
    ExpectSameSums(subject, *native);
    if (before) ExpectSameDelivery(subject, *before);
    ExpectPiecesMakeTheWhole(subject, *native);
    if (reference == nullptr) continue;
    if (const char* why = WhyNotReference(subject.truth())) {
      ++left_out[why];
      continue;
    }
    const Seen seen = DecodeAll(*reference, subject.Input(Resync::kSyncPoint));
    EXPECT_EQ(CountsText(seen.sum), CountsText(subject.truth())) << LossesText(seen.sum.losses);
    ++compared;
  }
  std::printf("compared with libipt: %u of %u", compared, static_cast<unsigned>(seeds.count));
  for (const auto& [why, count] : left_out)
    std::printf(", %u left out by rule: %s", count, why.c_str());
  std::printf("\n");
  if (reference != nullptr && seeds.usual) {
    EXPECT_GE(compared, kLeastCompared);
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, Streams, ::testing::Range(uint64_t{0}, kShards));

}  // namespace
}  // namespace flowback::testing
