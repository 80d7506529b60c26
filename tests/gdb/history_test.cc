// SPDX-License-Identifier: MIT
// gdb's own history commands, `record instruction-history` and `record function-call-history`,
// against the listing of the flow.
#include <algorithm>
#include <utility>

#include "tests/gdb/gdb_test.h"

namespace flowback::test {
namespace {

class HistoryTest : public GdbTest {
 protected:
  // Address and function of each instruction that executed before the one of that number.
  std::vector<std::pair<std::string, std::string>> Listed(size_t end) {
    const ProgramResult told =
        RunShell(folder_, "$F decode recording --fields ip,sym | grep -v '^#'");
    std::vector<std::pair<std::string, std::string>> listed;
    const std::regex line("0*([0-9a-f]+) ([^\\n ]*)");
    for (std::sregex_iterator at(told.out.begin(), told.out.end(), line), none;
         at != none && listed.size() < end; ++at)
      listed.emplace_back((*at)[1], (*at)[2]);
    return listed;
  }
};

// The address of each line, without leading zeros.
std::vector<std::string> ShownAddresses(const std::string& text) {
  return Matches(text, "(?:^|\\n)\\d+\\t(?: +|=> )0x0*([0-9a-f]+)");
}

TEST_F(HistoryTest, ListsTheInstructionsThatRan) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O0"));
  const std::string out = Gdb("end",
                              "break middle\nreverse-continue\nmonitor when\n"
                              "record instruction-history 1,100000\nrecord stop\n"
                              "set record btrace bts buffer-size 2400\n"
                              "record function-call-history /i 1,1000\necho list\\n\n"
                              "record instruction-history 1,100000\necho small\\n\n"
                              "info record\n");
  const std::vector<std::string> number = Matches(out, "before instruction #(\\d+)");
  ASSERT_EQ(number.size(), 1u) << out;
  const auto listed = Listed(std::stoul(number[0]));
  const std::vector<std::string> shown = ShownAddresses(out.substr(0, out.find("list\n")));
  ASSERT_GT(shown.size(), 2000u);
  ASSERT_GE(listed.size(), shown.size());
  for (size_t i = 0; i < shown.size(); ++i)
    ASSERT_EQ(shown[i], listed[listed.size() - shown.size() + i].first) << i;
  const std::vector<std::string> small = ShownAddresses(out.substr(out.find("list\n")));
  EXPECT_GT(small.size(), 100u) << out;
  EXPECT_LT(small.size(), 2000u) << "gdb's buffer size bounds the window";
  // "12\tmiddle\tinst 30,41": these instructions are the function's. (Others may have several
  // names.)
  const std::regex call("\\n\\d+\\t(inner|middle|recurse|main)\\tinst (\\d+),(\\d+)");
  size_t calls = 0;
  const size_t first = listed.size() - small.size();
  for (std::sregex_iterator at(out.begin(), out.end(), call), none; at != none; ++at, ++calls)
    for (size_t i = std::stoul((*at)[2]); i <= std::stoul((*at)[3]) && i <= small.size(); ++i)
      ASSERT_EQ(listed[first + i - 1].second, (*at)[1]) << i << out;
  EXPECT_GT(calls, 10u) << out;
}

// gdb's record target would step back in its window and leave the server where it is.
TEST_F(HistoryTest, LeavesStepsBackToTheServer) {
  ASSERT_NO_FATAL_FAILURE(Record("calls", "-O0"));
  const std::string out =
      Gdb("end",
          "break middle\nreverse-continue\nrecord instruction-history\n"
          "record instruction-history -\nmonitor when\nreverse-stepi\nmonitor when\n"
          "record function-call-history\nreverse-continue\nmonitor when\n"
          "record instruction-history\ncontinue\nmonitor when\n");
  const std::vector<std::string> numbers = Matches(out, "before instruction #(\\d+)");
  ASSERT_EQ(numbers.size(), 4u) << out;
  EXPECT_EQ(std::stoi(numbers[1]), std::stoi(numbers[0]) - 1);
  EXPECT_LT(std::stoi(numbers[2]), std::stoi(numbers[1]) - 10);
  EXPECT_EQ(numbers[3], numbers[0]) << out;
  EXPECT_EQ(ShownAddresses(out).size(), 30u) << out;
}

}  // namespace
}  // namespace flowback::test
