// SPDX-License-Identifier: MIT
// Processes whose code changes, with trace before and after each change. Only the right bytes give
// the right flow: the programs differ in their instructions' lengths.
#include <gtest/gtest.h>

#include "flowback/decode/decoder.h"
#include "tests/changing_code/recorded_flow.h"

namespace flowback {
namespace {

constexpr uint64_t kCode = 0x401000;
const std::vector<uint8_t> kShort = {0x90, 0xff, 0xe0};                         // nop; jmp rax
const std::vector<uint8_t> kLong = {0x0f, 0x1f, 0x44, 0x00, 0x00, 0xff, 0xe0};  // 5 bytes of nop

// Goes from one address to the next, all of them blocks that end with an indirect jump.
void Walk(TraceWriter& trace, uint64_t tsc, const std::vector<uint64_t>& addresses) {
  trace.Sync(tsc, addresses.front());
  for (size_t i = 1; i < addresses.size(); ++i) trace.Tip(addresses[i]);
}

std::vector<uint8_t> Padded(std::vector<uint8_t> code, size_t size) {
  code.resize(size, 0xcc);
  return code;
}

class UserCodeTest : public testing::TestWithParam<std::string_view> {
 protected:
  void Expect(const std::string& ips, size_t stream = 0) {
    const Flow flow = flow_.Decode(std::string(GetParam()), stream);
    EXPECT_EQ(Text(flow.ips), ips);
    EXPECT_EQ(Text(flow.losses), "");
  }

  RecordedFlow flow_;
};

TEST_P(UserCodeTest, AnotherFileAtTheSamePlace) {
  flow_.Map(10, kPid, kCode, 0x1000, flow_.File("a.so", kShort));
  flow_.Map(200, kPid, kCode, 0x1000, flow_.File("b.so", kLong));
  flow_.Map(300, kPid, kCode, 0x1000, flow_.File("a.so", kShort));
  TraceWriter trace;
  Walk(trace, 100, {kCode, kCode});
  Walk(trace, 250, {kCode, kCode});
  Walk(trace, 350, {kCode, kCode});
  flow_.Trace(kPid, trace);
  Expect("401000 401001 401000 401005 401000 401001");
}

TEST_P(UserCodeTest, AMappingInTheMiddleOfAnOlderOne) {
  std::vector<uint8_t> old = Padded(kShort, 0x1000);
  old.insert(old.end(), kShort.begin(), kShort.end());
  old.resize(0x2000, 0xcc);
  old.insert(old.end(), kShort.begin(), kShort.end());
  flow_.Map(10, kPid, kCode, 0x3000, flow_.File("old.so", old));
  flow_.Map(200, kPid, kCode + 0x1000, 0x1000, flow_.File("new.so", kLong));
  TraceWriter trace;
  Walk(trace, 100, {kCode, kCode + 0x1000, kCode + 0x2000, kCode});
  Walk(trace, 250, {kCode, kCode + 0x1000, kCode + 0x2000, kCode});
  flow_.Trace(kPid, trace);
  Expect(
      "401000 401001 402000 402001 403000 403001 "
      "401000 401001 402000 402005 403000 403001");
}

TEST_P(UserCodeTest, ForkInheritsAndThenDiverges) {
  const std::string a = flow_.File("a.so", kShort);
  flow_.Map(10, kPid, kCode, 0x1000, a);
  flow_.Fork(200, 77, kPid);
  flow_.Map(300, 77, kCode, 0x1000, flow_.File("child.so", kLong));
  TraceWriter parent;
  Walk(parent, 100, {kCode, kCode});
  Walk(parent, 350, {kCode, kCode});
  TraceWriter child;
  Walk(child, 250, {kCode, kCode});
  Walk(child, 350, {kCode, kCode});
  flow_.Trace(kPid, parent);
  flow_.Trace(77, child);
  Expect("401000 401001 401000 401001", 0);
  Expect("401000 401001 401000 401005", 1);
}

TEST_P(UserCodeTest, ExecLeavesNothingOfTheOldProgram) {
  flow_.Map(10, kPid, kCode, 0x1000, flow_.File("sh", kShort));
  flow_.Map(10, kPid, kCode + 0x10000, 0x1000, flow_.File("libc", kShort));
  flow_.Exec(200, kPid);
  flow_.Map(201, kPid, kCode, 0x1000, flow_.File("ls", kLong));
  TraceWriter trace;
  Walk(trace, 100, {kCode, kCode + 0x10000, kCode});
  Walk(trace, 250, {kCode, kCode + 0x10000, kCode});
  flow_.Trace(kPid, trace);
  const Flow flow = flow_.Decode(std::string(GetParam()));
  EXPECT_EQ(Text(flow.ips), "401000 401001 411000 411001 401000 401005");
  ASSERT_EQ(flow.losses.size(), 1u) << Text(flow.losses);
  EXPECT_EQ(flow.losses[0].cause, LossCause::kNoImage);
  EXPECT_EQ(flow.losses[0].last_ip, kCode + 0x10000);
}

TEST_P(UserCodeTest, ANumberThatASecondProcessGets) {
  flow_.Map(5, 7, kCode, 0x1000, flow_.File("sh", kLong));
  flow_.Fork(6, kPid, 7);
  flow_.Exec(7, kPid);
  flow_.Map(10, kPid, kCode, 0x1000, flow_.File("first", kShort));
  flow_.Map(10, kPid, kCode + 0x10000, 0x1000, flow_.File("first.so", kShort));
  flow_.Exit(150, kPid);
  flow_.Fork(160, kPid, 7);
  flow_.Exec(200, kPid);
  flow_.Map(201, kPid, kCode, 0x1000, flow_.File("second", kLong));
  flow_.Map(202, kPid, kCode + 0x10000, 0x1000, flow_.File("second.so", kLong));
  TraceWriter trace;
  Walk(trace, 100, {kCode, kCode + 0x10000, kCode});
  Walk(trace, 170, {kCode, kCode});  // still the shell's copy
  Walk(trace, 250, {kCode, kCode + 0x10000, kCode});
  flow_.Trace(kPid, trace);
  Expect(
      "401000 401001 411000 411001 "
      "401000 401005 "
      "401000 401005 411000 411005");
}

TEST_P(UserCodeTest, LibraryClosedAndAnotherOpenedElsewhereAndThere) {
  flow_.Map(10, kPid, kCode, 0x1000, flow_.File("program", kShort));
  flow_.Map(50, kPid, kCode + 0x10000, 0x2000, flow_.File("one.so", kShort));
  // dlclose unmaps without a record; what comes then may overlap the old one in part.
  flow_.Map(200, kPid, kCode + 0xf000, 0x2000, flow_.File("two.so", Padded(kLong, 0x1000)));
  TraceWriter trace;
  Walk(trace, 100, {kCode, kCode + 0x10000, kCode});
  Walk(trace, 250, {kCode, kCode + 0xf000, kCode});
  flow_.Trace(kPid, trace);
  Expect("401000 401001 411000 411001 401000 401001 410000 410005");
}

TEST_P(UserCodeTest, AnonymousCodeIsALossThatSaysSo) {
  flow_.Map(10, kPid, kCode, 0x1000, flow_.File("program", kShort));
  flow_.Map(20, kPid, kCode + 0x10000, 0x1000, "//anon");
  TraceWriter trace;
  Walk(trace, 100, {kCode, kCode + 0x10000, kCode});
  flow_.Trace(kPid, trace);
  const Flow flow = flow_.Decode(std::string(GetParam()));
  ASSERT_EQ(flow.losses.size(), 1u) << Text(flow.losses);
  EXPECT_EQ(flow.losses[0].cause, LossCause::kNoImage);
  EXPECT_NE(flow.losses[0].detail.find("//anon: memory without a file"), std::string::npos)
      << flow.losses[0].detail;
  EXPECT_NE(flow.losses[0].detail.find("--core"), std::string::npos) << flow.losses[0].detail;
}

INSTANTIATE_TEST_SUITE_P(Engines, UserCodeTest, testing::ValuesIn(DecoderNames()),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace flowback
