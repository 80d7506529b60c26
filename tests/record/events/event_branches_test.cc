// SPDX-License-Identifier: MIT
// Recording branch stacks from hardware that the test plays: what is in the file, and what it
// decodes to, is what the hardware executed.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/recorded/branch_records.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/trace_source.h"
#include "tests/record/events/event_simulated.h"
#include "tests/support/flow_of.h"
#include "tests/support/generator/stream_generator.h"
#include "tests/support/kernel/branch_source.h"
#include "tests/support/random.h"

namespace flowback::record_test {
namespace {

using test::BranchHardware;
using test::BranchSource;
using test::FlowBranch;
using test::KnownFlow;

constexpr uint64_t kSystemReturn = 0xffffffff81a00123;

// A flow of the stream generator's; how long its branches take, and what was predicted, is made up.
struct Flow {
  explicit Flow(uint64_t seed)
      : stream(testing::GenerateStream(
            {.seed = seed, .instructions = 200'000, .shape = testing::CodeShape::kMixed})),
        code(testing::CodeOf(stream)) {
    DecodeInput input;
    input.bytes = stream.bytes;
    input.code = &code;
    input.config = stream.config;
    const auto decoder = *MakeDecoder("native");
    const FlowSegment flow = FlowOf(*decoder, input);
    known.instructions = AddressesOf(flow);
    EXPECT_EQ(known.instructions.size(), stream.truth.digest.count);
    testing::Random random(seed);
    const auto add = [&](FlowBranch branch) {
      branch.cycles = static_cast<uint32_t>(random.Between(1, random.Chance(5) ? 100'000 : 200));
      branch.mispredicted = random.Chance(30);
      known.branches.push_back(branch);
    };
    ForEachItem(
        flow,
        [&](const BlockRun& run, uint64_t before) {
          if (run.exit == BlockExit::kTaken)
            add({.at = before + run.lengths.size() - 1,
                 .from = run.LastAddress(),
                 .to = run.next,
                 .kind = run.last});
        },
        [&](const TraceEvent& event, uint64_t before) {
          if (event.kind == EventKind::kStarted && before != 0)
            add({.at = before - 1,
                 .from = kSystemReturn,
                 .to = event.ip,
                 .kind = InstructionClass::kFarReturn});
        });
  }

  testing::GeneratedStream stream;
  AddressSpaceHistory code;
  KnownFlow known;
};

const Flow& TheFlow() {
  static const Flow flow(7);
  return flow;
}

struct Machine {
  const char* tree;
  const char* engine;
  size_t depth;
  const char* words;  // "": the engine's own
};
constexpr Machine kMachines[] = {{"skylake_server", "lbr", 32, ""},
                                 {"alder_lake", "lbr", 32, ""},
                                 {"sapphire_rapids", "lbr", 32, ""},
                                 {"zen3", "lbr", 16, "cpu/branch-brs,period=211/u"},
                                 {"zen4", "lbr", 16, ""},
                                 {"arm_brbe", "brbe", 64, ""}};

// The kernel of a user who may record there.
SimulatedKernel KernelOf(const char* tree) {
  kernel::MachineTree machine = test::Tree(tree);
  machine.Remove("/proc/sys/kernel/perf_event_paranoid");
  machine.Add("/proc/sys/kernel/perf_event_paranoid", "1");
  return SimulatedKernel(std::move(machine));
}

// The oldest record of each stack first, stack by stack.
std::vector<std::vector<BranchRecord>> StacksIn(const Recording& recording) {
  std::vector<std::vector<BranchRecord>> stacks;
  EXPECT_EQ(recording.streams.size(), 1u);
  for (const Stream& stream : recording.streams)
    for (uint64_t at = 0; at < stream.bytes.size(); at += kBranchRecordSize) {
      const BranchRecord record = BranchRecordAt(stream.bytes, at);
      if (record.begins_stack) stacks.emplace_back();
      stacks.back().push_back(record);
    }
  return stacks;
}

class EventBranches : public EventSimulated {
 protected:
  EventBranches() {
    options_.events.per_thread = true;
    options_.events.frequency = 50'000;
  }
  // On another machine. The source gets so many branches to execute each time.
  RecordSummary RecordOn(const Machine& machine, size_t pace,
                         const std::function<void(SimulatedKernel&, BranchSource&)>& prepare = {}) {
    SimulatedKernel kernel = KernelOf(machine.tree);
    kernel.AddProcess(kProgram);
    hardware_ = test::BranchHardwareOf(kernel);
    BranchSource source(kernel, TheFlow().known, pace);
    kernel.meanwhile = [&] { return source.Go(); };
    if (prepare) prepare(kernel, source);
    options_.engine = machine.engine;
    options_.events.words.clear();
    if (machine.words[0] != '\0') options_.events.words = {machine.words};
    const record::RecorderSignals signals;
    record::RecordSession session(options_, signals);
    record::EventRecorder recorder(options_, kernel);
    const auto started = recorder.Start(session);
    EXPECT_TRUE(started) << started.error().message();
    if (!started) return {};
    const auto summary = recorder.Run();
    EXPECT_TRUE(summary);
    stacks_ = source.stacks();
    wake_ups_ = kernel.wake_ups();
    return summary ? *summary : RecordSummary();
  }
  const FlowBranch& Branch(size_t i) const { return TheFlow().known.branches[i]; }

  // Every record is the branch that it is said to be, in all fields of this hardware.
  void ExpectStack(const std::vector<size_t>& truth, const std::vector<BranchRecord>& recorded) {
    ASSERT_EQ(truth.size(), recorded.size());
    for (size_t i = 0; i < truth.size(); ++i) {
      const FlowBranch& branch = Branch(truth[i]);
      const BranchRecord& record = recorded[i];
      const bool hidden = hardware_.hides_kernel && branch.kind == InstructionClass::kFarReturn;
      ASSERT_EQ(record.from, hidden ? 0 : branch.from);
      ASSERT_EQ(record.to, branch.to);
      using Prediction = BranchFacts::Prediction;
      const Prediction told = branch.mispredicted ? Prediction::kWrong : Prediction::kRight;
      ASSERT_EQ(record.prediction, hardware_.mispredictions ? told : Prediction::kNotTold);
      ASSERT_EQ(record.cycles, CyclesOf(truth, i));
    }
  }
  uint32_t CyclesOf(const std::vector<size_t>& stack, size_t i) const {
    if (!hardware_.cycles) return 0;
    uint64_t sum = 0;
    for (size_t at = i == 0 ? stack[0] : stack[i - 1] + 1; at <= stack[i]; ++at)
      sum += Branch(at).cycles;
    return static_cast<uint32_t>(std::min<uint64_t>(sum, 0xffff));
  }

  // Each fragment is a piece of the flow, within what its sample was of; returns how many.
  size_t ExpectFragments(const Recording& recording, size_t first_stack = 0) {
    DecodeInput input;
    input.bytes = recording.streams[0].bytes;
    input.code = &TheFlow().code;
    input.config = recording.config;
    const auto source = OpenSource(recording);
    EXPECT_TRUE(source);
    const auto decoder = (*source)->MakeDecoder("");
    EXPECT_TRUE(decoder);
    const FlowSegment flow = FlowOf(**decoder, input);
    std::vector<std::vector<uint64_t>> fragments(1);
    ForEachItem(
        flow,
        [&](const BlockRun& run) {
          uint64_t address = run.address;
          for (const uint8_t length : run.lengths) {
            fragments.back().push_back(address);
            address += length;
          }
        },
        [&](const UnknownFlow&) { fragments.emplace_back(); },
        [&](const DataLoss& loss) { ADD_FAILURE() << Name(loss.cause) << ' ' << loss.detail; });
    std::erase_if(fragments, [](const auto& fragment) { return fragment.empty(); });
    for (const auto& fragment : fragments) ExpectOccurs(fragment, first_stack);
    return fragments.size();
  }
  // In one of the stacks from `stack` on, which moves up to it.
  void ExpectOccurs(const std::vector<uint64_t>& fragment, size_t& stack) {
    const std::vector<uint64_t>& all = TheFlow().known.instructions;
    for (; stack < stacks_.size(); ++stack) {
      if (stacks_[stack].empty()) continue;
      const auto begin = all.begin() + static_cast<ptrdiff_t>(Branch(stacks_[stack].front()).at);
      const auto end = all.begin() + static_cast<ptrdiff_t>(Branch(stacks_[stack].back()).at + 2);
      if (std::search(begin, end, fragment.begin(), fragment.end()) != end) return;
    }
    ADD_FAILURE() << "a fragment of " << fragment.size() << " instructions that did not execute";
  }

  BranchHardware hardware_;
  std::vector<std::vector<size_t>> stacks_;
  size_t wake_ups_ = 0;
};

TEST_F(EventBranches, EachMakersStacksDecodeToPiecesOfTheFlow) {
  for (const Machine& machine : kMachines) {
    SCOPED_TRACE(machine.tree);
    const RecordSummary summary = RecordOn(machine, 500);
    EXPECT_EQ(hardware_.depth, machine.depth);
    ASSERT_GT(stacks_.size(), 50u);
    EXPECT_EQ(summary.events->samples, stacks_.size());
    EXPECT_EQ(summary.losses, 0u);
    const Recording recording = Open();
    const auto recorded = StacksIn(recording);
    ASSERT_EQ(recorded.size(), stacks_.size());
    for (size_t i = 0; i < recorded.size(); ++i) ExpectStack(stacks_[i], recorded[i]);
    EXPECT_EQ(recorded.back().size(), machine.depth);
    EXPECT_GT(ExpectFragments(recording), stacks_.size() / 2);
  }
}

// Branches outside of a filter are in no stack, and all recorded ones did execute.
TEST_F(EventBranches, FiltersLeaveTheOthersOut) {
  const std::map<std::string, std::vector<InstructionClass>> filters = {
      {"any_call,u", {InstructionClass::kCall, InstructionClass::kIndirectCall}},
      {"any_ret,u", {InstructionClass::kReturn, InstructionClass::kFarReturn}},
      {"cond,u", {InstructionClass::kConditional}},
      {"ind_call,u", {InstructionClass::kIndirectCall}},
      {"ind_jmp,u", {InstructionClass::kIndirectJump}},
      {"call,any_ret,u",
       {InstructionClass::kCall, InstructionClass::kReturn, InstructionClass::kFarReturn}},
  };
  for (const auto& [filter, kinds] : filters) {
    SCOPED_TRACE(filter);
    options_.events.branch_filter = filter;
    RecordOn(kMachines[0], 500);
    const Recording recording = Open();
    const auto recorded = StacksIn(recording);
    ASSERT_GT(recorded.size(), 50u);
    size_t entries = 0;
    size_t next = 0;
    for (const std::vector<BranchRecord>& stack : recorded) {
      while (next < stacks_.size() && stacks_[next].empty()) ++next;
      ASSERT_LT(next, stacks_.size());
      ExpectStack(stacks_[next], stack);
      for (const size_t branch : stacks_[next++]) {
        EXPECT_TRUE(std::ranges::find(kinds, Branch(branch).kind) != kinds.end());
        ++entries;
      }
    }
    EXPECT_GT(entries, 10 * recorded.size());
    ExpectFragments(recording);
  }
}

TEST_F(EventBranches, KindsAreToldOnDemand) {
  options_.events.branch_filter = "any,u,save_type";
  RecordOn(kMachines[2], 500);
  const auto recorded = StacksIn(Open());
  ASSERT_EQ(recorded.size(), stacks_.size());
  std::map<BranchKind, InstructionClass> kinds;
  for (size_t i = 0; i < recorded.size(); ++i)
    for (size_t k = 0; k < recorded[i].size(); ++k) {
      const InstructionClass kind = Branch(stacks_[i][k]).kind;
      EXPECT_EQ(kinds.emplace(recorded[i][k].kind, kind).first->second, kind);
    }
  EXPECT_EQ(kinds.size(), 7u);
  EXPECT_EQ(kinds[BranchKind::kReturn], InstructionClass::kReturn);
  EXPECT_EQ(kinds[BranchKind::kIndirectCall], InstructionClass::kIndirectCall);
}

// Branch sampling of Zen 3 takes no filter and no frequency: that ends the recording.
TEST_F(EventBranches, WhatTheHardwareCannotDoIsRefused) {
  const std::pair<const char*, const char*> wanted[] = {{"cpu/branch-brs,period=211/u", "cond,u"},
                                                        {"cpu/branch-brs/u", "any,u"},
                                                        {"cycles:u", "any,u"}};
  for (const auto& [words, filter] : wanted) {
    SimulatedKernel kernel = KernelOf("zen3");
    kernel.AddProcess(kProgram);
    options_.engine = "lbr";
    options_.events.words = {words};
    options_.events.branch_filter = filter;
    const record::RecorderSignals signals;
    record::RecordSession session(options_, signals);
    record::EventRecorder recorder(options_, kernel);
    const auto started = recorder.Start(session);
    ASSERT_FALSE(started) << words;
    EXPECT_EQ(started.error().code(), ErrorCode::kUnsupported) << started.error().message();
    EXPECT_FALSE(started.error().remedy().empty());
  }
}

// The thread is on one CPU after the other, and each has a buffer of its own.
TEST_F(EventBranches, StacksOfSeveralCpusAreInOrder) {
  options_.events.per_thread = false;
  for (const Machine& machine : kMachines) {
    SCOPED_TRACE(machine.tree);
    RecordOn(machine, 500, [](SimulatedKernel&, BranchSource& source) { source.MoveEvery(1300); });
    const Recording recording = Open();
    const auto recorded = StacksIn(recording);
    ASSERT_GT(stacks_.size(), 50u);
    ASSERT_EQ(recorded.size(), stacks_.size());
    for (size_t i = 0; i < recorded.size(); ++i) ExpectStack(stacks_[i], recorded[i]);
    ExpectFragments(recording);
  }
}

// ---- how fast they are taken ----

// A reader that sleeps until it is woken loses nothing, though a buffer holds but a few samples.
TEST_F(EventBranches, TheWatermarkWakesTheReader) {
  options_.events.record_buffer_bytes = 16 << 10;
  const auto sleeps = [](SimulatedKernel& kernel, BranchSource&) {
    kernel.turns_of_wait = 1'000'000;
  };
  const RecordSummary summary = RecordOn(kMachines[0], 100, sleeps);
  EXPECT_GT(wake_ups_, 5u);
  EXPECT_EQ(summary.events->lost_records, 0u);
  EXPECT_EQ(StacksIn(Open()).size(), stacks_.size());
}

// A slow one loses samples: so many, and the others are whole and in order.
TEST_F(EventBranches, ASlowReaderLosesWhatIsSaid) {
  options_.events.record_buffer_bytes = 16 << 10;
  uint64_t lost = 0;
  const auto is_late = [&](SimulatedKernel& kernel, BranchSource& source) {
    kernel.turns_of_wait = 50;
    kernel.turns_too_late = 50;
    kernel.meanwhile = [&] {
      const bool more = source.Go();
      lost = kernel.EventsOf(PERF_TYPE_HARDWARE)[0]->ring->lost_records();
      return more;
    };
  };
  const RecordSummary summary = RecordOn(kMachines[0], 100, is_late);
  const Recording recording = Open();
  const auto recorded = StacksIn(recording);
  ASSERT_GT(lost, 10u);
  ASSERT_GT(recorded.size(), 10u);
  EXPECT_EQ(recorded.size() + lost, stacks_.size());
  EXPECT_EQ(summary.events->samples, recorded.size());
  EXPECT_LE(summary.events->lost_records, lost);
  size_t at = 0;
  for (const std::vector<BranchRecord>& stack : recorded) {
    while (at < stacks_.size() && Branch(stacks_[at].back()).from != stack.back().from) ++at;
    while (at < stacks_.size() && (Branch(stacks_[at].front()).from != stack.front().from ||
                                   Branch(stacks_[at].back()).to != stack.back().to))
      ++at;
    ASSERT_LT(at, stacks_.size());
    ExpectStack(stacks_[at++], stack);
  }
  ExpectFragments(recording);
}

// Where the newest entry was, readers pass over.
TEST_F(EventBranches, TheHardwaresIndexIsNoEntry) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_HARDWARE;
  attr.sample_period = 1000;
  attr.exclude_kernel = 1;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_BRANCH_STACK;
  attr.branch_sample_type =
      PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_HW_INDEX;
  const int event = *kernel_.OpenEvent(attr, kProgram, -1, -1, 0);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const std::span<uint8_t> pages = *kernel_.Map(event, page + (1 << 16), 0, true);
  BranchSource source(kernel_, TheFlow().known, 100);
  while (source.stacks().empty()) ASSERT_TRUE(source.Go());
  // header, ip, pid and tid, count, index, entries
  uint64_t words[6];
  std::memcpy(words, pages.data() + page, sizeof words);
  EXPECT_EQ(words[3], source.stacks()[0].size());
  EXPECT_LT(words[4], 32u);
  EXPECT_EQ(words[5], Branch(source.stacks()[0].back()).from);
}

}  // namespace
}  // namespace flowback::record_test
