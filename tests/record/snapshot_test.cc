// SPDX-License-Identifier: MIT
// Snapshots hold the end of what a whole recording holds.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "capture/record/output/snapshot_sink.h"
#include "decode/pt/packets/packet.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

using record::TraceHistory;

std::vector<uint8_t> Numbered(size_t size, uint8_t first) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(first + i) | 1;
  return bytes;
}

std::vector<uint8_t> WithPsb(size_t before, size_t after) {
  std::vector<uint8_t> bytes = Numbered(before, 0);
  pt::Psb{}.Encode(pt::ByteSink(bytes));
  const auto rest = Numbered(after, 0);
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

TEST(TraceHistory, BeginsAtAPsb) {
  TraceHistory history(100);
  history.Add(WithPsb(10, 5));
  const auto piece = history.Take();
  EXPECT_EQ(piece.offset, 10u);
  EXPECT_EQ(piece.bytes.size(), 21u);
  EXPECT_TRUE(history.Take().bytes.empty()) << "nothing came since";
  history.Add(Numbered(60, 0));
  EXPECT_EQ(history.Take().offset, 10u) << "the PSB is still kept";
  history.Add(Numbered(40, 0));
  EXPECT_TRUE(history.Take().bytes.empty()) << "no PSB is left in the last 100";
  EXPECT_EQ(history.overwritten(), 10u + 40u) << "before the PSB, and what came last";
}

TEST(TraceHistory, CountsOnceWhatTwoSnapshotsHave) {
  TraceHistory history(100);
  history.Add(WithPsb(10, 30));
  EXPECT_EQ(history.Take().bytes.size(), 46u);
  EXPECT_EQ(history.overwritten(), 10u);
  history.Add(WithPsb(0, 14));
  EXPECT_EQ(history.Take().bytes.size(), 76u);
  EXPECT_EQ(history.overwritten(), 10u);
  history.Add(WithPsb(200, 4));
  EXPECT_EQ(history.Take().bytes.size(), 20u);
  EXPECT_EQ(history.overwritten(), 210u);
  history.Clear();
  EXPECT_EQ(history.overwritten(), 210u);
}

TEST(TraceHistory, KeepsTheLatestHoweverTheyCome) {
  for (const size_t unit : {1, 7, 99, 100, 101, 1000}) {
    SCOPED_TRACE(unit);
    std::vector<uint8_t> all;
    for (int i = 0; i < 30; ++i) {
      const auto part = WithPsb(20, 13);
      all.insert(all.end(), part.begin(), part.end());
    }
    TraceHistory history(100);
    for (size_t at = 0; at < all.size(); at += unit)
      history.Add(Bytes(all).subspan(at, std::min(unit, all.size() - at)));
    const auto piece = history.Take();
    const size_t begin = pt::FindPsb(all, all.size() - 100);
    EXPECT_EQ(piece.offset, begin);
    EXPECT_TRUE(std::ranges::equal(piece.bytes, Bytes(all).subspan(begin)));
  }
}

class Snapshot : public testing::TestWithParam<const char*> {
 protected:
  void Use(Recorder& recorder, uint64_t bytes) {
    recorder.options().engine = GetParam();
    if (recorder.options().engine == "emulate") Emulate(recorder.options());
    recorder.options().streams.clock = RecordClock::kInstructions;
    // Small programs are stepped soon; so their trace is made large.
    recorder.options().packets.psb_period_bytes = 2048;
    recorder.options().packets.mtc_shift = 0;
    recorder.options().packets.cyc_threshold = 0;
    recorder.options().packets.return_compression = false;
    if (bytes != 0) recorder.options().streams.snapshot_bytes = bytes;
  }
};
#define FLOWBACK_NEEDS_ENGINE(engine)     \
  if (std::string(engine) == "emulate") { \
    FLOWBACK_NEEDS_EMULATOR();            \
  } else {                                \
    FLOWBACK_NEEDS_PTRACE();              \
  }

// The instruction clock makes two runs' traces the same.
TEST_P(Snapshot, IsTheEndOfAWholeRecording) {
  FLOWBACK_NEEDS_ENGINE(GetParam());
  Recorder whole, snapshot;
  Use(whole, 0);
  Use(snapshot, 4096);
  const std::vector<std::string> command = {Sample("recursion")};
  const auto truth = whole.Run(command);
  const auto summary = snapshot.Run(command);
  ASSERT_TRUE(truth && summary);
  const auto all = OpenFile(whole.File("perf.data"));
  const auto end = OpenFile(snapshot.File("perf.data"));
  ASSERT_TRUE(all && end);
  ASSERT_EQ(end->streams.size(), 1u);
  const Bytes kept = end->streams[0].bytes;
  ASSERT_GT(all->streams[0].bytes.size(), 4096u);
  EXPECT_LE(kept.size(), 4096u + 7);
  EXPECT_GT(kept.size(), 1024u);
  EXPECT_EQ(pt::FindPsb(kept, 0), 0u);
  // What perf's padding adds is zeros.
  const size_t begin = pt::FindPsb(all->streams[0].bytes, all->streams[0].bytes.size() - 4096);
  const Bytes expected = all->streams[0].bytes.subspan(begin);
  ASSERT_GE(kept.size(), expected.size());
  EXPECT_TRUE(std::ranges::equal(kept.first(expected.size()), expected));
  EXPECT_EQ(truth->overwritten_bytes, 0u);
  EXPECT_EQ(summary->bytes, truth->bytes);
  EXPECT_EQ(summary->overwritten_bytes, truth->bytes - expected.size());
}

TEST_P(Snapshot, IsReadByPerfAndByBothDecoders) {
  FLOWBACK_NEEDS_ENGINE(GetParam());
  Recorder recorder;
  Use(recorder, 4096);
  const auto summary = recorder.Run({Sample("recursion")});
  ASSERT_TRUE(summary) << summary.error().message();
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  const auto digests = DecodedDigests(*recording);
  for (const auto& [engine, digest] : digests) EXPECT_EQ(digest, digests[0].second) << engine;
  ASSERT_FALSE(digests.empty());
  EXPECT_GT(digests[0].second.count, 1000u);
  EXPECT_LT(digests[0].second.count, summary->instructions);
  FLOWBACK_NEEDS_PERF();
  std::string problem;
  const auto listed = PerfScriptDigests(recorder.File("perf.data"), *summary, problem);
  ASSERT_EQ(listed.size(), 1u) << problem;
  EXPECT_EQ(listed[0], digests[0].second);
}

INSTANTIATE_TEST_SUITE_P(, Snapshot, testing::Values("emulate", "step"),
                         [](const auto& test) { return std::string(test.param); });

// A thread that ends is taken then: all of them are in the file, each with its own end.
TEST(Snapshots, OfThreadsThatCameAndWent) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  recorder.options().streams.snapshot_bytes = uint64_t{1} << 20;  // all of it
  const auto summary = recorder.Run({"/bin/sh", "-c", "ls / | /bin/cat; exec /bin/true"});
  ASSERT_TRUE(summary) << summary.error().message();
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_EQ(summary->overwritten_bytes, 0u);
  for (const Stream& stream : recording->streams) EXPECT_TRUE(stream.gaps.empty());
  EXPECT_EQ(recording->streams.size(), summary->threads.size());
  std::string problem;
  FLOWBACK_NEEDS_PERF();
  const auto listed = PerfScriptDigests(recorder.File("perf.data"), *summary, problem);
  ASSERT_EQ(listed.size(), summary->threads.size()) << problem;
  for (size_t i = 0; i < listed.size(); ++i) EXPECT_EQ(listed[i], summary->threads[i].digest);
}

// ---- SIGUSR2 ----

size_t SnapshotsIn(const Recording& recording) {
  return static_cast<size_t>(std::ranges::count_if(recording.sideband, [](const auto& record) {
    const auto* aux = std::get_if<AuxRecord>(&record);
    return aux != nullptr && (aux->flags & 2) != 0;  // overwrite
  }));
}

// The recorded shell asks for the snapshots itself, and waits until each is in the file.
// For each of two files that the program makes: asks for a snapshot, waits until `file` grew, and
// lets the program go on. Gives up after a minute: then the test fails by what is in the file.
void AskForSnapshots(const std::string& file, const std::array<std::string, 2>& made,
                     const std::array<std::string, 2>& fifos) {
  namespace fs = std::filesystem;
  sigset_t signal;
  sigemptyset(&signal);
  sigaddset(&signal, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &signal, nullptr);  // it is for the thread that records
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const auto wait_for = [&](auto condition) {
    while (!condition() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  for (size_t i = 0; i < made.size(); ++i) {
    wait_for([&] { return fs::exists(made[i]); });
    const auto size = fs::file_size(file);
    kill(getpid(), SIGUSR2);
    wait_for([&] { return fs::file_size(file) > size; });
    std::ofstream{fifos[i]};
  }
}

TEST_P(Snapshot, IsTakenAtTheSignal) {
  FLOWBACK_NEEDS_ENGINE(GetParam());
  Recorder recorder;
  Use(recorder, uint64_t{1} << 20);
  const std::string file = recorder.File("perf.data");
  const std::array made = {recorder.File("first"), recorder.File("second")};
  const std::array fifos = {recorder.File("go_on"), recorder.File("end")};
  for (const std::string& fifo : fifos) ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  auto asked = std::async(std::launch::async, [&] { AskForSnapshots(file, made, fifos); });
  // Nothing but the shell itself: stepping other programs takes seconds.
  const auto summary = recorder.Run({"/bin/sh", "-c",
                                     ": >" + made[0] + "; read x <" + fifos[0] + "; : >" + made[1] +
                                         "; read x <" + fifos[1] + "; exit 0"});
  asked.get();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status, 0);
  const auto recording = OpenFile(file);
  ASSERT_TRUE(recording) << recording.error().message();
  // Two of the shell and one at each thread's end.
  EXPECT_GE(SnapshotsIn(*recording), 2 + recording->streams.size());
  const Stream& shell = recording->streams.at(0);
  EXPECT_TRUE(shell.gaps.empty()) << shell.gaps[0].reason;
  EXPECT_GT(shell.repeated_bytes, 0u);
  for (const auto& [engine, digest] : DecodedDigests(*recording))
    EXPECT_EQ(digest, summary->threads[0].digest) << engine;
}

TEST(Snapshots, AreRefusedWhereTheyCannotBe) {
  const auto refused = [](uint64_t bytes, auto change, const char* words) {
    ExpectRefused(
        [&](Recorder& recorder) {
          recorder.options().streams.snapshot_bytes = bytes;
          change(recorder);
        },
        words);
  };
  const auto as_it_is = [](Recorder&) {};
  refused(8191, as_it_is, "PSB periods");
  refused(uint64_t{5} << 30, as_it_is, "4 GiB");
  const auto without_times = [](Recorder& recorder) {
    recorder.options().packets.timestamps = false;
    recorder.options().packets.mtc_shift.reset();
  };
  refused(65536, without_times, "TSC");
  refused(
      65536,
      [](Recorder& recorder) { recorder.options().files.raw_directory = recorder.File("raw"); },
      "raw");
}

}  // namespace
}  // namespace flowback::record_test
