// SPDX-License-Identifier: MIT
// The sums of functions do not depend on how many call paths are kept.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "decode/pt/native_decoder.h"
#include "flowback/decode/decoder.h"
#include "replay/timeline/call_relay.h"
#include "replay/timeline/thread_timeline_builder.h"
#include "tests/support/generator/stream_generator.h"
#include "tests/timeline/relay_feed.h"

namespace flowback {
namespace {

// Functions of so many bytes.
class EqualFunctions final : public FunctionFinder {
 public:
  explicit EqualFunctions(uint64_t size) : size_(size) {}
  FunctionPiece Find(const AddressSpace*, uint64_t ip) override {
    const uint64_t begin = ip / size_ * size_;
    return {.begin = begin, .end = begin + size_, .id = begin, .is_entry = true};
  }

 private:
  uint64_t size_;
};

struct Told {
  std::vector<std::string> names;
  std::vector<CallSums> functions;
  std::vector<CallPath> paths;
};

Told Tell(const testing::GeneratedStream& stream, size_t most_paths, uint64_t size) {
  const AddressSpaceHistory code = CodeOf(stream);
  DecodeInput input;
  input.bytes = stream.bytes;
  input.code = &code;
  input.config = stream.config;
  input.times = true;
  EqualFunctions finder(size);
  Symbolizer symbolizer;
  FunctionTable functions(symbolizer);
  const TimelineOptions options{.most_paths = most_paths};
  const BuilderPlan plan{
      .unit = TimeUnit({}), .options = options, .functions = functions, .most_calls = 16};
  ThreadTimelineBuilder teller(plan, nullptr, TimeStrip(0, 0, 0));
  CallRelay relay(finder, teller, false);
  RelayFeed feed(relay);
  EXPECT_TRUE(pt::MakeNativeDecoder()->Decode(input, feed));
  teller.EndLife();
  relay.Finish();
  ThreadTimeline thread;
  teller.Finish(thread);
  Told told;
  told.functions = teller.tree().ByFunction(functions.all().size());
  for (const TimelineFunction& function : functions.all()) told.names.push_back(function.name);
  teller.tree().Cut(most_paths);
  EXPECT_LE(teller.tree().size(), std::max<size_t>(most_paths, 2));
  told.paths = teller.tree().Paths(0);
  return told;
}

std::string WayTo(const Told& told, const CallPath& path) {
  if (&path == &told.paths.front()) return {};
  return WayTo(told, told.paths[path.parent]) + "/" +
         (path.is_cut ? "cut" : std::to_string(path.function));
}

void ExpectSame(const CycleShare& a, const CycleShare& b) {
  EXPECT_EQ(a.instructions, b.instructions);
  // Shares by instructions are rounded, in an order that a cut changes.
  EXPECT_NEAR(static_cast<double>(a.likely), static_cast<double>(b.likely),
              1 + static_cast<double>(b.likely) / 200);
  EXPECT_EQ(a.lo, b.lo);
  EXPECT_EQ(a.hi, b.hi);
  EXPECT_EQ(a.untold, b.untold);
}

void ExpectSameFunctions(const Told& a, const Told& b) {
  ASSERT_EQ(a.names, b.names);
  for (size_t i = 0; i < a.names.size(); ++i) {
    SCOPED_TRACE(a.names[i]);
    EXPECT_EQ(a.functions[i].count, b.functions[i].count);
    EXPECT_EQ(a.functions[i].partial, b.functions[i].partial);
    EXPECT_EQ(a.functions[i].self_instructions, b.functions[i].self_instructions);
    EXPECT_EQ(a.functions[i].instructions, b.functions[i].instructions);
    EXPECT_EQ(a.functions[i].durations.count, b.functions[i].durations.count);
    ExpectSame(a.functions[i].self_cycles, b.functions[i].self_cycles);
    ExpectSame(a.functions[i].cycles, b.functions[i].cycles);
  }
}

// A path has what it had, or says that it may have had more.
void ExpectPartOf(const Told& cut, const Told& whole) {
  std::map<std::string, const CallPath*> all;
  for (const CallPath& path : whole.paths) all[WayTo(whole, path)] = &path;
  for (const CallPath& path : cut.paths) {
    if (path.is_cut) continue;
    const CallSums& sums = all.at(WayTo(cut, path))->sums;
    EXPECT_LE(path.sums.count, sums.count);
    EXPECT_LE(path.sums.instructions, sums.instructions);
    if (path.at_least) continue;
    EXPECT_EQ(path.sums.count, sums.count) << WayTo(cut, path);
    EXPECT_EQ(path.sums.self_instructions, sums.self_instructions) << WayTo(cut, path);
    EXPECT_EQ(path.sums.instructions, sums.instructions) << WayTo(cut, path);
  }
}

// With interrupts, losses, callers that are found late, other stacks and recursion.
TEST(CutPathsTest, FunctionsStayExact) {
  size_t at_least = 0;
  size_t cut = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const testing::GeneratedStream stream = GenerateStream(CycleOptions(seed));
    const uint64_t size = seed % 2 == 0 ? 0x40 : 0x400;
    const Told whole = Tell(stream, size_t{1} << 20, size);
    for (const size_t most : {4u, 16u, 64u}) {
      SCOPED_TRACE(::testing::Message() << Describe(stream.options) << ", " << most << " paths");
      const Told few = Tell(stream, most, size);
      ASSERT_NO_FATAL_FAILURE(ExpectSameFunctions(few, whole));
      ExpectPartOf(few, whole);
      for (const CallPath& path : few.paths) {
        at_least += path.at_least ? 1 : 0;
        cut += path.is_cut ? 1 : 0;
      }
    }
  }
  EXPECT_GT(cut, 100u);
  EXPECT_GT(at_least, 100u);
}

}  // namespace
}  // namespace flowback
