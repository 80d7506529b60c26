// SPDX-License-Identifier: MIT
#include "decode/pt/stream/execution_mode.h"

#include <gtest/gtest.h>

namespace flowback::pt {
namespace {

constexpr ModeExec k64{.cs_l = true, .cs_d = false, .iflag = true};
constexpr ModeExec k32{.cs_l = false, .cs_d = true, .iflag = true};

TEST(ExecutionMode, CodeIsOf64BitsUntilAPacketSaysOtherwise) {
  ExecutionMode mode;
  EXPECT_EQ(mode.code(), CodeMode::kX86_64);
  EXPECT_FALSE(mode.Take(k64).code);
  EXPECT_TRUE(mode.Take(k32).code);
  EXPECT_EQ(mode.code(), CodeMode::kX86_32);
  EXPECT_FALSE(mode.Take(k32).code);
}

TEST(ExecutionMode, TheFirstPacketChangesNoInterruptFlag) {
  ExecutionMode mode;
  ModeExec packet = k64;
  EXPECT_FALSE(mode.Take(packet).interrupt_flag);
  packet.iflag = false;
  EXPECT_TRUE(mode.Take(packet).interrupt_flag);
  EXPECT_FALSE(mode.Take(packet).interrupt_flag);
}

}  // namespace
}  // namespace flowback::pt
