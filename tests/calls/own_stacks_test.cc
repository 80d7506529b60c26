// SPDX-License-Identifier: MIT
// A program prints its stacks while it is recorded (programs/own_stacks.cc). The stacks from its
// flow at each of those moments must be the same, frame by frame; for a copy without symbols, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "flowback/capture/open.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/replay/player.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/thread_stack.h"
#include "replay/calls/exec_times.h"
#include "replay/calls/stack_snapshots.h"
#include "tests/calls/stacks_anywhere.h"
#include "tests/cli/run_program.h"
#include "tests/record/emulated.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using Addresses = std::vector<uint64_t>;

struct Stack {
  Addresses addresses;   // where each caller goes on
  bool is_whole = true;  // else there are more
};

// What the program printed.
struct Told {
  uint64_t note = 0;                            // where the function is that notes
  std::map<int32_t, std::vector<Stack>> notes;  // by thread
};

Told ToldBy(const std::string& out) {
  Told told;
  for (const std::string& line : Lines(out)) {
    std::istringstream words(line);
    std::string word;
    words >> word >> std::hex;
    if (word == "at") words >> told.note;
    if (word != "note" && word != "walk") continue;
    int32_t tid = 0;
    words >> std::dec >> tid >> std::hex;
    Stack& stack = told.notes[tid].emplace_back();
    stack.is_whole = word == "note";
    for (uint64_t address = 0; words >> address;) stack.addresses.push_back(address);
  }
  return told;
}

// The numbers of a thread's instructions at an address that begins a block.
class Finder final : public PlayConsumer {
 public:
  explicit Finder(uint64_t address) : address_(address) {}
  void OnBlock(const BlockRun& run) override {
    if (run.address == address_)
      places.push_back({.kind = StackPlace::Kind::kInstruction, .value = instructions_});
    instructions_ += run.lengths.size();
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override { ADD_FAILURE() << loss.detail; }
  std::vector<StackPlace> places;

 private:
  uint64_t address_;
  uint64_t instructions_ = 0;
};

// As the program prints it: after a handler comes the code that it returns to.
Addresses CallersOf(const ThreadStack& stack, bool with_guesses) {
  Addresses addresses;
  for (size_t i = 0; i < stack.frames.size(); ++i) {
    if (stack.frames[i].is_guess && !with_guesses) break;
    if (i != 0) addresses.push_back(stack.frames[i].address);
    if (stack.frames[i].is_handler) addresses.push_back(0);
  }
  return addresses;
}

std::string TextOf(const Addresses& addresses) {
  std::ostringstream text;
  for (const uint64_t address : addresses) text << ' ' << std::hex << address;
  return text.str();
}

bool HasGuess(const ThreadStack& stack) {
  return std::ranges::any_of(stack.frames, &StackFrame::is_guess);
}

void ExpectSame(const Stack& told, const ThreadStack& found, bool with_guesses,
                const std::string& where) {
  Addresses addresses = CallersOf(found, with_guesses);
  // Without guesses what is outside of one may be missing.
  const bool is_whole = told.is_whole && with_guesses;
  if (!is_whole && addresses.size() < told.addresses.size()) {
    addresses.insert(addresses.end(),
                     told.addresses.begin() + static_cast<ptrdiff_t>(addresses.size()),
                     told.addresses.end());
  }
  if (!is_whole && addresses.size() > told.addresses.size())
    addresses.resize(told.addresses.size());
  // What a stack was made to return to has not run before it does.
  const bool never_ran = found.stack != 0 && addresses.size() + 1 == told.addresses.size();
  if (never_ran) addresses.push_back(0);
  for (size_t i = 0; i < addresses.size() && i < told.addresses.size(); ++i)
    if (addresses[i] == 0) addresses[i] = told.addresses[i];
  EXPECT_EQ(TextOf(told.addresses), TextOf(addresses)) << where;
}

// A taker's flow with some of it left out: from an instruction on, until another one.
class Cut final : public PlayConsumer {
 public:
  Cut(StackSnapshots& taker, uint64_t begin, uint64_t end)
      : taker_(taker), begin_(begin), end_(end) {}
  void OnBlock(const BlockRun& run) override {
    const uint64_t at = instructions_;
    instructions_ += run.lengths.size();
    if (at >= begin_ && at < end_) {
      if (begin_ != 0 && !lost_) taker_.OnLoss(DataLoss{});
      lost_ = true;
      left_out += run.lengths.size();
    } else {
      taker_.OnBlock(run);
    }
  }
  void OnEvent(const TraceEvent& event) override {
    if (instructions_ < begin_ || instructions_ >= end_) taker_.OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override { taker_.OnLoss(loss); }
  void OnThreadEnd(const ThreadFlow& thread, size_t number) override {
    taker_.OnThreadEnd(thread, number);
  }
  uint64_t left_out = 0;

 private:
  StackSnapshots& taker_;
  uint64_t begin_;
  uint64_t end_;
  uint64_t instructions_ = 0;
  bool lost_ = false;
};

class OwnStacks : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  // Plays the recording's threads and compares them with the printed stacks.
  void Compare(const std::string& file, const Told& told);
  // The same where the flow from `begin` to `end` is missing: fewer frames may be known, no others.
  void CompareCut(const ThreadFlow& flow, Player& player, FunctionFinder& functions,
                  const std::vector<StackPlace>& places, const std::vector<Stack>& told,
                  uint64_t begin, uint64_t end);
  size_t compared_ = 0;
  size_t guessed_ = 0;
  size_t known_behind_ = 0;  // frames, of CompareCut
  size_t whole_behind_ = 0;
  bool in_turn_ = true;  // stacks left at one place are gone on with in that order
};

void ExpectAnywhere(const Recording& recording, const RecordingCode& code, bool leaps);

void OwnStacks::Compare(const std::string& file, const Told& told) {
  OpenOptions options;
  options.input = file;
  const Result<Recording> recording = OpenRecording(options);
  ASSERT_TRUE(recording) << recording.error().message();
  const Result<RecordingCode> code = RecordingCode::Load(*recording, {});
  ASSERT_TRUE(code) << code.error().message();
  const StreamInputs inputs(*recording, *code, Resync::kEarliest);
  Symbolizer symbolizer({}, &*recording);
  SymbolFunctions functions(symbolizer);
  Player player(inputs, [&] { return inputs.source().MakeDecoder(""); }, {.threads = 2});
  ExpectAnywhere(*recording, *code, false);
  ExpectAnywhere(*recording, *code, true);
  const RecordingClock clock(*recording);
  const std::vector<ThreadFlow> flows = ThreadFlows(*recording, inputs);
  std::vector<const ThreadFlow*> all;
  for (const ThreadFlow& flow : flows) all.push_back(&flow);
  for (const ThreadFlow& flow : flows) {
    const auto notes = told.notes.find(flow.tid);
    if (notes == told.notes.end()) continue;
    Finder finder(told.note);
    ASSERT_TRUE(player.Play({&flow}, finder));
    ASSERT_EQ(finder.places.size(), notes->second.size());
    Result<ThreadOrigin> origin = OriginOf(flow, all, *recording, functions, player);
    ASSERT_TRUE(origin);
    // A program that becomes another copy of itself has the same code at the same places.
    const ExecTimes execs(*recording, clock, flow.pid);
    StackSnapshots taker(
        functions, finder.places, *std::move(origin),
        {.exec_between = [&](uint64_t begin, uint64_t end) { return execs.Between(begin, end); }});
    ASSERT_TRUE(player.Play({&flow}, taker));
    const std::vector<ThreadStack> stacks = taker.Take();
    ASSERT_EQ(stacks.size(), finder.places.size());
    const uint64_t middle = finder.places[finder.places.size() / 2].value;
    CompareCut(flow, player, functions, finder.places, notes->second, 0, middle - 50);
    CompareCut(flow, player, functions, finder.places, notes->second, middle - 3000, middle - 50);
    for (const ThreadStack& stack : stacks) guessed_ += HasGuess(stack) ? 1 : 0;
    for (size_t i = 0; i < stacks.size(); ++i, ++compared_)
      ExpectSame(notes->second[i], stacks[i], in_turn_,
                 "thread " + std::to_string(flow.tid) + ", note " + std::to_string(i));
  }
}

// From kept stacks it is the same.
void ExpectAnywhere(const Recording& recording, const RecordingCode& code, bool leaps) {
  StreamInputs inputs(recording, code, Resync::kEarliest);
  inputs.set_times(true);
  const Result<std::unique_ptr<Decoder>> decoder = inputs.source().MakeDecoder("");
  ASSERT_TRUE(decoder);
  const calls_test::AnywhereSums sums = calls_test::ExpectStacksAnywhere(
      recording, inputs, **decoder, {.segment_bytes = 512, .places = 12, .leaps = leaps});
  EXPECT_GT(sums.stacks, 0u);
  if (!leaps) {
    EXPECT_EQ(sums.kept, sums.shares);
  }
}

void OwnStacks::CompareCut(const ThreadFlow& flow, Player& player, FunctionFinder& functions,
                           const std::vector<StackPlace>& places, const std::vector<Stack>& told,
                           uint64_t begin, uint64_t end) {
  // Where the blocks lie the cut is not known before: places behind it are counted from its end.
  std::vector<StackPlace> behind;
  StackSnapshots probe(functions, {}, {}, {});
  Cut counted(probe, begin, end);
  ASSERT_TRUE(player.Play({&flow}, counted));
  for (const StackPlace& place : places)
    if (place.value >= end + 100)
      behind.push_back({.kind = place.kind, .value = place.value - counted.left_out});
  StackSnapshots taker(functions, behind, {}, {});
  Cut cut(taker, begin, end);
  ASSERT_TRUE(player.Play({&flow}, cut));
  const std::vector<ThreadStack> stacks = taker.Take();
  ASSERT_EQ(stacks.size(), behind.size());
  const size_t skipped = told.size() - stacks.size();
  for (size_t i = 0; i < stacks.size(); ++i) {
    Addresses found = CallersOf(stacks[i], false);
    const Addresses& whole = told[skipped + i].addresses;
    if (found.size() > whole.size() && !told[skipped + i].is_whole) found.resize(whole.size());
    ASSERT_LE(found.size(), whole.size()) << TextOf(whole) << "\n" << TextOf(found);
    for (size_t j = 0; j < found.size(); ++j)
      if (found[j] == 0) found[j] = whole[j];
    EXPECT_EQ(TextOf({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(found.size())}),
              TextOf(found))
        << "without " << begin << " to " << end << ", note " << skipped + i << " of\n"
        << TextOf(whole);
    known_behind_ += found.size();
    whole_behind_ += whole.size();
  }
}

TEST_P(OwnStacks, AreWhatTheProgramTells) {
  FLOWBACK_NEEDS_EMULATOR();
  const auto& [what, program] = GetParam();
  const ScratchFolder folder;
  const std::string file = folder.File("recording");
  const ProgramResult recorded =
      RunFlowback({"record", "--engine", "emulate", "-o", file, "--",
                   BuildFolder() + "/tests/calls/programs/" + program, what});
  constexpr int kNotBuilt = 77;
  if (recorded.status == kNotBuilt)
    GTEST_SKIP() << "no Boost.Context: apt-get install libboost-context-dev";
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const Told told = ToldBy(recorded.out);
  ASSERT_NE(told.note, 0u);
  in_turn_ = std::string_view(what) != "fibres-in-no-order";
  Compare(file, told);
  size_t notes = 0;
  for (const auto& [tid, each] : told.notes) notes += each.size();
  EXPECT_EQ(compared_, notes);
  EXPECT_GT(compared_, 0u);
  // Only if it is unknown which of several stacks it was, a frame is marked; seldom more.
  EXPECT_LE(known_behind_, whole_behind_);
  const bool fibres = std::string_view(what).contains("fibres");
  EXPECT_LE(guessed_, fibres ? compared_ / 2 : 0);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, OwnStacks,
    testing::Combine(testing::Values("recursion", "exceptions", "jumps", "signals",
                                     "alternate-stack", "fibres", "fibres-in-no-order",
                                     "switch-by-return", "switch-by-jump", "switch-by-longjmp",
                                     "fibres-inline", "leaps", "contexts", "coroutines", "pushed",
                                     "library", "threads", "children", "boost-fibres"),
                     testing::Values("own_stacks", "own_stacks_stripped", "own_stacks_static")),
    [](const auto& test) {
      std::string name = std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
      for (char& c : name)
        if (c == '-') c = '_';
      return name;
    });

// So often a thread was taken to be on another stack at first, as its timeline says.
uint64_t OtherStacks(const std::string& what) {
  const ScratchFolder folder;
  const std::string file = folder.File("recording");
  const ProgramResult recorded =
      RunFlowback({"record", "--engine", "emulate", "-o", file, "--",
                   BuildFolder() + "/tests/calls/programs/own_stacks", what});
  EXPECT_EQ(recorded.status, 0) << recorded.err;
  uint64_t others = 0;
  const ProgramResult told = RunFlowback({"timeline", "--json", "--no-cache", file});
  EXPECT_EQ(told.status, 0) << told.err;
  const auto object = nlohmann::json::parse(told.out);
  for (const auto& thread : object["threads"]) others += thread["other_stacks"].get<uint64_t>();
  const ProgramResult text = RunFlowback({"timeline", "--no-cache", file});
  std::string line = text.out;
  std::ranges::replace(line, '\n', ' ');
  EXPECT_EQ(line.contains("which of its stacks"), others != 0) << text.out;
  return others;
}

// Fibres that go on in an order that nothing foretells.
TEST(OwnStacksOverTime, AGuessThatWasWrongIsTold) {
  FLOWBACK_NEEDS_EMULATOR();
  EXPECT_EQ(OtherStacks("recursion"), 0U);
  EXPECT_GT(OtherStacks("fibres-in-no-order"), 3U);
}

}  // namespace
}  // namespace flowback::test
