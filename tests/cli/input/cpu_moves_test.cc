// SPDX-License-Identifier: MIT
// One thread that was moved from CPU to CPU, as `perf record -e intel_pt//u PROGRAM` records it:
// without a record of when. The truth is the trace of the same run on one CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>

#include "base/recorded/pt_config.h"
#include "flowback/capture/open.h"
#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"
#include "tests/support/cpu_mover.h"
#include "tests/support/generator/stream_generator.h"
#include "tests/support/host.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/perf_data_converter.h"

namespace flowback::test {
namespace {

using support::FieldWriter;
using support::FileBytes;
using support::MovedTrace;
using support::MoveOptions;
using support::PerfDataParts;
using support::TimeTold;
using Arguments = std::vector<std::string>;

constexpr int32_t kThread = 4000;
constexpr uint32_t kAux = 11;
constexpr uint32_t kSwitch = 14;
constexpr uint32_t kAuxtrace = 71;

std::string Text(const FileBytes& bytes) { return {bytes.begin(), bytes.end()}; }

// Which records contain moves.
enum class Switches : uint8_t { kNone, kStarts, kAll, kSome };

// The file that perf would have written, and how to read it.
class SavedStream {
 public:
  explicit SavedStream(const testing::GeneratedStream& stream) : config_(stream.config) {
    for (const testing::GeneratedSection& section : stream.sections) {
      const std::string name = std::to_string(section.address);
      words_.insert(words_.end(), {"--section", folder_.Write(name, Text(section.bytes)) +
                                                    ":0:" + std::to_string(section.bytes.size()) +
                                                    ":" + std::to_string(section.address)});
    }
  }

  void Write(const MovedTrace& trace, Switches switches = Switches::kNone, int threads = 1) {
    auto file = support::PerfDataBuilder::WithIntelPt();
    support::Trailer trailer{
        .time = TimeOf(0) + 1, .pid = kThread, .tid = kThread, .cpu = 1, .id = 102};
    for (int i = 0; i < threads; ++i) {
      trailer.tid = kThread + i;
      file.Comm(kThread, kThread + i, "moved", false, trailer);
      file.ItraceStart(kThread, kThread + i, trailer);
    }
    trailer.tid = kThread;
    std::mt19937_64 random(trace.moves.size());
    std::set<unsigned> seen = {trace.moves.front().cpu};
    for (size_t i = 1; switches == Switches::kStarts && i < trace.moves.size(); ++i) {
      if (!seen.insert(trace.moves[i].cpu).second) continue;
      trailer.time = TimeOf(trace.moves[i].tsc);
      trailer.cpu = static_cast<int32_t>(trace.moves[i].cpu);
      file.ItraceStart(kThread, kThread, trailer);
    }
    for (size_t i = 1; switches >= Switches::kAll && i < trace.moves.size(); ++i)
      for (const bool out : {true, false}) {
        if (switches == Switches::kSome && random() % 2 == 0) continue;
        trailer.time = TimeOf(trace.moves[i].tsc);
        trailer.cpu = static_cast<int32_t>(trace.moves[i - (out ? 1 : 0)].cpu);
        file.KernelRecord(kSwitch, out ? 0x2000 : 0, {}, trailer);
      }
    for (size_t cpu = 0; cpu < trace.streams.size(); ++cpu)
      if (!trace.streams[cpu].empty())
        file.Auxtrace(0, static_cast<uint32_t>(cpu), -1, static_cast<int32_t>(cpu),
                      trace.streams[cpu]);
    folder_.Write("perf.data", Text(file.Build()));
  }

  ProgramResult Run(const Arguments& words) const {
    Arguments all = words;
    all.insert(all.end(), words_.begin(), words_.end());
    all.insert(all.end(), {"perf.data", "--no-cache"});
    RunOptions options;
    options.folder = folder_.path();
    return RunFlowback(all, options);
  }
  const PtConfig& config() const { return config_; }

 private:
  static uint64_t TimeOf(uint64_t tsc) {
    return TimeConversion{.shift = 31, .mult = 894784853, .zero = 1000000000000}.ToNanoseconds(tsc);
  }

  ScratchFolder folder_;
  Arguments words_;
  PtConfig config_;
};

// Where lines of the listing go back in time.
size_t StepsBack(const std::string& listing, size_t column) {
  size_t steps = 0;
  std::string last;
  for (const std::string& line : Lines(listing)) {
    const std::string time = Words(line).at(column);
    if (time.starts_with('-')) continue;
    steps += time.size() == last.size() && time < last ? 1 : 0;
    last = time;
  }
  return steps;
}

std::vector<std::string> Column(const std::string& listing, size_t column) {
  std::vector<std::string> words;
  for (const std::string& line : Lines(listing)) words.push_back(Words(line).at(column));
  return words;
}

// Calls as they are nested, without their times and CPUs, and the times off them.
std::vector<std::string> CallsOf(const std::string& text) {
  std::vector<std::string> calls;
  for (const std::string& line : Lines(text)) {
    const nlohmann::json call = nlohmann::json::parse(line, nullptr, false);
    if (!call.is_object() || !call.contains("depth") || call["type"] == "off-cpu") continue;
    calls.push_back(call["depth"].dump() + " " + call.value("kind", "") + " " +
                    (call.contains("ip") ? call["ip"].dump() : ""));
  }
  return calls;
}

// If a CPU does not write the time when it begins to trace, nothing else in a pause has it.
testing::GeneratorOptions Options(uint64_t seed, TimeTold told = TimeTold::kAhead) {
  return {.seed = seed,
          .instructions = 20'000,
          .return_compression = false,
          .psb_period = told == TimeTold::kBehind ? 0
                        : seed % 3 == 0           ? 4096u
                                                  : 256u,
          .tsc = true,
          .interrupt_every = 120};
}

MovedTrace OnOneCpu(const testing::GeneratedStream& stream) {
  return {.streams = {stream.bytes}, .moves = {{0, 0}}};
}

using Moves = std::tuple<uint64_t, TimeTold>;

class CpuMoves : public ::testing::TestWithParam<Moves> {
 protected:
  void ExpectTheTruth(const SavedStream& moved) const {
    for (const char* engine : {"native", "libipt"})
      for (const char* threads : {"1", "2"}) {
        SCOPED_TRACE(::testing::Message() << engine << ", threads " << threads);
        const Arguments how = {"--engine", engine, "--threads", threads};
        const auto run = [&](Arguments words) {
          words.insert(words.end(), how.begin(), how.end());
          return moved.Run(words);
        };
        EXPECT_EQ(run({"decode", "--as", "digest"}).out, digest_);
        for (const bool by_time : {false, true}) {
          Arguments words = {"decode", "-F", "tid,time,ip"};
          if (by_time) words.push_back("--by-time");
          const std::string listing = run(words).out;
          EXPECT_TRUE(Column(listing, 2) == addresses_) << by_time;
          EXPECT_EQ(StepsBack(listing, 1), 0) << by_time;
        }
      }
    EXPECT_TRUE(CallsOf(moved.Run({"decode", "--as", "calls", "--json"}).out) == calls_);
  }

  std::string digest_;
  std::vector<std::string> addresses_;
  std::vector<std::string> calls_;
};

TEST_P(CpuMoves, AreTakenInTheOrderOfTime) {
  const auto [seed, told] = GetParam();
  const testing::GeneratedStream stream = testing::GenerateStream(Options(seed, told));
  SavedStream whole(stream);
  whole.Write(OnOneCpu(stream));
  digest_ = whole.Run({"decode", "--as", "digest"}).out;
  addresses_ = Column(whole.Run({"decode", "-F", "tid,time,ip"}).out, 2);
  calls_ = CallsOf(whole.Run({"decode", "--as", "calls", "--json"}).out);
  ASSERT_EQ(addresses_.size(), stream.truth.digest.count);
  ASSERT_TRUE(digest_.starts_with(std::to_string(kThread) + " " +
                                  std::to_string(stream.truth.digest.count)));
  ASSERT_GT(calls_.size(), 100);
  const MovedTrace trace = support::MoveOverCpus(
      stream.bytes, stream.config,
      {.cpus = 2 + static_cast<unsigned>(seed % 3), .seed = seed, .told = told});
  ASSERT_GT(trace.moves.size(), 10);
  for (const Switches switches :
       {Switches::kNone, Switches::kStarts, Switches::kAll, Switches::kSome}) {
    SCOPED_TRACE(::testing::Message() << "switches " << static_cast<int>(switches));
    SavedStream moved(stream);
    moved.Write(trace, switches);
    ExpectTheTruth(moved);
    // Without switch records its time off the CPUs is unknown.
    if (switches <= Switches::kStarts) {
      EXPECT_TRUE(moved.Run({"info"}).out.contains("no time off-CPU"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CpuMoves,
                         ::testing::Combine(::testing::Range<uint64_t>(1, 7),
                                            ::testing::Values(TimeTold::kAhead,
                                                              TimeTold::kBehind)));

// The first part is unknown: no thread's program order is made up.
TEST(CpuMovesWithoutTime, AreNotOrdered) {
  const testing::GeneratedStream stream = testing::GenerateStream(Options(3));
  SavedStream moved(stream);
  const MovedTrace trace =
      support::MoveOverCpus(stream.bytes, stream.config, {.cpus = 2, .told = TimeTold::kNever});
  moved.Write(trace);
  const ProgramResult digest = moved.Run({"decode", "--as", "digest"});
  const std::vector<std::string> labels = Column(digest.out, 0);
  EXPECT_EQ(labels, (std::vector<std::string>{"cpu0", "cpu1"}));
  EXPECT_TRUE(digest.err.contains("2 x trace without times")) << digest.err;
  EXPECT_TRUE(digest.err.contains("tsc=1")) << digest.err;
  EXPECT_EQ(moved.Run({"decode", "--as", "digest", "--strict"}).status, 6);
  uint64_t count = 0;
  for (const std::string& instructions : Column(digest.out, 1)) count += std::stoull(instructions);
  EXPECT_EQ(count, stream.truth.digest.count);
}

// The records do not say which of two threads ran where.
TEST(CpuMovesOfTwoThreads, AreNobodysWithoutRecords) {
  const testing::GeneratedStream stream = testing::GenerateStream(Options(1));
  SavedStream moved(stream);
  moved.Write(support::MoveOverCpus(stream.bytes, stream.config, {.cpus = 2}), Switches::kNone, 2);
  const ProgramResult digest = moved.Run({"decode", "--as", "digest"});
  EXPECT_EQ(Column(digest.out, 0), (std::vector<std::string>{"cpu0", "cpu1"}));
  EXPECT_TRUE(digest.err.contains("2 x thread not known")) << digest.err;
}

// A shared recording, whose digest an independent generator wrote, and perf's order of it.
TEST(CpuMovesOfARecording, AreTakenInPerfsOrder) {
  FLOWBACK_NEEDS_TRACES();
  const auto generated = golden::TracesFolder() / "generated";
  const std::string path = generated / "recursion-noretcomp/perf.data";
  std::ifstream file(path, std::ios::binary);
  PerfDataParts parts = support::TakeApart({std::istreambuf_iterator<char>(file), {}});
  OpenOptions open;
  open.input = path;
  Result<Recording> recording = OpenRecording(open);
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->streams.size(), 1);
  const MovedTrace trace = support::MoveOverCpus(
      recording->streams[0].bytes, PtConfigOf(recording->config), {.cpus = 3, .stay = 1});
  ASSERT_GT(trace.moves.size(), 5);
  std::erase_if(parts.records,
                [](const auto& record) { return record.type == kAux || record.type == kSwitch; });
  // perf asks them whose trace a CPU's is.
  constexpr uint32_t kItraceStart = 12;
  constexpr size_t kCpuAt = 32;
  const auto start = std::ranges::find(parts.records, kItraceStart, &PerfDataParts::Record::type);
  ASSERT_NE(start, parts.records.end());
  ASSERT_EQ(start->bytes.at(kCpuAt), 1);
  std::vector<PerfDataParts::Record> starts(2, *start);
  starts[0].bytes[kCpuAt] = 0;
  starts[1].bytes[kCpuAt] = 2;
  parts.records.insert(start, starts.begin(), starts.end());
  const auto data = std::ranges::find(parts.records, kAuxtrace, &PerfDataParts::Record::type);
  ASSERT_NE(data, parts.records.end());
  const uint64_t reference = LoadLittleEndian(&data->bytes.at(24), 8);
  const auto at = parts.records.erase(data);
  std::vector<PerfDataParts::Record> streams;
  for (size_t cpu = 0; cpu < trace.streams.size(); ++cpu) {
    FileBytes bytes = trace.streams[cpu];
    bytes.resize((bytes.size() + 7) / 8 * 8);
    FieldWriter record;
    record.U32(kAuxtrace).U16(0).U16(48).U64(bytes.size()).U64(0).U64(reference);
    record.U32(static_cast<uint32_t>(cpu)).U32(~0u).U32(static_cast<uint32_t>(cpu)).U32(0);
    streams.push_back({kAuxtrace, record.bytes, bytes});
  }
  parts.records.insert(at, streams.begin(), streams.end());
  ScratchFolder folder;
  const std::string moved = folder.Write("perf.data", Text(support::ToFile(parts)));
  const std::string symfs = generated / "images";
  for (const char* engine : {"native", "libipt"}) {
    const ProgramResult digest = RunFlowback(
        {"decode", moved, "--symfs", symfs, "--as", "digest", "--engine", engine, "--no-cache"});
    EXPECT_EQ(digest.out, "4732 517093 f13165e3ebe2e8f5\n") << digest.err;
  }
  const std::string ours =
      RunFlowback({"decode", moved, "--symfs", symfs, "-F", "time,ip", "--no-cache"}).out;
  EXPECT_EQ(StepsBack(ours, 0), 0);
  // Without switch records its time off the CPUs is unknown.
  const ProgramResult info = RunFlowback({"info", moved, "--symfs", symfs, "--no-cache"});
  EXPECT_TRUE(info.out.contains("executing + kernel = lifetime (no time off-CPU")) << info.out;
  FLOWBACK_NEEDS_HOST(host::Trait::kPerf);
  const ProgramResult perf =
      RunShell(folder, "HOME=/nonexistent perf script -i perf.data --symfs '" + symfs +
                           "' --itrace=i0ns -F ip 2>/dev/null");
  if (perf.status != 0) GTEST_SKIP() << "this perf can't read it";
  const std::vector<std::string> its = Column(perf.out, 0);
  EXPECT_EQ(its.size(), 517093);
  EXPECT_TRUE(Column(ours, 1) == its);
}

}  // namespace
}  // namespace flowback::test
