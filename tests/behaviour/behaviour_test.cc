// SPDX-License-Identifier: MIT
// Runs every file of cases/: the native engine must say what the file expects, in full and summed
// up, and libipt must agree on the flow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "decode/pt/packets/packet.h"
#include "tests/behaviour/behaviour_file.h"
#include "tests/behaviour/trace_assembler.h"
#include "tests/behaviour/transcript.h"
#include "tests/support/byte_account.h"
#include "tests/support/flow_consumers.h"
#include "tests/support/places.h"

namespace flowback::behaviour {
namespace {

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(SourceFolder() + "/tests/behaviour/cases"))
    if (entry.path().extension() == ".pt") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::string PathOf(const std::string& name) {
  return SourceFolder() + "/tests/behaviour/cases/" + name + ".pt";
}

// The file's code in an address space of its own.
AddressSpaceHistory MapCode(const BehaviourFile& file) {
  auto space = std::make_shared<AddressSpace>();
  for (const CodePiece& piece : file.code) {
    auto bytes = std::make_shared<const std::vector<uint8_t>>(piece.bytes);
    auto section = std::make_shared<const CodeSection>(file.path, 0, Bytes(*bytes), bytes,
                                                       Verification::kGiven);
    space->Map({.address = piece.address,
                .size = bytes->size(),
                .section_offset = 0,
                .section = std::move(section)});
  }
  AddressSpaceHistory history;
  history.epochs.push_back({.time = 0, .instructions = 0, .space = std::move(space)});
  return history;
}

std::string Joined(const BehaviourFile& file, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "  " + Symbolic(file, line) + "\n";
  return text;
}

class Behaviour : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto file = ReadBehaviourFile(PathOf(GetParam()));
    ASSERT_TRUE(file.has_value()) << file.error().message();
    file_ = *file;
    const auto trace = AssembleTrace(file_);
    ASSERT_TRUE(trace.has_value()) << trace.error().message();
    // An allocation of exactly this size lets a sanitizer see a read past the end.
    trace_.assign(trace->begin(), trace->end());
    trace_.shrink_to_fit();
    code_ = MapCode(file_);
  }

  DecodeInput Input(Resync resync) const {
    return {.bytes = trace_,
            .code = &code_,
            .config = file_.config,
            .time = {},
            .resync = resync,
            .gaps = file_.gaps,
            .changes = {}};
  }

  FlowSummary Summarize(std::string_view engine, Resync resync) const {
    auto decoder = MakeDecoder(engine);
    if (!decoder) {
      ADD_FAILURE() << decoder.error().message();
      return {};
    }
    const auto summary = (*decoder)->Summarize(Input(resync));
    if (!summary) {
      ADD_FAILURE() << summary.error().message();
      return {};
    }
    return *summary;
  }

  BehaviourFile file_;
  std::vector<uint8_t> trace_;
  AddressSpaceHistory code_;
};

TEST_P(Behaviour, NativeSaysWhatIsExpected) {
  auto decoder = MakeDecoder("native");
  ASSERT_TRUE(decoder.has_value()) << decoder.error().message();
  Transcript transcript(file_.with_tsc);
  const auto account = (*decoder)->Decode(Input(file_.resync), transcript);
  ASSERT_TRUE(account.has_value()) << account.error().message();
  std::vector<std::string> expected;
  for (const Line& line : file_.expected) expected.push_back(Canonical(file_, line.words));
  const std::vector<std::string> actual = transcript.Lines();
  EXPECT_TRUE(actual == expected) << file_.path << "\n"
                                  << file_.first_comment << "\nexpected:\n"
                                  << Joined(file_, expected) << "actual:\n"
                                  << Joined(file_, actual);
}

TEST_P(Behaviour, SummaryEqualsTheFlow) {
  auto decoder = MakeDecoder("native");
  ASSERT_TRUE(decoder.has_value()) << decoder.error().message();
  for (const Resync resync : {Resync::kEarliest, Resync::kSyncPoint}) {
    FlowDigester told;
    const auto account = (*decoder)->Decode(Input(resync), told);
    ASSERT_TRUE(account.has_value()) << account.error().message();
    const FlowSummary summary = Summarize("native", resync);
    EXPECT_EQ(summary.digest, told.digest());
    EXPECT_EQ(summary.losses.size(), told.losses().size());
    accounts::ExpectAccount(Input(resync), told.losses(), *account);
    EXPECT_EQ(summary.bytes_decoded, account->decoded);
    EXPECT_EQ(summary.bytes_padding, account->padding);
    EXPECT_EQ(summary.bytes_lost, account->lost);
  }
}

// Any prefix of a trace may be all that was saved.
TEST_P(Behaviour, EveryPrefixIsAccountedFor) {
  auto decoder = MakeDecoder("native");
  ASSERT_TRUE(decoder.has_value()) << decoder.error().message();
  DecodeInput input = Input(file_.resync);
  for (size_t size = 0; size < trace_.size(); ++size) {
    const std::vector<uint8_t> prefix(trace_.begin(), trace_.begin() + size);
    input.bytes = prefix;
    input.gaps.clear();
    FlowDigester told;
    const auto account = (*decoder)->Decode(input, told);
    ASSERT_TRUE(account.has_value()) << account.error().message();
    accounts::ExpectAccount(input, told.losses(), *account);
  }
}

TEST_P(Behaviour, LibiptAgrees) {
  const auto names = DecoderNames();
  if (std::find(names.begin(), names.end(), "libipt") == names.end())
    GTEST_SKIP() << "this build has no libipt";
  const FlowSummary ours = Summarize("native", Resync::kSyncPoint);
  const FlowSummary theirs = Summarize("libipt", Resync::kSyncPoint);
  const bool same = ours.digest == theirs.digest && ours.losses.empty() == theirs.losses.empty();
  const auto causes = [](const FlowSummary& summary) {
    std::string text = std::to_string(summary.digest.count) + " instructions";
    for (const DataLoss& loss : summary.losses)
      text += std::string("; ") + Name(loss.cause) + ": " + loss.detail;
    return text;
  };
  EXPECT_EQ(same, !file_.libipt_differs)
      << "native: " << causes(ours) << "\nlibipt: " << causes(theirs)
      << "\nreason given: " << file_.libipt_differs.value_or("none");
}

// Kinds of packets in a trace, whatever damage it has.
void AddKinds(Bytes trace, std::set<size_t>& kinds) {
  pt::PebsState pebs;
  while (!trace.empty()) {
    pt::Packet packet;
    const pt::ReadResult size = ReadPacket(trace, pebs, packet);
    if (size) kinds.insert(packet.index());
    trace = trace.subspan(size.value_or(1));
  }
}

TEST(BehaviourCases, CoverEveryPacketAndErratum) {
  std::set<size_t> kinds;
  std::string comments;
  for (const std::string& name : CaseNames()) {
    const auto file = ReadBehaviourFile(PathOf(name));
    ASSERT_TRUE(file.has_value()) << file.error().message();
    const auto trace = AssembleTrace(*file);
    ASSERT_TRUE(trace.has_value()) << trace.error().message();
    AddKinds(*trace, kinds);
    comments += file->first_comment;
  }
  EXPECT_EQ(kinds.size(), pt::Packets::kSize);
#define FLOWBACK_ERRATUM(field, name, meaning) \
  EXPECT_NE(comments.find("Erratum " name), std::string::npos) << name;
#include "decode/pt/stream/errata.def"
#undef FLOWBACK_ERRATUM
}

INSTANTIATE_TEST_SUITE_P(Cases, Behaviour, testing::ValuesIn(CaseNames()), [](const auto& test) {
  std::string name = test.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
});

}  // namespace
}  // namespace flowback::behaviour
