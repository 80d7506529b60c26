// SPDX-License-Identifier: MIT
// A session gives what the recordings of tests/recordings hold, by each of its ways.
#include "flowback/session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "flowback/replay/thread_cursor.h"
#include "tests/support/flow_consumers.h"
#include "tests/support/places.h"

namespace flowback {
namespace {

std::string Folder() { return SourceFolder() + "/tests/recordings/"; }
std::string FileOf(const std::string& recording) { return Folder() + recording + ".data"; }

nlohmann::json Truth() {
  std::ifstream file(Folder() + "truth.json");
  return nlohmann::json::parse(file);
}

// (instructions, digest) of each thread, by thread number.
using Digests = std::vector<std::pair<uint64_t, uint64_t>>;

Digests TrueDigests(const nlohmann::json& truth, const std::string& recording) {
  Digests digests;
  const std::string program = truth["recordings"][recording];
  for (const auto& thread : truth["programs"][program]["threads"])
    digests.emplace_back(thread["instructions"].get<uint64_t>(),
                         std::stoull(thread["digest"].get<std::string>(), nullptr, 16));
  return digests;
}

// Takes down each thread's digest.
class ThreadDigests final : public PlayConsumer {
 public:
  void OnThreadBegin(const ThreadFlow&, size_t) override { digester_ = {}; }
  void OnThreadEnd(const ThreadFlow&, size_t) override {
    digests.emplace_back(digester_.count(), digester_.digest().hash);
  }
  void OnBlock(const BlockRun& run) override { digester_.OnBlock(run); }
  void OnEvent(const TraceEvent& event) override { digester_.OnEvent(event); }
  void OnLoss(const DataLoss& loss) override { digester_.OnLoss(loss); }

  Digests digests;

 private:
  FlowDigester digester_;
};

class SessionTest : public ::testing::TestWithParam<std::string> {
 protected:
  Session Open() {
    Result<Session> session = Session::Open(FileOf(GetParam()));
    if (!session) throw std::runtime_error(session.error().message());
    return *std::move(session);
  }
};

TEST_P(SessionTest, PlaysAndSumsWhatExecuted) {
  Session session = Open();
  const Digests truth = TrueDigests(Truth(), GetParam());
  ThreadDigests played;
  ASSERT_TRUE(session.Play(played));
  EXPECT_EQ(played.digests, truth);
  const auto sums = session.Sum();
  ASSERT_TRUE(sums);
  Digests summed;
  for (const ThreadTotals& sum : *sums)
    summed.emplace_back(sum.totals.digest.count, sum.totals.digest.hash);
  EXPECT_EQ(summed, truth);
}

TEST_P(SessionTest, StaysValidWhenItMoves) {
  Session first = Open();
  const StreamOwner& thread = first.threads().owners().front();
  Session second = std::move(first);
  ThreadDigests played;
  ASSERT_TRUE(second.Play(thread, played));
  ASSERT_EQ(played.digests.size(), 1U);
  EXPECT_EQ(played.digests.front(), TrueDigests(Truth(), GetParam()).front());
}

TEST_P(SessionTest, PlaysASpanOfTimeOnly) {
  Session session = Open();
  const Digests truth = TrueDigests(Truth(), GetParam());
  uint64_t all = 0;
  for (const auto& [count, hash] : truth) all += count;
  const auto instructions_in = [&](TimeSpan span) {
    ThreadDigests played;
    EXPECT_TRUE(session.Play(span, played));
    uint64_t count = 0;
    for (const auto& digest : played.digests) count += digest.first;
    return count;
  };
  const auto timeline = session.MakeTimeline();
  ASSERT_TRUE(timeline);
  const uint64_t middle = (timeline->begin + timeline->end) / 2;
  EXPECT_EQ(instructions_in({}), all);
  EXPECT_EQ(instructions_in({.end = middle}) + instructions_in({.begin = middle + 1}), all);
  EXPECT_EQ(instructions_in({.begin = timeline->end + 1'000'000'000}), 0U);
}

TEST_P(SessionTest, ItsCursorsCountTheSameInstructions) {
  Session session = Open();
  const auto index = session.Index();
  ASSERT_TRUE(index);
  EXPECT_EQ(*index, *session.Index()) << "the index is made once";
  const Digests truth = TrueDigests(Truth(), GetParam());
  ASSERT_EQ((*index)->threads().size(), truth.size());
  for (size_t i = 0; i < truth.size(); ++i) {
    ThreadCursor cursor(**index, (*index)->threads()[i]);
    cursor.ToEnd();
    EXPECT_EQ(cursor.number(), truth[i].first);
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, SessionTest,
                         ::testing::Values("tiny", "branches", "branches-stacks", "interruptions",
                                           "changes"),
                         [](const auto& recording) {
                           std::string name = recording.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(SessionTimeline, CountsTheCallsThatWereSeen) {
  Result<Session> session = Session::Open(FileOf("branches"));
  ASSERT_TRUE(session);
  const auto timeline = session->MakeTimeline();
  ASSERT_TRUE(timeline);
  const nlohmann::json truth = Truth()["programs"]["branches"]["entered"];
  size_t compared = 0;
  for (size_t i = 0; i < timeline->functions.size(); ++i) {
    const std::string& name = timeline->functions[i].name;
    if (name != "Leaf" && name != "Twice") continue;
    EXPECT_EQ(timeline->by_function[i].count, truth[name]);
    ++compared;
  }
  EXPECT_EQ(compared, 2U);
}

TEST(SessionStack, IsThatOfThePlace) {
  Result<Session> session = Session::Open(FileOf("tiny"));
  ASSERT_TRUE(session);
  const StreamOwner& thread = session->threads().owners().front();
  const auto stack = session->StackAt(thread, {.kind = StackPlace::Kind::kEnd});
  ASSERT_TRUE(stack);
  ASSERT_FALSE(stack->frames.empty());
  const StackFrame& outermost = stack->frames.back();
  const auto name = session->symbols().Find(*outermost.space, outermost.address);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->name, "_start");
}

TEST(SessionErrors, SayWhatKeepsItFromOpening) {
  const Result<Session> none = Session::Open(FileOf("gone"));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("gone.data"), std::string::npos);

  SessionOptions options;
  options.open.input = FileOf("tiny");
  options.engine = "abacus";
  const Result<Session> engine = Session::Open(options);
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().message().find("abacus"), std::string::npos);

  options.engine = "native";
  options.selection.tids = {1};
  const Result<Session> selection = Session::Open(options);
  ASSERT_FALSE(selection);
  EXPECT_EQ(selection.error().code(), ErrorCode::kUsage);
}

TEST(SessionSteps, OpenTheSameOneByOne) {
  SessionOptions options;
  options.open.input = FileOf("changes");
  Result<Recording> recording = OpenRecording(options.open);
  ASSERT_TRUE(recording);
  Session session(options, *std::move(recording));
  ASSERT_TRUE(session.OpenTrace());
  ASSERT_TRUE(session.OpenCode());
  session.PrepareStreams(false);
  ASSERT_TRUE(session.SelectThreads());
  ThreadDigests played;
  ASSERT_TRUE(session.Play(played));
  EXPECT_EQ(played.digests, TrueDigests(Truth(), "changes"));
  EXPECT_EQ(session.SelectedBytes(), session.trace_bytes());
  EXPECT_TRUE(session.Span());
}

TEST(SessionLosses, AreThoseOfDecodingAndOfTheRecorder) {
  Result<Session> session = Session::Open(FileOf("tiny"));
  ASSERT_TRUE(session);
  session->AddKnownLosses();
  ASSERT_TRUE(session->FindLosses());
  EXPECT_EQ(session->losses().count(), 0U);
  EXPECT_EQ(session->losses().stream_bytes(), session->trace_bytes());
}

// The name of the image is overwritten, so its code is not found.
TEST(SessionLosses, AreTheSameHoweverTheyAreFound) {
  const std::string copy = ::testing::TempDir() + "losses_of_tiny.data";
  std::filesystem::copy_file(FileOf("tiny"), copy,
                             std::filesystem::copy_options::overwrite_existing);
  constexpr int kImageName = 1089;
  std::fstream(copy, std::ios::in | std::ios::out | std::ios::binary).seekp(kImageName)
      << "damaged";
  SessionOptions options;
  options.open.input = copy;
  Result<Session> found = Session::Open(options);
  Result<Session> played = Session::Open(options);
  std::filesystem::remove(copy);
  ASSERT_TRUE(found && played);
  found->AddKnownLosses();
  ASSERT_TRUE(found->FindLosses());
  ThreadDigests digests;
  ASSERT_TRUE(played->PlayAccounted(digests));
  EXPECT_EQ(digests.digests.size(), played->threads().owners().size());
  EXPECT_NE(played->losses().count(), 0U);
  EXPECT_EQ(played->losses().count(), found->losses().count());
  EXPECT_EQ(played->losses().bytes(), found->losses().bytes());
  EXPECT_EQ(played->losses().stream_bytes(), played->trace_bytes());
}

TEST(SessionSelection, SaysWhatThereIsToSelect) {
  Result<Session> session = Session::Open(FileOf("changes"));
  ASSERT_TRUE(session);
  const ThreadChoices choices = session->threads().Choices();
  const int32_t first = session->threads().owners().front().tid;
  EXPECT_TRUE(choices.tids.contains(first));
  const ThreadSelection unmatched =
      session->threads().Unmatched({.tids = {first, 1}, .names = {"nobody"}, .cpus = {}}, choices);
  EXPECT_EQ(unmatched.tids, std::vector<int32_t>{1});
  EXPECT_EQ(unmatched.names, std::vector<std::string>{"nobody"});
}

TEST(SessionSelection, LeavesTheOtherThreadsOut) {
  SessionOptions options;
  options.open.input = FileOf("changes");
  const Result<Session> whole = Session::Open(options);
  ASSERT_TRUE(whole);
  const int32_t second = whole->threads().owners()[1].tid;
  options.selection.tids = {second};
  Result<Session> session = Session::Open(options);
  ASSERT_TRUE(session);
  const auto sums = session->Sum();
  ASSERT_TRUE(sums);
  ASSERT_EQ(sums->size(), 1U);
  EXPECT_EQ(sums->front().thread->tid, second);
  EXPECT_EQ(sums->front().totals.digest.count, TrueDigests(Truth(), "changes")[1].first);
}

}  // namespace
}  // namespace flowback
