// SPDX-License-Identifier: MIT
#include "decode/pt/stream/errata.h"

#include <gtest/gtest.h>

namespace flowback::pt {
namespace {

TEST(Errata, OtherVendorsAndUnknownCpusHaveNone) {
  EXPECT_FALSE(ErrataOf(CpuId{}).abort_branch);
  EXPECT_FALSE(ErrataOf(CpuId{.intel = false, .family = 6, .model = 0x3d}).abort_branch);
  EXPECT_FALSE(ErrataOf(CpuId{.family = 15, .model = 0x3d}).abort_branch);
}

TEST(Errata, Broadwell) {
  const Errata errata = ErrataOf(CpuId{.family = 6, .model = 0x4f});
  EXPECT_TRUE(errata.abort_branch);
  EXPECT_FALSE(errata.filter_exit_no_ip);
}

TEST(Errata, SkylakeClientAndServerDiffer) {
  const Errata client = ErrataOf(CpuId{.family = 6, .model = 0x5e});
  const Errata server = ErrataOf(CpuId{.family = 6, .model = 0x55});
  EXPECT_TRUE(client.overflow_no_fup);
  EXPECT_TRUE(client.cyc_cut_by_ovf);
  EXPECT_FALSE(client.bad_tma);
  EXPECT_FALSE(server.overflow_no_fup);
  EXPECT_TRUE(server.bad_tma);
  EXPECT_TRUE(client.vm_entry_fup && server.vm_entry_fup);
}

TEST(Errata, FilterExitsHaveTheirIpFromAlderLakeOn) {
  EXPECT_TRUE(ErrataOf(CpuId{.family = 6, .model = 0x6a}).filter_exit_no_ip);
  EXPECT_FALSE(ErrataOf(CpuId{.family = 6, .model = 0x8f}).filter_exit_no_ip);
  EXPECT_FALSE(ErrataOf(CpuId{.family = 6, .model = 0x97}).filter_exit_no_ip);
  EXPECT_TRUE(ErrataOf(CpuId{.family = 6, .model = 0xb7}).overflow_extra_pgd);
  EXPECT_TRUE(ErrataOf(CpuId{.family = 0x12, .model = 1}).vm_entry_fup);
}

TEST(Errata, GoldmontAndItsSuccessors) {
  EXPECT_TRUE(ErrataOf(CpuId{.family = 6, .model = 0x5c}).overflow_false_fup);
  EXPECT_FALSE(ErrataOf(CpuId{.family = 6, .model = 0x7a}).overflow_false_fup);
  EXPECT_TRUE(ErrataOf(CpuId{.family = 6, .model = 0x7a}).overflow_extra_pgd);
}

}  // namespace
}  // namespace flowback::pt
