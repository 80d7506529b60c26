// SPDX-License-Identifier: MIT
// Calls of the generated recordings: each function's own instructions, which the model counts by
// what is on its stack, against what the generator counted by address.
#include <cxxabi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "flowback/base/flow_digest.h"
#include "flowback/capture/open.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/replay/call_stack.h"
#include "flowback/replay/symbolizer.h"
#include "tests/golden/shared_traces.h"

namespace flowback::test {
namespace {

std::string Demangle(const std::string& name) {
  int status = 0;
  char* text = name.starts_with("_Z") ? abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status)
                                      : nullptr;
  std::string result = text == nullptr ? name : text;
  std::free(text);
  return result;
}

// Parts of a function count for it: "f.cold".
std::string WholeFunction(const std::string& name) {
  return name.substr(0, std::min(name.find(".cold"), name.find(" [clone .cold")));
}

// Sums up each function's own instructions, and checks that calls nest.
class Sums final : public CallListener, public ExecutionConsumer {
 public:
  explicit Sums(Symbolizer& symbolizer, bool takes_batches = true)
      : symbolizer_(symbolizer), functions_(symbolizer), takes_batches_(takes_batches) {}

  void OnBlock(const BlockRun& run) override { stack_.OnBlock(run); }
  void OnBlocks(const BlockBatch& batch) override {
    if (takes_batches_)
      stack_.OnBlocks(batch);
    else
      ExecutionConsumer::OnBlocks(batch);
  }
  void OnEvent(const TraceEvent& event) override { stack_.OnEvent(event); }
  void OnLoss(const DataLoss& loss) override { stack_.OnLoss(loss); }
  uint64_t Finish() {
    const uint64_t instructions = stack_.instructions();
    stack_.Finish();
    return instructions;
  }

  void OnEnter(const Call& call, size_t depth) override {
    EXPECT_EQ(depth, open_.size());
    open_.push_back(call.entry_ip);
    Log({call.entry_ip, call.tsc, call.bounds.lo, call.bounds.hi, call.instructions_before});
  }
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override {
    Log({static_cast<uint64_t>(how), call.self, instructions, time.tsc, time.bounds.lo,
         time.bounds.hi});
    ASSERT_EQ(depth + 1, open_.size());
    EXPECT_EQ(call.entry_ip, open_.back());
    open_.pop_back();
    total += call.self;
    ++exits[how];
    const auto symbol = symbolizer_.Find(*call.space, call.entry_ip);
    const CodeMapping* mapping = call.space->Find(call.entry_ip);
    const std::string name =
        std::filesystem::path(mapping == nullptr ? "" : mapping->section->name())
            .filename()
            .string() +
        ":" + (symbol ? WholeFunction(std::string(symbol->name)) : "?");
    self[name] += call.self;
    if (call.via_stub) through_stubs.insert(name);
  }
  void OnGap(const UntracedGap& gap, size_t depth) override {
    EXPECT_EQ(depth, open_.size());
    Log({gap.site, gap.begin_tsc, gap.begin_bounds.lo, gap.end_tsc});
  }

  void OnSwitch(uint32_t stack) override {
    Log({stack});
    left_[on_].swap(open_);
    open_.swap(left_[stack]);
    on_ = stack;
    ++switches;
  }

  uint64_t switches = 0;
  std::map<std::string, uint64_t> self;
  std::map<CallExit, uint64_t> exits;
  std::set<std::string> through_stubs;  // their instructions include the stubs'
  uint64_t total = 0;
  FlowDigest log;  // of the whole flow

 private:
  void Log(std::initializer_list<uint64_t> numbers) {
    for (const uint64_t number : numbers) log.Append(number);
  }

  Symbolizer& symbolizer_;
  SymbolFunctions functions_;
  const bool takes_batches_;
  CallStack stack_{functions_, *this};
  std::vector<uint64_t> open_;
  std::map<uint32_t, std::vector<uint64_t>> left_;  // the same for other stacks
  uint32_t on_ = 0;
};

// truth.txt's "function COUNT IMAGE:NAME", by "IMAGE:NAME".
std::map<std::string, uint64_t> TrueCounts(const std::filesystem::path& file) {
  std::map<std::string, uint64_t> counts;
  for (const std::vector<std::string>& row : golden::ReadTable(file)) {
    if (row.size() != 3 || row[0] != "function") continue;
    const size_t colon = row[2].find(':') + 1;
    counts[row[2].substr(0, colon) + WholeFunction(Demangle(row[2].substr(colon)))] +=
        std::stoull(row[1]);
  }
  return counts;
}

// Not where the two ways of counting differ rightly: stubs, assembly that jumps into a neighbour's
// middle, labels without a size, which are a byte to the generator.
bool IsComparable(const std::string& name, uint64_t count, const Sums& sums) {
  const bool is_assembly = name.find(":__mem") != std::string::npos || name.ends_with("setjmp");
  return !name.ends_with('?') && count > 20 && !is_assembly && !sums.through_stubs.contains(name);
}

// Debian strips the C library; the names of its static functions are in libc6-dbg. Without them
// their instructions count for the exported function before.
bool HasLibrarySymbols(const Sums& sums) {
  return std::ranges::any_of(sums.self, [](const auto& function) {
    return function.first.ends_with(":__libc_start_call_main");
  });
}

bool IsOfLibrary(const std::string& name) {
  return name.starts_with("lib") || name.starts_with("ld-");
}

class CallsOfRecording : public testing::TestWithParam<const char*> {
 protected:
  void Decode(Sums& sums, bool times = false) {
    const std::filesystem::path folder = golden::TracesFolder() / "generated";
    OpenOptions options;
    options.input = folder / GetParam() / "perf.data";
    const Result<Recording> recording = OpenRecording(options);
    ASSERT_TRUE(recording) << recording.error().message();
    ImageSearch search;
    search.symfs = folder / "images";
    const Result<RecordingCode> code = RecordingCode::Load(*recording, search);
    ASSERT_TRUE(code) << code.error().message();
    const auto decoder = MakeDecoder("native");
    for (const Stream& stream : recording->streams) {
      DecodeInput input;
      input.bytes = stream.bytes;
      input.code = &code->ForStream(stream);
      input.config = recording->config;
      input.time = recording->time;
      input.gaps = stream.gaps;
      input.times = times;
      ASSERT_TRUE((*decoder)->Decode(input, sums));
      counted_ += sums.Finish();
    }
  }
  uint64_t counted_ = 0;
};

TEST_P(CallsOfRecording, OwnInstructionsAreTheTrueOnes) {
  FLOWBACK_NEEDS_TRACES();
  Symbolizer symbolizer;
  Sums sums(symbolizer);
  Decode(sums);
  EXPECT_EQ(sums.total, counted_);
  EXPECT_EQ(sums.exits[CallExit::kLost], 0u);
  const auto truth = TrueCounts(golden::TracesFolder() / "generated" / GetParam() / "truth.txt");
  const bool library_symbols = HasLibrarySymbols(sums);
  std::set<std::string> compared;
  for (const auto& [name, count] : truth) {
    const auto found = sums.self.find(name);
    if (found == sums.self.end() || !IsComparable(name, count, sums)) continue;
    if (IsOfLibrary(name) && !library_symbols) continue;
    compared.insert(name);
    EXPECT_EQ(found->second, count) << name;
  }
  EXPECT_TRUE(std::ranges::any_of(compared,
                                  [](const std::string& name) { return name.ends_with(":main"); }));
}

TEST_P(CallsOfRecording, AreTheSameOneByOne) {
  FLOWBACK_NEEDS_TRACES();
  Symbolizer symbolizer;
  for (const bool times : {false, true}) {
    Sums batches(symbolizer, true);
    Sums one_by_one(symbolizer, false);
    Decode(batches, times);
    Decode(one_by_one, times);
    EXPECT_EQ(batches.log, one_by_one.log);
    EXPECT_EQ(batches.self, one_by_one.self);
    EXPECT_NE(batches.log.count, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, CallsOfRecording,
                         testing::Values("hello", "recursion", "recursion-noretcomp", "retmix",
                                         "vcalls", "strings", "coverage", "latency-cyc",
                                         "signals-async", "sort-long-tnt", "traps"),
                         [](const auto& test) { return golden::TestName(test.param); });

}  // namespace
}  // namespace flowback::test
