// SPDX-License-Identifier: MIT
// The machine against the whole listing of the recordings that come with the project, and the
// values that it tells there.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "replay/debug/image_memory.h"
#include "replay/debug/replayed_stacks.h"
#include "replay/debug/value_sources.h"
#include "tests/debug/machine_commands.h"
#include "tests/support/places.h"

namespace flowback {
namespace {

std::string PathOf(const std::string& name) {
  return SourceFolder() + "/tests/recordings/" + name + ".data";
}

// A recording with its machine.
class Opened {
 public:
  explicit Opened(const std::string& name) {
    Result<Session> opened = Session::Open(PathOf(name));
    EXPECT_TRUE(opened) << opened.error().message();
    if (!opened) return;
    session_ = std::make_unique<Session>(*std::move(opened));
    decoder_ = *session_->NewDecoder();
    auto index = FlowIndex::Build(session_->recording(), session_->inputs(), *decoder_,
                                  {.times = true, .segment_bytes = 2048});
    EXPECT_TRUE(index);
    if (!index) return;
    index_ = std::make_unique<FlowIndex>(*std::move(index));
    std::vector<size_t> threads;
    for (size_t i = 0; i < index_->threads().size(); ++i) threads.push_back(i);
    machine_ = std::make_unique<ReplayedMachine>(*index_, threads);
  }

  Session& session() { return *session_; }
  FlowIndex& index() { return *index_; }
  ReplayedMachine& machine() { return *machine_; }

  std::vector<std::vector<listed::Listed>> List() {
    listed::Listing listing;
    for (const Stream& stream : session_->recording().streams)
      EXPECT_TRUE(decoder_->Decode(session_->inputs().For(stream), listing));
    std::vector<std::vector<listed::Listed>> threads;
    for (const ThreadFlow& flow : session_->flows()) {
      std::vector<const ThreadStay*> stays;
      for (const FlowPiece& piece : flow.pieces) stays.push_back(piece.stay);
      auto places = listing.Of(stays);
      if (!places.empty()) threads.push_back(std::move(places));
    }
    return threads;
  }

 private:
  std::unique_ptr<Session> session_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<FlowIndex> index_;
  std::unique_ptr<ReplayedMachine> machine_;
};

class RecordedMachine : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordedMachine, GoesWhereTheListingSays) {
  Opened opened(GetParam());
  ASSERT_FALSE(HasFailure());
  auto threads = opened.List();
  ASSERT_EQ(opened.machine().size(), threads.size());
  listed::ListedMachine truth(std::move(threads));
  listed::Commands(opened.machine(), truth, 7).Run(300);
}

INSTANTIATE_TEST_SUITE_P(Recordings, RecordedMachine,
                         ::testing::Values("branches", "changes", "interruptions", "tiny",
                                           "tiny-stepped"),
                         [](const auto& which) {
                           std::string name = which.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(ValueSources, TellTheProgramCounterAndCodeOnly) {
  Opened opened("tiny");
  ASSERT_FALSE(HasFailure());
  ImageMemory images;
  ValueSources values({images});
  opened.machine().ToEnd();
  const MachineThread at = opened.machine().At(opened.machine().current());
  EXPECT_EQ(values.Register(at, "rip"), at.pc);
  EXPECT_FALSE(values.Register(at, "rsp"));
  uint8_t code[4] = {};
  ASSERT_EQ(at.instruction.space->Read(at.pc, code, sizeof code), sizeof code);
  EXPECT_EQ(values.Memory(at, at.pc, sizeof code), std::vector<uint8_t>(code, code + sizeof code));
  EXPECT_TRUE(values.Memory(at, 0x10, 4).empty());
}

// Each file begins with its header, which its first segment holds and no code does.
TEST(ImageMemory, HasTheReadOnlySegments) {
  Opened opened("tiny");
  ASSERT_FALSE(HasFailure());
  ImageMemory images;
  const MachineThread at = opened.machine().At(opened.machine().current());
  const std::vector<LoadedImage> loaded = images.ImagesOf(*at.instruction.space);
  ASSERT_FALSE(loaded.empty());
  size_t programs = 0;
  for (const LoadedImage& image : loaded) {
    programs += image.layout->is_program ? 1 : 0;
    ASSERT_FALSE(image.layout->segments.empty());
    const ImageSegment& first = image.layout->segments.front();
    if (first.file_offset != 0 || first.writable) continue;
    uint8_t magic[4] = {};
    EXPECT_EQ(images.Read(*at.instruction.space, image.bias + first.address, magic), 4u);
    EXPECT_EQ(magic[1], 'E');
  }
  EXPECT_EQ(programs, 1u);
}

TEST(ReplayedStacks, BeginWhereTheThreadStands) {
  Opened opened("tiny");
  ASSERT_FALSE(HasFailure());
  ReplayedStacks stacks(opened.session(), opened.index(), {});
  ReplayedMachine& machine = opened.machine();
  const uint64_t all = machine.thread(0).instructions;
  for (uint64_t number = 0; number < all; number += 1 + all / 20) {
    ASSERT_TRUE(machine.ToInstruction(0, number));
    const auto stack = stacks.At(machine.index_number(0), number);
    ASSERT_TRUE(stack);
    ASSERT_FALSE((*stack)->frames.empty()) << number;
    EXPECT_EQ((*stack)->frames.front().address, machine.At(0).pc) << number;
  }
}

}  // namespace
}  // namespace flowback
