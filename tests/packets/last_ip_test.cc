// SPDX-License-Identifier: MIT
#include "decode/pt/packets/last_ip.h"

#include <gtest/gtest.h>

#include <random>

namespace flowback::pt {
namespace {

constexpr uint64_t kLast = 0x1122334455667788;

uint64_t Applied(IpPayload ip) {
  LastIp last;
  last.Set(kLast);
  return last.Apply(ip).value();
}

TEST(LastIp, BeginsAtZero) {
  LastIp last;
  EXPECT_EQ(last.Apply({IpPayload::kUpdate16, 0x1234}), 0x1234);
}

TEST(LastIp, EachCompression) {
  EXPECT_EQ(Applied({IpPayload::kUpdate16, 0xabcd}), 0x112233445566abcd);
  EXPECT_EQ(Applied({IpPayload::kUpdate32, 0x89abcdef}), 0x1122334489abcdef);
  EXPECT_EQ(Applied({IpPayload::kUpdate48, 0xf00000000001}), 0x1122f00000000001);
  EXPECT_EQ(Applied({IpPayload::kSignExtend48, 0x7fffffffffff}), 0x00007fffffffffff);
  EXPECT_EQ(Applied({IpPayload::kSignExtend48, 0x800000000000}), 0xffff800000000000);
  EXPECT_EQ(Applied({IpPayload::kFull, 0xfedcba9876543210}), 0xfedcba9876543210);
}

TEST(LastIp, SuppressedChangesNothing) {
  LastIp last;
  last.Set(kLast);
  EXPECT_EQ(last.Apply({}), std::nullopt);
  EXPECT_EQ(last.value(), kLast);
}

TEST(LastIp, InDoubtOnlyAnAddressThatNeedsNoneBeforeItIsTold) {
  for (const uint8_t size : {IpPayload::kUpdate16, IpPayload::kUpdate32, IpPayload::kUpdate48}) {
    LastIp last;
    last.Set(kLast);
    last.Doubt();
    EXPECT_EQ(last.Apply({size, 0x1234}), std::nullopt);
    EXPECT_EQ(last.Apply({}), std::nullopt);
    EXPECT_TRUE(last.in_doubt());
    EXPECT_EQ(last.Apply({IpPayload::kSignExtend48, 0x405678}), 0x405678);
    EXPECT_EQ(last.Apply({IpPayload::kUpdate16, 0x1234}), 0x401234);
    last.Doubt();
    EXPECT_EQ(last.Apply({IpPayload::kFull, kLast}), kLast);
    last.Doubt();
    last.Reset();
    EXPECT_EQ(last.Apply({IpPayload::kUpdate16, 0x1234}), 0x1234);
  }
}

TEST(LastIp, ReservedSizesAreInvalid) {
  for (uint8_t code = 0; code < 8; ++code) {
    EXPECT_EQ(IpPayload::Valid(code), code != 5 && code != 7);
    EXPECT_EQ(IpPayload::Size(code) != 0, code != 0 && code != 5 && code != 7);
  }
}

TEST(LastIp, CompressIsInverseAndShortest) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    LastIp last;
    last.Set(random());
    // Keep some upper bits, so that every compression occurs; make some of them canonical.
    uint64_t ip = last.value() ^ (random() >> (random() % 64));
    if (random() % 2 == 0) ip = static_cast<uint64_t>(static_cast<int64_t>(ip << 16) >> 16);
    const IpPayload payload = last.Compress(ip);
    for (uint8_t code = 1; code < 8; ++code) {
      if (!IpPayload::Valid(code) || IpPayload::Size(code) >= IpPayload::Size(payload.ip_bytes))
        continue;
      LastIp shorter = last;
      const uint64_t low = ip & ((uint64_t{1} << 8 * IpPayload::Size(code)) - 1);
      EXPECT_NE(shorter.Apply({code, low}), ip) << "IPBytes " << int{code} << " would do";
    }
    EXPECT_EQ(last.Apply(payload), ip);
    LastIp other;
    other.Set(random());
    EXPECT_EQ(other.Apply(LastIp::Uncompressed(ip)), ip);
  }
}

}  // namespace
}  // namespace flowback::pt
