// SPDX-License-Identifier: MIT
// Text and JSON about waits, from reports made by hand.
#include "replay/writers/writers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "replay/writers/locks/lock_changes.h"
#include "replay/writers/locks/lock_lanes.h"
#include "tests/locks/made_report.h"

namespace flowback::test {
namespace {

using nlohmann::json;
using WriteLocks = void(const LocksView&, TextSink&);

json JsonOf(const MadeReport& made) { return json::parse(LocksJson(made.View())); }

TEST(LockSentences, FirstOneAnswersWhoWaitedForWhom) {
  EXPECT_EQ(BusyReport().FirstSentence(),
            "3 threads spent 41 % of their time waiting: 38 % for spin_lock() called at 0x401050 "
            "(worker <- start_thread), held mostly by srv 101 in malloc.");
}

TEST(LockSentences, OfOneThreadAtOneSite) {
  MadeReport made(2);
  made.Wait(made.Site("spin_lock", "worker", "start_thread"), 1, 25'000, 7);
  EXPECT_EQ(made.FirstSentence(),
            "1 thread spent 2.5 % of its time waiting for spin_lock() called at 0x401050 (worker "
            "<- start_thread).");
}

TEST(LockSentences, WaitsForWorkDoNotHideThoseForLocks) {
  MadeReport made(3);
  const uint32_t idle = made.Site("pthread_cond_wait", "next_job", "start_thread");
  made.report.sites[idle].is_library = true;
  made.Wait(idle, 1, 900'000, 0);
  made.Wait(made.Site("spin_lock", "worker", "start_thread"), 2, 100'000, 7);
  const std::vector<std::string> sentences = LockSentences(made.View());
  EXPECT_TRUE(
      sentences.at(0).starts_with("2 threads spent 50 % of their time waiting: 45 % for "
                                  "pthread_cond_wait()"))
      << sentences.at(0);
  EXPECT_EQ(sentences.at(1),
            "For locks alone 1 thread waited 10 % of its time: 10 % for spin_lock() called at "
            "0x401150 (worker <- start_thread).");
  const json all = JsonOf(made);
  EXPECT_EQ(all["waits"]["locks"]["share"], 0.1);
  EXPECT_TRUE(all["sites"][0]["for_work"]);
  EXPECT_FALSE(all["sites"][1]["for_work"]);
}

TEST(LockSentences, WhereNobodyWaited) {
  MadeReport made(3);
  EXPECT_EQ(made.FirstSentence(),
            "No thread waited for another one: 3 threads, 3,000,000 instructions looked at.");
  OtherLoop loop;
  loop.function = made.Function("poll_ring");
  loop.trips = 17;
  loop.verdict = {.kind = LoopKind::kDoubtful, .reason = LoopReason::kUnknownCode};
  made.report.loops.push_back(loop);
  loop.alone = true;
  made.report.loops.push_back(loop);
  EXPECT_EQ(LockSentences(made.View())[1], "1 loop may be a wait: --all lists it.");
  LocksView view = made.View();
  view.all = true;
  StringSink sink;
  WriteLocksText(view, sink);
  EXPECT_TRUE(sink.text().contains("it may be a wait: an instruction whose effects"))
      << sink.text();
  EXPECT_TRUE(sink.text().contains("no other thread that could end it")) << sink.text();
}

TEST(LockSentences, WithoutTimesOfTripsAlone) {
  MadeReport made = BusyReport();
  made.TakeTimes();
  EXPECT_EQ(made.FirstSentence(),
            "3 threads waited: 3,020 trips round loops, 3,000 of the trips for spin_lock() called "
            "at 0x401050 (worker <- start_thread).");
  const std::string text = made.Text();
  EXPECT_TRUE(text.contains("The trace has no times")) << text;
  EXPECT_FALSE(text.contains("longest waits") || text.contains(" ns")) << text;
  EXPECT_TRUE(text.contains("waits with most trips")) << text;
  EXPECT_TRUE(text.contains(" --at '#")) << text;
}

TEST(LockSentences, EmulatedTimesAreNoneOfAnUndisturbedRun) {
  MadeReport made = BusyReport();
  made.report.emulated = true;
  EXPECT_TRUE(made.Text().contains("The recording is emulated")) << made.Text();
}

TEST(LockSentences, ADeadlockIsSaidFirst) {
  MadeReport made(2);
  const uint32_t first = made.Site("pthread_mutex_lock", "left", "main");
  const uint32_t second = made.Site("pthread_mutex_lock", "right", "main");
  made.Wait(first, 0, 400'000, 0, WaitState::kCutByEnd);
  made.Wait(second, 1, 300'000, 0, WaitState::kCutByEnd);
  made.report.cycles.push_back({.waits = {0, 1}});
  EXPECT_EQ(made.FirstSentence(),
            "Deadlock: srv 101 and srv 102 wait for each other until the end: srv 101 waits for "
            "srv 102 in pthread_mutex_lock() called at 0x401050 since 5.000000000 and srv 102 "
            "waits for srv 101 in pthread_mutex_lock() called at 0x401150 since 5.000001000.");
  EXPECT_FALSE(made.Text().contains("still waited")) << made.Text();
  EXPECT_EQ(JsonOf(made)["deadlocks"], json::parse("[[0,1]]"));
}

TEST(LockSentences, WaitsThatWereNotSeenWhole) {
  MadeReport made(2);
  const uint32_t lock = made.Site("spin_lock", "worker", "start_thread");
  made.Wait(lock, 0, 10'000, 5, WaitState::kLost);
  made.Wait(lock, 1, 20'000, 5, WaitState::kCutByEnd);
  const std::string text = made.Text();
  EXPECT_TRUE(text.contains("1 cut by its end and 1 cut by a loss")) << text;
  EXPECT_TRUE(text.contains("1 thread still waited when the trace ended: srv 102")) << text;
  EXPECT_TRUE(text.contains("cut by a loss, at least")) << text;
}

TEST(LockText, HasSitesThreadsHoldersAndTheLongestWaits) {
  const std::string text = BusyReport().Text();
  for (const char* const part :
       {"1. spin_lock() called at 0x401050 (worker <- start_thread)",
        "2. pthread_mutex_lock() called at 0x401150 (log_line <- worker)",
        "held by srv 101 for 61 % in malloc; one of srv 101, srv 103", "threads that waited",
        "longest waits", "timeline work.data --at 5.000110000 --tid 102"})
    EXPECT_TRUE(text.contains(part)) << part << "\n" << text;
}

TEST(LockText, NamesTheConvoyAndThePreemptedHolder) {
  MadeReport made = BusyReport();
  LockHolder& holder = made.report.holders.front();
  holder.off_cpu = holder.preempted = holder.time / 2;
  EXPECT_TRUE(made.Text().contains("srv 101 for 61 % in malloc, which was preempted for 50 % of"));
  EXPECT_FALSE(made.Text().contains("convoy"));
  holder.convoy = 3;
  EXPECT_TRUE(made.Text().contains("a convoy, 3")) << made.Text();
}

TEST(LockText, PathsArePrintedWhereTheyAreAskedFor) {
  MadeReport made = BusyReport();
  LockSums sums = made.report.site_sums.front();
  sums.path = made.report.worst.front().path;
  made.report.path_sums.push_back(sums);
  LocksView view = made.View();
  view.paths = true;
  StringSink sink;
  WriteLocksText(view, sink);
  EXPECT_TRUE(
      sink.text().contains("path with 1.14 ms (100 % of the site's), 3 waits\n"
                           "      worker (0x401050)\n"
                           "      start_thread (0x400010)\n"))
      << sink.text();
  EXPECT_EQ(json::parse(LocksJson(view))["sites"][0]["paths"][0]["callers"][0], "worker");
}

TEST(LockJson, HasTheDocumentedShape) {
  const json all = JsonOf(BusyReport());
  EXPECT_EQ(all["schema"], "flowback.locks/1");
  EXPECT_EQ(all["waits"]["waits"], 4);
  EXPECT_EQ(all["waits"]["waiting"], 1'230'000);
  EXPECT_EQ(all["waits"]["life"], 3'000'000);
  const json& site = all["sites"][0];
  EXPECT_EQ(site["function"], "spin_lock");
  EXPECT_EQ(site["caller"], "worker");
  EXPECT_EQ(site["address"], "401000");
  EXPECT_EQ(site["call"], "401050");
  EXPECT_EQ(site["callers"], json::parse(R"(["worker","start_thread"])"));
  EXPECT_TRUE(site["acquisitions"].is_null());
  EXPECT_EQ(site["states"]["whole"], 3);
  EXPECT_EQ(site["threads"].size(), 3);
  EXPECT_EQ(site["threads"][0]["tid"], 102);
  EXPECT_EQ(site["holders"][0]["tid"], 101);
  EXPECT_EQ(site["holders"][0]["certain"], 700'000);
  EXPECT_EQ(site["holders"][0]["callers"][0], "malloc");
  EXPECT_EQ(all["threads"].size(), 4);
  EXPECT_EQ(all["worst"][0]["site"], 0);
  EXPECT_EQ(all["worst"][0]["begin"], 5'000'110'000);
  EXPECT_EQ(all["worst"][0]["holder"], 101);
  EXPECT_TRUE(all["worst"][3]["holder"].is_null());
  EXPECT_TRUE(all["changes"].is_null());
}

std::string PictureOf(const MadeReport& made) {
  StringSink sink;
  WriteLocksSvg(made.View(), sink);
  return sink.text();
}

size_t CountOf(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(LockPicture, HasALaneForEachThreadThatWaitsOrHolds) {
  const std::string picture = PictureOf(BusyReport());
  EXPECT_EQ(CountOf(picture, ">srv 10"), 4) << picture;
  EXPECT_EQ(CountOf(picture, "class=\"arrow\""), 3);
  EXPECT_EQ(CountOf(picture, "class=\"arrow maybe\""), 0);
  EXPECT_TRUE(picture.contains("pthread_mutex_lock() called at 0x401150, 90.0 us"));
}

TEST(LockPicture, WithoutTimesHasTheSentencesAlone) {
  MadeReport made = BusyReport();
  made.TakeTimes();
  const std::string picture = PictureOf(made);
  EXPECT_TRUE(picture.contains("3,020 trips round loops")) << picture;
  EXPECT_FALSE(picture.contains("<rect")) << picture;
}

TEST(LockLanes, DivideEachThreadsLife) {
  const MadeReport made = BusyReport();
  const std::vector<LockLane> lanes = LanesOf(made.report, 7, 64);
  ASSERT_EQ(lanes.size(), 4);
  for (const LockLane& lane : lanes) {
    std::array<uint64_t, kLaneKinds> sums{};
    for (const auto& column : lane.columns)
      for (size_t i = 0; i < kLaneKinds; ++i) sums[i] += column[i];
    const LockThread& thread = made.report.threads[lane.thread];
    EXPECT_EQ(sums[0] + sums[1] + sums[2], thread.life());
    EXPECT_EQ(sums[1], thread.spinning);
  }
  EXPECT_EQ(LanesOf(made.report, 7, 2).size(), 2);
}

TEST(LockLanes, TakeTheReportsOwnStrips) {
  MadeReport made = BusyReport();
  made.report.threads[1].strip = {{.spinning = 500'000, .sleeping = 0},
                                  {.spinning = 0, .sleeping = 100'000}};
  const LockLane lane = LanesOf(made.report, 7, 64)[1];
  ASSERT_EQ(lane.columns.size(), 2);
  EXPECT_EQ(lane.columns[0], (std::array<uint64_t, kLaneKinds>{0, 500'000, 0}));
  EXPECT_EQ(lane.columns[1], (std::array<uint64_t, kLaneKinds>{400'000, 0, 100'000}));
}

TEST(LockWriters, HostileNamesAreShortAndHarmless) {
  std::string name;
  while (name.size() < 60'000) name += "\"'\\\n\r\t\x1b[31m</script><!--&amp;\x07\xff{";
  MadeReport made(2);
  const uint32_t lock = made.Site(name, name + "1", name + "2");
  for (int i = 0; i < 50; ++i) made.Wait(lock, 1, 1000, 1);
  made.Holder(lock, 0, 1000, 1000, name);
  for (WriteLocks* const write : {WriteLocksText, WriteLocksJson, WriteLocksSvg, WriteLocksHtml}) {
    StringSink sink;
    write(made.View(), sink);
    EXPECT_LT(sink.text().size(), 1'000'000);
    EXPECT_TRUE(std::ranges::all_of(sink.text(), [](char c) {
      return c == '\n' || c == '\t' || static_cast<uint8_t>(c) >= 0x20;
    }));
  }
  EXPECT_TRUE(json::accept(LocksJson(made.View())));
  StringSink page;
  WriteLocksHtml(made.View(), page);
  EXPECT_EQ(CountOf(page.text(), "</script"), 2);
}

TEST(LockChanges, SitesAreMatchedByNames) {
  MadeReport old(2);
  old.Wait(old.Site("spin_lock", "worker", "main"), 0, 50'000, 1);
  old.Wait(old.Site("gone_lock", "worker", "main"), 0, 10'000, 1);
  old.report.site_sums[0].acquisitions = 10;
  MadeReport now(2);
  now.Wait(now.Site("new_lock", "worker", "main"), 0, 20'000, 1);
  now.Wait(now.Site("spin_lock", "worker", "main"), 0, 380'000, 1);
  now.report.site_sums[1].acquisitions = 10;
  LocksView before = old.View();
  before.input = "old.data";
  const LockChanges changes = LockChanges::Between(FiguresOf(before), FiguresOf(now.View()));
  EXPECT_EQ(ChangeSentences(changes, true),
            (std::vector<std::string>{
                "Waiting got worse: 40 % of the time of the threads that waited, 6.0 % in "
                "old.data.",
                "Worse: spin_lock in worker: 38 % of the time rather than 5.0 %; 38.0 us an "
                "acquisition rather than 5.00 us.",
                "New: new_lock in worker (2.0 % of the time).",
                "Gone: gone_lock in worker (it was 1.0 %)."}));
  LocksView view = now.View();
  view.changes = &changes;
  EXPECT_TRUE(LockSentences(view).front().starts_with("Waiting got worse"));
  const json told = json::parse(LocksJson(view))["changes"];
  EXPECT_EQ(told["trend"], "worse");
  EXPECT_EQ(told["sites"][0]["per_acquisition"], 38'000);
}

TEST(LockChanges, AShareAndAnAcquisitionMayGoDifferentWays) {
  MadeReport old(1);
  old.Wait(old.Site("spin_lock", "worker", "main"), 0, 100'000, 1);
  old.report.site_sums[0].acquisitions = 10;
  MadeReport now(1);
  now.Wait(now.Site("spin_lock", "worker", "main"), 0, 200'000, 1);
  now.report.site_sums[0].acquisitions = 40;
  const auto sentences =
      ChangeSentences(LockChanges::Between(FiguresOf(old.View()), FiguresOf(now.View())), true);
  EXPECT_EQ(sentences.at(1),
            "Mixed: spin_lock in worker: 20 % of the time rather than 10 %; 5.00 us an acquisition "
            "rather than 10.0 us.");
}

TEST(LockChanges, TheSameRecordingIsTheSame) {
  const MadeReport made = BusyReport();
  const LockFigures figures = FiguresOf(made.View());
  const auto sentences = ChangeSentences(LockChanges::Between(figures, figures), true);
  ASSERT_EQ(sentences.size(), 1);
  EXPECT_TRUE(sentences.front().starts_with("Waiting is about the same")) << sentences.front();
}

// A name is escaped once, in each of the places that show it.
TEST(LockInstances, NamesAreEscapedOnce) {
  MadeReport made(1);
  LockInstance lock;
  lock.file = "/bin/srv";
  lock.symbol = "odd\\name\xff";
  made.report.instances.push_back(lock);
  EXPECT_EQ(InstanceName(made.View(), 0), R"(odd\\name\xff)");
  made.report.instances[0].symbol_offset = 16;
  EXPECT_EQ(InstanceName(made.View(), 0), R"(odd\\name\xff+0x10)");
}

}  // namespace
}  // namespace flowback::test
