// SPDX-License-Identifier: MIT
// The same tests for AArch64's code, whose instructions have one size.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/branch_stack/stacks.h"
#include "tests/support/segments.h"

namespace flowback::testing {
namespace {

//   1000 sub w0, w0, #1 ; 1004 cbnz w0, 1000 ; 1008 nop ; 100c bl 1020
//   1010 svc #0 ; 1014 b 1014 ; 1018 udf #0 ; 101c data ; 1020 ret
class AArch64Stacks : public Stacks {
 protected:
  AArch64Stacks() {
    auto section = std::make_shared<CodeSection>(
        "code", 0, Bytes(reinterpret_cast<const uint8_t*>(kWords), sizeof kWords), nullptr,
        Verification::kGiven, CodeMode::kAArch64);
    auto space = std::make_shared<AddressSpace>();
    space->Map({0x1000, sizeof kWords, 0, section});
    history_.epochs[0].space = space;
    config_.levels.kernel = false;
  }
  static constexpr uint32_t kWords[] = {0x51000400, 0x35ffffe0, 0xd503201f, 0x94000005, 0xd4000001,
                                        0x14000000, 0x00000000, 0x02345678, 0xd65f03c0};
};

TEST_F(AArch64Stacks, CodeBetweenTwoRecordsRanStraight) {
  Add({Branch(0x1004, 0x1000, BranchKind::kConditional), Branch(0x100c, 0x1020, BranchKind::kCall),
       Branch(0x1020, 0x1010, BranchKind::kReturn), Branch(0x1010, 0, BranchKind::kSystemCall),
       Branch(0, 0x1014, BranchKind::kExceptionReturn), Branch(0x1014, 0x1014, BranchKind::kJump),
       Branch(0x1014, 0, BranchKind::kInterrupt)});
  EXPECT_EQ(Flow(),
            "0x1004..0x1004 taken to 0x1000\n"
            "0x1000..0x1004 not taken, on to 0x1008\n"
            "0x1008..0x100c taken to 0x1020\n"
            "0x1020..0x1020 taken to 0x1010\n"
            "0x1010..0x1010 stops 0x0\n"
            "stopped 0x0 0x0\n"
            "unknown 0x0 0x1014\n"
            "0x1014..0x1014 taken to 0x1014\n"
            "stopped-async 0x1014 0x0\n");
  ExpectAccount(7, 0, 0);
}

// A jump that goes wrong faults where it leads to, before anything executes there.
TEST_F(AArch64Stacks, AFaultWhereNoCodeIsIsNoLoss) {
  for (const uint64_t nowhere : {0x61616160u, 0x61616161u}) {
    records_.clear();
    Add({Branch(0x1020, nowhere, BranchKind::kReturn),
         Branch(nowhere, 0, BranchKind::kInstructionFault)});
    EXPECT_EQ(Flow(), "0x1020..0x1020 taken to " + Hex(nowhere) + "\nstopped-async " +
                          Hex(nowhere) + " 0x0\n");
    ExpectAccount(2, 0, 0);
  }
}

TEST_F(AArch64Stacks, EachContradictionIsALossWithItsReason) {
  const struct {
    uint64_t target;  // of the first record
    BranchRecord second;
    LossCause cause;
  } cases[] = {
      {0x1000, Branch(0x1008, 0x1000), LossCause::kNoBranchThere},
      {0x1000, Branch(0x1006, 0x1000), LossCause::kNoBranchThere},  // inside an instruction
      {0x1002, Branch(0x1004, 0x1000), LossCause::kNoBranchThere},
      {0x1000, Branch(0x1004, 0x1008), LossCause::kOtherTarget},
      {0x1000, Branch(0x100c, 0x1020, BranchKind::kJump), LossCause::kOtherKind},
      {0x1010, Branch(0x1014, 0x1014), LossCause::kNotStraight},  // passes the system call
      {0x1018, Branch(0x1020, 0x1010), LossCause::kNotStraight},  // passes UDF
      {0x101c, Branch(0x1020, 0x1010), LossCause::kBadInstruction},
  };
  for (const auto& [target, second, cause] : cases) {
    SCOPED_TRACE(Hex(second.from) + " to " + Hex(second.to));
    records_.clear();
    Add({Branch(0x1020, target, BranchKind::kReturn), second});
    std::vector<LossCause> causes;
    ForEachItem(FlowOf(*decoder_, Input()),
                [&](const DataLoss& loss) { causes.push_back(loss.cause); });
    ASSERT_EQ(causes.size(), 1u);
    EXPECT_STREQ(Name(causes[0]), Name(cause));
  }
}

}  // namespace
}  // namespace flowback::testing
