// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "flowback/writers.h"

namespace flowback {
namespace {

// Remembers the writes that it took.
class Writes final : public TextSink {
 public:
  std::vector<std::string> taken;

 private:
  void Take(std::string_view more) override {
    taken.push_back(buffer() + std::string(more));
    Taken();
  }
};

TEST(TextSink, TextIsHandedOnInOrderAndInLargeWrites) {
  Writes writes;
  std::string all;
  for (size_t i = 0; i < 100'000; ++i) {
    const std::string line = std::to_string(i) + '\n';
    writes.buffer() += line;
    writes.Commit();
    all += line;
  }
  writes.Flush();
  std::string joined;
  for (const std::string& write : writes.taken) joined += write;
  EXPECT_EQ(joined, all);
  EXPECT_LT(writes.taken.size(), 100U);
}

TEST(TextSink, LargeTextIsHandedOnAtOnce) {
  Writes writes;
  const std::string large(size_t{1} << 20, 'x');
  writes.Write("a");
  EXPECT_TRUE(writes.taken.empty());
  writes.Write(large);
  ASSERT_EQ(writes.taken.size(), 1U);
  EXPECT_EQ(writes.taken[0], "a" + large);
}

TEST(StringSink, HoldsAllText) {
  StringSink sink;
  sink.Write("one ");
  EXPECT_EQ(sink.text(), "one ");
  sink.buffer() += "two";
  sink.Commit();
  EXPECT_EQ(sink.text(), "one two");
  EXPECT_FALSE(sink.closed());
}

}  // namespace
}  // namespace flowback
