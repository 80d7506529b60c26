// SPDX-License-Identifier: MIT
// What the installed perf records, in each of its containers. Without a trace unit the records are
// those of a software event; the containers are the same.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "flowback/capture/open.h"
#include "tests/capture/temporary_file.h"

namespace flowback {
namespace {

using support::TemporaryFolder;

std::string Output(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return text;
  std::array<char, 4096> buffer;
  for (size_t size; (size = fread(buffer.data(), 1, buffer.size(), pipe)) != 0;) {
    text.append(buffer.data(), size);
  }
  pclose(pipe);
  return text;
}

uint64_t Count(const Recording& recording, const std::string& kind) {
  for (const auto& [name, count] : recording.record_counts) {
    if (name == kind) return count;
  }
  return 0;
}

template <class T>
std::vector<T> All(const Recording& recording) {
  std::vector<T> records;
  for (const SidebandRecord& record : recording.sideband) {
    if (const T* wanted = std::get_if<T>(&record)) records.push_back(*wanted);
  }
  return records;
}

class PerfRecorder : public testing::Test {
 protected:
  // False when perf is absent or may not record here.
  bool Record(const std::string& options, const std::string& command) {
    const std::string line = "perf record -q -N " + options + " -o " + file_ + " " + command;
    return std::system((line + " >/dev/null 2>&1").c_str()) == 0;
  }
  Recording Open(const std::string& file) {
    OpenOptions options;
    options.input = file;
    auto recording = OpenRecording(options);
    EXPECT_TRUE(recording) << recording.error().message();
    if (!recording) return {};
    for (const Warning& warning : recording->warnings) ADD_FAILURE() << warning.text;
    return *std::move(recording);
  }
  // `true` was mapped, named and ended.
  void ExpectTrue(const Recording& recording) {
    EXPECT_EQ(Count(recording, "unknown"), 0u);
    EXPECT_FALSE(recording.machine.recorder.empty());
    ASSERT_FALSE(recording.events.empty());
    EXPECT_TRUE(recording.events[0].starts_with("cpu-clock"));
    const auto comms = All<CommRecord>(recording);
    ASSERT_FALSE(comms.empty());
    EXPECT_EQ(comms.back().comm, "true");
    EXPECT_TRUE(comms.back().exec);
    EXPECT_GT(comms.back().time, 0u);
    bool mapped = false;
    for (const MmapRecord& map : All<MmapRecord>(recording)) mapped |= map.path.ends_with("/true");
    EXPECT_TRUE(mapped);
    EXPECT_EQ(All<ExitRecord>(recording).size(), 1u);
  }

  TemporaryFolder folder_;
  std::string file_ = folder_.path() / "perf.data";
};

#define FLOWBACK_NEEDS_PERF(recorded) \
  if (!(recorded)) GTEST_SKIP() << "perf is absent or can't record here (Debian: linux-perf)"

TEST_F(PerfRecorder, File) {
  FLOWBACK_NEEDS_PERF(Record("-e cpu-clock", "true"));
  ExpectTrue(Open(file_));
}

TEST_F(PerfRecorder, Compressed) {
  FLOWBACK_NEEDS_PERF(Record("-z -e cpu-clock", "true"));
  const Recording recording = Open(file_);
  EXPECT_GT(Count(recording, "COMPRESSED"), 0u);
  ExpectTrue(recording);
}

TEST_F(PerfRecorder, Pipe) {
  const std::string pipe = folder_.path() / "pipe";
  const std::string line = "perf record -q -N -z -e cpu-clock -o - true 2>/dev/null >" + pipe;
  FLOWBACK_NEEDS_PERF(std::system(line.c_str()) == 0);
  const Recording recording = Open(pipe);
  EXPECT_EQ(recording.format, "perf.data in pipe mode");
  ExpectTrue(recording);
}

TEST_F(PerfRecorder, DirectoryOfThreads) {
  FLOWBACK_NEEDS_PERF(Record("--threads -z -a -e cpu-clock", "sleep 0.1"));
  const Recording recording = Open(file_);
  EXPECT_EQ(recording.format, "perf.data in directory form");
  EXPECT_GT(Count(recording, "SAMPLE"), 0u);
  EXPECT_EQ(Count(recording, "unknown"), 0u);
}

// perf prints the tracepoint's fields; we read the same from the same bytes.
TEST_F(PerfRecorder, SchedSwitch) {
  // A busy machine fills the usual buffers before perf gets its turn.
  FLOWBACK_NEEDS_PERF(Record("-a -m 8M -e sched:sched_switch", "sleep 0.1"));
  std::string ours;
  const auto switches = All<SwitchRecord>(Open(file_));
  ASSERT_FALSE(switches.empty());
  for (size_t i = 0; i + 1 < switches.size(); i += 2) {
    EXPECT_TRUE(switches[i].out);
    EXPECT_FALSE(switches[i + 1].out);
    EXPECT_EQ(switches[i].time, switches[i + 1].time);
    ours += std::to_string(switches[i].tid) + " " + std::to_string(switches[i + 1].tid) + "\n";
  }
  std::istringstream lines(Output("perf script -F trace -i " + file_ + " 2>/dev/null"));
  std::string perfs;
  for (std::string line; std::getline(lines, line);) {
    const size_t previous = line.find("prev_pid=");
    const size_t next = line.find("next_pid=");
    if (previous == std::string::npos || next == std::string::npos) {
      GTEST_SKIP() << "perf prints tracepoints in another form: " << line;
    }
    perfs += std::to_string(std::stoul(line.substr(previous + 9))) + " " +
             std::to_string(std::stoul(line.substr(next + 9))) + "\n";
  }
  EXPECT_EQ(ours, perfs);
}

}  // namespace
}  // namespace flowback
