// SPDX-License-Identifier: MIT
// Recordings of events that are directed while they run, with a kernel that the test plays.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "flowback/decode/decoder.h"
#include "tests/record/events/event_simulated.h"
#include "tests/support/generator/stream_generator.h"

namespace flowback::record_test {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kPtType = 8;  // of the tree skylake_server

class EventDirection : public EventSimulated {
 protected:
  EventDirection() {
    mkfifo(File("ctl").c_str(), 0600);
    mkfifo(File("ack").c_str(), 0600);
    commands_ = open(File("ctl").c_str(), O_RDWR | O_NONBLOCK);
    answers_ = open(File("ack").c_str(), O_RDWR | O_NONBLOCK);
  }
  ~EventDirection() override {
    close(commands_);
    close(answers_);
  }
  void Say(const std::string& text) const {
    ASSERT_EQ(write(commands_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string Answers() const {
    char text[4096];
    const ssize_t got = read(answers_, text, sizeof text);
    return got <= 0 ? "" : std::string(text, static_cast<size_t>(got));
  }
  void Control() { options_.direction.control = "fifo:" + File("ctl") + "," + File("ack"); }
  bool Counts(uint32_t type) {
    SimulatedKernel::Event* event = kernel_.FindEvent(type);
    return event != nullptr && event->enabled;
  }

  int commands_, answers_;
};

// ---- --control ----

TEST_F(EventDirection, EventsAreSwitchedByName) {
  Control();
  options_.engine = "events";
  options_.events.words = {"cycles:u"};
  int round = 0;
  kernel_.meanwhile = [&] {
    switch (round++) {
      case 0:
        EXPECT_TRUE(Counts(PERF_TYPE_HARDWARE));
        Say("disable\n");
        break;
      case 1:
        EXPECT_EQ(Answers(), "ack\n");
        EXPECT_FALSE(Counts(PERF_TYPE_HARDWARE));
        EXPECT_TRUE(Counts(PERF_TYPE_SOFTWARE)) << "what tracks mappings goes on";
        Say("enable cycles:u\nena");
        break;
      case 2:
        EXPECT_EQ(Answers(), "ack\n");
        EXPECT_TRUE(Counts(PERF_TYPE_HARDWARE));
        Say("ble instructions\nevlist\nping\n");
        break;
      case 3:
        EXPECT_EQ(Answers(),
                  "error: no event 'instructions': evlist tells them\n"
                  "cycles:u\ndummy:u\nack\nack\n");
        Say("stop\n");
        break;
      default:
        ADD_FAILURE() << "it was stopped";
        return false;
    }
    return true;
  };
  EXPECT_EQ(Recorded().stop_reason, StopReason::kControl);
  EXPECT_EQ(Answers(), "ack\n");
}

TEST_F(EventDirection, CountersAreAnswered) {
  Control();
  options_.engine = "events";
  options_.events.words = {"cycles:u"};
  int round = 0;
  kernel_.meanwhile = [&] {
    SimulatedKernel::Event& cycles = *kernel_.EventsOf(PERF_TYPE_HARDWARE)[0];
    cycles.count += 5000;
    cycles.time_enabled = cycles.time_running += 100;
    if (round == 0) Say("stat\n");
    return ++round < 3;
  };
  Recorded();
  EXPECT_TRUE(Answers().starts_with("error: nothing is counted"));
  options_.events.counters = true;
  round = 0;
  const RecordSummary summary = Recorded();
  const std::string answers = Answers();
  EXPECT_TRUE(answers.starts_with("5000 cycles:u\n0 task-clock")) << answers;
  EXPECT_TRUE(answers.ends_with("\nack\n")) << answers;
  EXPECT_EQ(summary.counters.events[0].total.value, 15'000u);
  EXPECT_EQ(Open().counters.readings, 2u);
}

TEST_F(EventDirection, RubbishIsAnsweredAndNotFatal) {
  Control();
  int round = 0;
  std::string answers;
  kernel_.meanwhile = [&] {
    answers += Answers();
    if (round == 0) Say(std::string("\x01\xff\0\0garbage\n\n\n enable\n", 22));
    if (round == 1) Say(std::string(3000, 'x'));
    if (round == 2) Say(std::string(3000, 'y') + "\nping\n");
    return ++round < 6;
  };
  Recorded();
  EXPECT_TRUE(answers.starts_with("error: no command '\x01\xffgarbage'")) << answers;
  EXPECT_TRUE(answers.contains("error: no command ''")) << answers << ": a space before it";
  EXPECT_TRUE(answers.contains("error: no command 'xxxxxxxxxxxxxxxx'")) << answers;
  EXPECT_TRUE(answers.ends_with("ack\n")) << answers;
  EXPECT_EQ(std::ranges::count(answers, '\n'), 4) << answers;
}

// Nobody reads answers: the recording does not wait for it.
TEST_F(EventDirection, AnswersThatNobodyReadsAreLost) {
  Control();
  int round = 0;
  kernel_.meanwhile = [&] {
    std::string pings;
    for (int i = 0; i < 500; ++i) pings += "ping\n";
    Say(pings);
    return ++round < 60;
  };
  Recorded();
  EXPECT_EQ(round, 60);
}

TEST_F(EventDirection, AClosedChannelIsNoEnd) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  options_.direction.control = "fd:" + std::to_string(channel[0]);
  int round = 0;
  kernel_.meanwhile = [&] {
    if (round == 0) close(channel[1]);
    return ++round < 5;
  };
  Recorded();
  EXPECT_EQ(round, 5);
  EXPECT_EQ(close(channel[0]), 0) << "it is the caller's";
}

TEST_F(EventDirection, WhatIsNoChannelIsRefused) {
  std::ofstream(File("file")) << "text";
  const std::pair<std::string, std::string> all[] = {
      {"fifo:" + File("nothing"), "can't open"},
      {"fifo:" + File("file"), "is no FIFO"},
      {"fifo:" + File("ctl") + "," + File("nothing"), "can't open"},
      {"fd:12x", "no number"},
      {"fd:999", "is not open"},
      {"fd:", "no number"},
      {"socket:3", "neither fifo: nor fd:"}};
  for (const auto& [words, why] : all) {
    options_.direction.control = words;
    const auto summary = Run();
    ASSERT_FALSE(summary) << words;
    EXPECT_TRUE(summary.error().message().contains(why)) << summary.error().message();
    EXPECT_FALSE(summary.error().remedy().empty());
  }
}

// ---- -D ----

TEST_F(EventDirection, EventsBeginLater) {
  options_.direction.delay = milliseconds(200);
  const auto begun = std::chrono::steady_clock::now();
  std::optional<milliseconds> enabled;
  kernel_.meanwhile = [&] {
    usleep(5000);
    const auto now =
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun);
    EXPECT_TRUE(Counts(PERF_TYPE_SOFTWARE)) << "mappings are told from the start";
    if (Counts(kPtType)) enabled = now;
    return !enabled && now < milliseconds(5000);
  };
  Recorded();
  ASSERT_TRUE(enabled);
  EXPECT_GE(*enabled, milliseconds(200));
}

TEST_F(EventDirection, EventsBeginWhenTheyAreToldTo) {
  options_.direction.delay = milliseconds(-1);
  Control();
  int round = 0;
  kernel_.meanwhile = [&] {
    EXPECT_EQ(Counts(kPtType), round > 3) << round;
    if (round == 3) Say("enable\n");
    return ++round < 6;
  };
  Recorded();
  EXPECT_EQ(round, 6);
}

// ---- snapshots ----

flowback::testing::GeneratedStream SomeStream() {
  return flowback::testing::GenerateStream({.seed = 9,
                                            .instructions = 400'000,
                                            .shape = flowback::testing::CodeShape::kTipDense,
                                            .return_compression = false});
}

// A trace that is switched off is not switched on by a snapshot of it.
TEST_F(EventDirection, SnapshotsThroughTheChannel) {
  Control();
  options_.streams.snapshot_bytes = 8 << 10;
  const flowback::testing::GeneratedStream stream = SomeStream();
  int round = 0;
  kernel_.meanwhile = [&] {
    if (round == 0) kernel_.WriteAux(*kernel_.FindEvent(kPtType), Bytes(stream.bytes).first(9000));
    if (round == 1) Say("snapshot\n");
    if (round == 2) {
      EXPECT_EQ(Answers(), "ack\n");
      EXPECT_TRUE(Counts(kPtType));
      Say("disable\nsnapshot\n");
    }
    if (round == 3) {
      EXPECT_FALSE(Counts(kPtType));
    }
    return ++round < 5;
  };
  EXPECT_EQ(Recorded().bytes, 3u * (8 << 10)) << "two and the last";
}

TEST_F(EventDirection, SnapshotsOfAWholeTraceAreRefused) {
  Control();
  int round = 0;
  std::string answers;
  kernel_.meanwhile = [&] {
    if (round == 0) Say("snapshot\n");
    answers += Answers();
    return ++round < 3;
  };
  Recorded();
  EXPECT_TRUE(answers.contains("-S")) << answers;
}

// The command is real, its trace is not.
TEST_F(EventDirection, TheEndIsKeptWhereTheCommandDies) {
  const flowback::testing::GeneratedStream stream = SomeStream();
  for (const bool dies : {true, false}) {
    SimulatedKernel kernel(test::Tree("skylake_server"));
    kernel.HasAnyProcess();
    options_.target.pids = {};
    options_.target.command = {"sh", "-c", dies ? "kill -SEGV $$" : "exit 139"};
    options_.streams.snapshot_bytes = 8 << 10;
    options_.direction.on_crash = true;
    bool first = true;
    kernel.meanwhile = [&] {
      if (std::exchange(first, false)) {
        kernel.FindEvent(kPtType)->enabled = true;  // by its exec
        kernel.WriteAux(*kernel.FindEvent(kPtType), Bytes(stream.bytes).first(5000));
      }
      usleep(1000);
      return false;
    };
    const record::RecorderSignals signals;
    record::RecordSession session(options_, signals);
    record::EventRecorder recorder(options_, kernel);
    ASSERT_TRUE(recorder.Start(session));
    const auto summary = recorder.Run();
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->bytes, dies ? 5000u : 0u);
    const bool told = std::ranges::any_of(summary->notes, [](const std::string& note) {
      return note.contains("did not die of a signal");
    });
    EXPECT_NE(told, dies);
  }
}

// ---- what changes while it is set up ----

TEST_F(EventDirection, ACpuThatIsSwitchedOffIsLeftOut) {
  options_.events.per_thread = false;
  kernel_.before_open = [&](size_t times) {
    if (times != 3) return;
    kernel_.tree().Remove("/sys/devices/system/cpu/online");
    kernel_.tree().Add("/sys/devices/system/cpu/online", "0-2");
  };
  size_t events = 0;
  kernel_.meanwhile = [&] {
    events = kernel_.events().size();
    return false;
  };
  const RecordSummary summary = Recorded();
  EXPECT_EQ(events, 6u) << "trace and dummy on each of three CPUs";
  ASSERT_EQ(summary.notes.size(), 1u);
  EXPECT_TRUE(summary.notes[0].contains("CPU 3 was switched off")) << summary.notes[0];
}

TEST_F(EventDirection, AProcessThatEndsMeanwhileIsSaid) {
  options_.events.per_thread = false;
  kernel_.before_open = [&](size_t times) {
    if (times == 0) kernel_.RemoveProcess(kProgram);
  };
  const auto summary = Run();
  ASSERT_FALSE(summary);
  EXPECT_TRUE(summary.error().message().contains("has ended")) << summary.error().message();
  EXPECT_TRUE(kernel_.events().empty());
}

// A buffer that holds no sync point whole: a message has the lost size, and nothing else is lost.
TEST_F(EventDirection, ABufferSmallerThanAPsbPeriod) {
  auto stream = flowback::testing::GenerateStream({.seed = 11,
                                                   .instructions = 400'000,
                                                   .shape = flowback::testing::CodeShape::kTipDense,
                                                   .return_compression = false,
                                                   .psb_period = 32768});
  options_.events.trace_buffer_bytes = 4096;
  size_t at = 0, kept = 0;
  kernel_.meanwhile = [&] {
    const Bytes rest = Bytes(stream.bytes).subspan(at);
    const Bytes next = rest.first(std::min<size_t>(6000, rest.size()));
    kept += kernel_.WriteAux(*kernel_.FindEvent(kPtType), next);
    at += next.size();
    return at < stream.bytes.size();
  };
  const RecordSummary summary = Recorded();
  EXPECT_EQ(summary.bytes, kept);
  EXPECT_GT(summary.events->trace_gaps, 5u);
  uint64_t bytes = 0;
  for (const Stream& one : Open().streams) bytes += one.bytes.size();
  EXPECT_EQ(bytes, kept);
}

// ---- several files ----

std::vector<std::string> FilesBeside(const std::string& output) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(output).parent_path()))
    if (entry.path().string().starts_with(output + ".")) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// Together they have all that was traced, in order, and each can be read.
TEST_F(EventDirection, FilesOfASizeHaveTheWholeTrace) {
  const flowback::testing::GeneratedStream stream = SomeStream();
  options_.rotation.bytes = 16 << 10;
  size_t at = 0;
  kernel_.meanwhile = [&] {
    const Bytes next =
        Bytes(stream.bytes).subspan(at).first(std::min<size_t>(8000, stream.bytes.size() - at));
    kernel_.WriteAux(*kernel_.FindEvent(kPtType), next);
    at += next.size();
    return at < stream.bytes.size();
  };
  const RecordSummary summary = Recorded();
  std::vector<std::string> files = FilesBeside(options_.files.output);
  EXPECT_EQ(summary.files, files.size() + 1);
  EXPECT_GT(files.size(), 2u);
  files.push_back(options_.files.output);
  std::vector<uint8_t> all;
  for (const std::string& file : files) {
    const auto recording = OpenFile(file);
    ASSERT_TRUE(recording) << file;
    for (const Stream& one : recording->streams)
      all.insert(all.end(), one.bytes.begin(), one.bytes.end());
    EXPECT_TRUE(std::ranges::any_of(
        recording->sideband,
        [](const SidebandRecord& record) { return std::holds_alternative<CommRecord>(record); }))
        << file << ": who runs is told in each";
  }
  EXPECT_TRUE(std::ranges::equal(all, stream.bytes));
}

TEST_F(EventDirection, OnlySoManyFilesAreKept) {
  options_.rotation.on_signal = true;
  options_.rotation.most_files = 3;
  int round = 0;
  kernel_.meanwhile = [&] {
    recorder_->RequestSnapshot();
    return ++round < 8;
  };
  EXPECT_EQ(Recorded().files, 9u);
  EXPECT_EQ(FilesBeside(options_.files.output).size(), 2u) << "and the last";
  Open();
}

TEST_F(EventDirection, FilesOfATime) {
  options_.rotation.time = milliseconds(20);
  int round = 0;
  kernel_.meanwhile = [&] {
    usleep(10'000);
    return ++round < 10;
  };
  EXPECT_GE(Recorded().files, 3u);
}

// Commands direct a recording in each of its files.
TEST_F(EventDirection, TheChannelGoesOnInTheNextFile) {
  Control();
  options_.engine = "events";
  options_.events.words = {"cycles:u"};
  options_.events.counters = true;
  options_.rotation.on_signal = true;
  int round = 0;
  std::string answers;
  kernel_.meanwhile = [&] {
    answers += Answers();
    if (round == 1) recorder_->RequestSnapshot();
    if (round == 2) Say("disable cycles:u\n");
    if (round == 3) {
      EXPECT_FALSE(Counts(PERF_TYPE_HARDWARE));
    }
    if (round == 4) recorder_->RequestSnapshot();
    if (round == 5) Say("stat\n");
    if (round == 6) Say("enable cycles:u\nstop\n");
    return ++round < 20;
  };
  const RecordSummary summary = Recorded();
  answers += Answers();
  EXPECT_EQ(summary.stop_reason, StopReason::kControl);
  EXPECT_EQ(summary.files, 3u);
  EXPECT_TRUE(answers.starts_with("ack\n0 cycles:u\n")) << answers;
  EXPECT_TRUE(answers.ends_with("ack\nack\nack\n")) << answers;
  std::vector<std::string> files = FilesBeside(options_.files.output);
  files.push_back(options_.files.output);
  for (const std::string& file : files) {
    const auto recording = OpenFile(file);
    ASSERT_TRUE(recording) << file;
    EXPECT_GT(recording->counters.readings, 0u) << file;
  }
}

}  // namespace
}  // namespace flowback::record_test
