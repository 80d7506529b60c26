// SPDX-License-Identifier: MIT
// What the recorder writes: the perf.data file's description of the recording, and the raw folder.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "base/recorded/pt_config.h"
#include "capture/record/output/output_file.h"
#include "flowback/capture/open.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

namespace fs = std::filesystem;

std::vector<std::vector<std::string>> ReadTabs(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, '\t');) rows.back().push_back(field);
  }
  return rows;
}

// What maps.txt says, as the sections of a command line.
std::vector<SectionSpec> SectionsOf(const std::string& maps) {
  std::vector<SectionSpec> sections;
  for (const auto& row : ReadTabs(maps)) {
    const auto section =
        ParseSectionSpec(row.at(3) + ":" + row.at(2) + ":" + row.at(1) + ":" + row.at(0));
    EXPECT_TRUE(section) << section.error().message();
    if (section) sections.push_back(*section);
  }
  return sections;
}

template <class Record>
size_t Count(const Recording& recording) {
  return static_cast<size_t>(
      std::count_if(recording.sideband.begin(), recording.sideband.end(),
                    [](const auto& record) { return std::holds_alternative<Record>(record); }));
}

class PerfDataFile : public RecordedFile {};

TEST_F(PerfDataFile, DescribesTheMachine) {
  FLOWBACK_NEEDS_PTRACE();
  recorder_.options().files.command_line = "flowback record -- known";
  Run({Program("known")});
  utsname system;
  uname(&system);
  const MachineInfo& machine = recording_.machine;
  EXPECT_EQ(machine.hostname, system.nodename);
  EXPECT_EQ(machine.os_release, system.release);
  EXPECT_EQ(machine.architecture, "x86_64");
  EXPECT_EQ(machine.command_line, "flowback record -- known");
  EXPECT_GT(machine.cpus_online, 0u);
  EXPECT_TRUE(machine.emulated);
  EXPECT_TRUE(machine.recorder.starts_with("flowback "));
  EXPECT_TRUE(machine.recorder.ends_with("emulated (step)"));
  EXPECT_TRUE(recording_.warnings.empty());
}

TEST_F(PerfDataFile, DescribesTheSettings) {
  FLOWBACK_NEEDS_PTRACE();
  recorder_.options().packets.mtc_shift = 9;
  recorder_.options().packets.return_compression = false;
  Run({Program("known")});
  const PtConfig& pt = PtConfigOf(recording_.config);
  EXPECT_EQ(pt.cpu, (CpuId{.intel = true, .family = 6, .model = 85, .stepping = 7}));
  EXPECT_EQ(pt.return_compression, false);
  EXPECT_EQ(pt.mtc_shift, 9);
  EXPECT_EQ(pt.tsc_ctc_denominator, 1u);
  EXPECT_GT(pt.tsc_ctc_numerator, 1u);
  EXPECT_GT(pt.nominal_ratio, 1u);
  EXPECT_TRUE(recording_.time.known());
}

TEST_F(PerfDataFile, TellsOfThreadsAndMappings) {
  FLOWBACK_NEEDS_PTRACE();
  Run({Program("threads")});
  EXPECT_EQ(recording_.streams.size(), 3u);
  EXPECT_EQ(Count<CommRecord>(recording_), 1u);  // threads have the name of their maker
  EXPECT_EQ(Count<ForkRecord>(recording_), 2u);
  EXPECT_EQ(Count<ExitRecord>(recording_), 3u);
  EXPECT_EQ(Count<ItraceStartRecord>(recording_), 3u);
  EXPECT_EQ(Count<AuxRecord>(recording_), 3u);
  EXPECT_EQ(Count<MmapRecord>(recording_), 2u);  // the program and the vDSO
  uint64_t time = 0;
  for (const auto& record : recording_.sideband) {
    const uint64_t next = std::visit([](const auto& base) { return base.time; }, record);
    EXPECT_LE(time, next);
    time = next;
  }
  for (const Stream& stream : recording_.streams) {
    EXPECT_EQ(stream.cpu, -1);
    EXPECT_EQ(stream.tid, summary_.threads[stream.index].tid);
    EXPECT_EQ(stream.pid, summary_.threads[0].tid);
  }
}

TEST_F(PerfDataFile, NamesTheBuildOfEveryImage) {
  FLOWBACK_NEEDS_PTRACE();
  Run({Program("vdso")});
  for (const auto& record : recording_.sideband)
    if (const auto* map = std::get_if<MmapRecord>(&record)) {
      EXPECT_EQ(map->build_id.bytes.size(), 20u) << map->path;
    }
  // The vDSO's in its mapping alone: perf would look for it among its files.
  ASSERT_EQ(recording_.build_ids.size(), 1u);
  EXPECT_NE(recording_.build_ids[0].first, "[vdso]");
}

TEST_F(PerfDataFile, IsForItsOwnerOnly) {
  FLOWBACK_NEEDS_PTRACE();
  Run({Program("known")});
  EXPECT_EQ(fs::status(recorder_.File("perf.data")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

class RawFolder : public testing::TestWithParam<const char*> {};

TEST_P(RawFolder, DecodesByItsMaps) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  const std::string folder = recorder.File("raw");
  recorder.options().files.raw_directory = folder;
  const auto summary = recorder.Run({Program(GetParam())});
  ASSERT_TRUE(summary) << summary.error().message();

  OpenOptions input;
  input.sections = SectionsOf(folder + "/maps.txt");
  input.cpu = CpuId{.intel = true, .family = 6, .model = 85, .stepping = 7};
  for (size_t i = 0; i < summary->threads.size(); ++i)
    input.raw_pt.push_back(folder + "/pt-" + std::to_string(i) + ".bin");
  ExpectSameFlow(input, *summary);

  const auto digests = ReadTabs(folder + "/digests.tsv");
  ASSERT_EQ(digests.size(), summary->threads.size());
  for (size_t i = 0; i < digests.size(); ++i) {
    const RecordedThread& thread = summary->threads[i];
    EXPECT_EQ(digests[i].at(2), std::to_string(thread.tid));
    EXPECT_EQ(digests[i].at(3), std::to_string(thread.digest.count));
    EXPECT_EQ(std::stoull(digests[i].at(4), nullptr, 16), thread.digest.hash);
  }
}

// `jit` runs code that only this folder keeps.
INSTANTIATE_TEST_SUITE_P(, RawFolder,
                         testing::Values("known", "recursion", "threads", "jit", "vdso"),
                         [](const auto& test) { return std::string(test.param); });

TEST(RawFolderCommand, NamesEveryStreamAndSection) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  const std::string folder = recorder.File("it's raw");
  recorder.options().files.raw_directory = folder;
  const auto summary = recorder.Run({Program("threads")});
  ASSERT_TRUE(summary) << summary.error().message();
  // The shell takes the line apart as it would for the user.
  const std::string words = recorder.File("words");
  const std::string script =
      "flowback() { printf '%s\\n' \"$@\" >'" + words + "'; }; . \"" + folder + "/command.txt\"";
  std::ofstream(recorder.File("script")) << script << "\n";
  ASSERT_EQ(std::system(("sh '" + recorder.File("script") + "'").c_str()), 0);
  size_t streams = 0;
  size_t sections = 0;
  std::ifstream file(words);
  for (std::string word, last; std::getline(file, word); last = word) {
    if (last == "--raw-pt") {
      ++streams;
      EXPECT_TRUE(fs::exists(word)) << word;
    }
    if (last == "--section") {
      ++sections;
      EXPECT_TRUE(ParseSectionSpec(word)) << word;
    }
  }
  EXPECT_EQ(streams, 3u);
  EXPECT_EQ(sections, 2u);
}

// Its writer does not know how many bytes a write takes, nor whether it waits.
TEST(OutputFile, WritesAPipeThatDoesNotWait) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  auto file = record::OutputFile::OfPipe("pipe", ends[1]);
  ASSERT_TRUE(file);
  const std::string text(500'000, 'a');  // more than a pipe holds
  auto read = std::async(std::launch::async, [&] {
    std::string all;
    char buffer[4096];
    pollfd ready{ends[0], POLLIN, 0};
    while (poll(&ready, 1, 10'000) > 0) {
      const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
      if (got <= 0) break;
      all.append(buffer, static_cast<size_t>(got));
    }
    return all;
  });
  EXPECT_TRUE(file->Write(text));
  EXPECT_EQ(file->size(), text.size());
  file->Close();
  EXPECT_EQ(read.get(), text);
  close(ends[0]);
  EXPECT_FALSE(file->Write("b"));
}

// What follows a failed write would stand in the place of what that one left, which is a record cut
// short.
TEST(OutputFile, WritesNothingAfterAFailedWrite) {
  const support::TemporaryFolder folder;
  const std::string path = (folder.path() / "file").string();
  auto file = record::OutputFile::Create(path);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE(file->Write("whole"));
  const auto before = signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{.rlim_cur = 4096, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_FALSE(file->Write(std::string(5000, 'a')));
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, before);
  EXPECT_FALSE(file->Write("bbbb"));
  std::ifstream written(path);
  const std::string content{std::istreambuf_iterator<char>(written), {}};
  EXPECT_EQ(content, "whole");
}

}  // namespace
}  // namespace flowback::record_test
