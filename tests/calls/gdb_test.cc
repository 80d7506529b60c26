// SPDX-License-Identifier: MIT
// The stacks of a program of the machine's at 200 moments, against those that gdb unwinds when it
// stops the program there: with the same memory layout, by breakpoints with counts.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "flowback/capture/open.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/replay/player.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/thread_stack.h"
#include "replay/calls/stack_snapshots.h"
#include "tests/cli/run_program.h"
#include "tests/support/host.h"

namespace flowback::test {
namespace {

constexpr const char* kProgram = "/usr/bin/gzip";
constexpr size_t kMoments = 200;
constexpr uint64_t kMostCounted = 300;  // a breakpoint is passed in a tenth of a millisecond

// The address of each instruction, and where the program itself begins.
class Addresses final : public PlayConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      all.push_back(ip);
      ip += length;
    }
    if (run.space == nullptr || entry != 0) return;
    for (const CodeMapping& mapping : run.space->mappings())
      if (mapping.section->name().ends_with("gzip")) entry = EntryOf(mapping);
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override { ADD_FAILURE() << loss.detail; }
  std::vector<uint64_t> all;
  uint64_t entry = 0;

 private:
  static uint64_t EntryOf(const CodeMapping& mapping) {
    const std::string file = ReadFile(kProgram);
    Elf64_Ehdr header;
    std::memcpy(&header, file.data(), sizeof header);
    for (size_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr part;
      std::memcpy(&part, file.data() + header.e_phoff + i * sizeof part, sizeof part);
      if (part.p_type == PT_LOAD && header.e_entry - part.p_vaddr < part.p_filesz)
        return mapping.FileBase() + header.e_entry - part.p_vaddr + part.p_offset;
    }
    return 0;
  }
};

struct Moment {
  size_t number = 0;   // of the instruction
  uint64_t count = 0;  // of the times that its address was executed since the one before
};

// Spread over all from the program's first instruction on.
std::vector<Moment> Choose(const Addresses& addresses) {
  const std::vector<uint64_t>& all = addresses.all;
  size_t at = static_cast<size_t>(std::ranges::find(all, addresses.entry) - all.begin());
  std::vector<Moment> moments = {{.number = at, .count = 0}};
  const size_t step = (all.size() - at) / (kMoments + 20);
  uint64_t random = 1;
  while (moments.size() < kMoments) {
    random = random * 6364136223846793005 + 1442695040888963407;
    const size_t before = moments.back().number;
    for (size_t next = before + step / 2 + (random >> 33) % (step + 1); next < all.size(); ++next) {
      const auto first = all.begin() + static_cast<ptrdiff_t>(before) + 1;
      const auto last = all.begin() + static_cast<ptrdiff_t>(next);
      const auto count = static_cast<uint64_t>(std::count(first, last, all[next]));
      if (count > kMostCounted) continue;
      moments.push_back({.number = next, .count = count});
      break;
    }
    if (moments.back().number == before) break;
  }
  return moments;
}

std::string FramesOf(const ThreadStack& stack) {
  std::ostringstream text;
  text << "frames";
  for (const StackFrame& frame : stack.frames) {
    text << ' ' << std::hex << frame.address;
    if (frame.is_handler) text << " signal";
  }
  return text.str();
}

class AgainstGdb : public testing::Test {
 protected:
  void Record() {
    folder_.Write("text", "the quick brown fox jumps over the lazy dog, again and again\n");
    const ProgramResult recorded =
        RunShell(folder_, "setarch -R env -i $F record --engine step -o recording -- " +
                              std::string(kProgram) + " -c text >/dev/null");
    ASSERT_EQ(recorded.status, 0) << recorded.err;
  }
  std::vector<std::string> AskGdb(const std::vector<Moment>& moments,
                                  const std::vector<uint64_t>& addresses) {
    std::ostringstream list;
    for (const Moment& moment : moments)
      list << std::hex << addresses[moment.number] << std::dec << ' ' << moment.count << '\n';
    folder_.Write("moments", list.str());
    const ProgramResult run = RunShell(
        folder_, "MOMENTS=moments FRAMES=frames gdb -nx --batch -ex 'set exec-wrapper env -i' -x " +
                     std::string(FLOWBACK_CALLS_SOURCES) + "/frames.py --args " + kProgram +
                     " -c text >/dev/null 2>gdb_errors");
    std::vector<std::string> frames;
    for (const std::string& line : Lines(ReadFile(folder_.File("frames"))))
      if (line.starts_with("frames")) frames.push_back(line);
    EXPECT_EQ(frames.size(), moments.size()) << ReadFile(folder_.File("gdb_errors"));
    return frames;
  }
  void Compare();

  ScratchFolder folder_;
};

void AgainstGdb::Compare() {
  OpenOptions options;
  options.input = folder_.File("recording");
  const Result<Recording> recording = OpenRecording(options);
  ASSERT_TRUE(recording) << recording.error().message();
  const Result<RecordingCode> code = RecordingCode::Load(*recording, {});
  ASSERT_TRUE(code) << code.error().message();
  const StreamInputs inputs(*recording, *code, Resync::kEarliest);
  const std::vector<ThreadFlow> flows = ThreadFlows(*recording, inputs);
  ASSERT_EQ(flows.size(), 1u);
  Symbolizer symbolizer({}, &*recording);
  SymbolFunctions functions(symbolizer);
  Player player(inputs, [&] { return inputs.source().MakeDecoder(""); }, {});
  Addresses addresses;
  ASSERT_TRUE(player.Play({&flows[0]}, addresses));
  ASSERT_TRUE(std::ranges::find(addresses.all, addresses.entry) != addresses.all.end());
  const std::vector<Moment> moments = Choose(addresses);
  std::vector<StackPlace> places;
  for (const Moment& moment : moments)
    places.push_back({.kind = StackPlace::Kind::kInstruction, .value = moment.number});
  Result<ThreadOrigin> origin = OriginOf(flows[0], {&flows[0]}, *recording, functions, player);
  ASSERT_TRUE(origin);
  StackSnapshots taker(functions, places, *std::move(origin), {});
  ASSERT_TRUE(player.Play({&flows[0]}, taker));
  const std::vector<ThreadStack> stacks = taker.Take();
  const std::vector<std::string> told = AskGdb(moments, addresses.all);
  ASSERT_EQ(told.size(), stacks.size());
  EXPECT_GE(told.size(), kMoments);
  for (size_t i = 0; i < told.size(); ++i)
    EXPECT_EQ(FramesOf(stacks[i]), told[i]) << "before instruction " << moments[i].number;
}

TEST_F(AgainstGdb, TwoHundredStacksOfGzip) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  FLOWBACK_NEEDS_HOST(host::Trait::kGdb);
  Record();
  if (!HasFatalFailure()) Compare();
}

}  // namespace
}  // namespace flowback::test
