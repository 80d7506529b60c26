// SPDX-License-Identifier: MIT
// Hosts that have been up for months: TSC packets hold the counter's lower 56 bits, and it is past
// them, or gets there while it is recorded. All output is the same as for a host just started.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"
#include "tests/support/clock_shift.h"
#include "tests/support/host.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;
using support::FileBytes;
using support::PerfDataParts;
using Arguments = std::vector<std::string>;

constexpr uint64_t kTurn = uint64_t{1} << 56;

std::string Images() { return golden::TracesFolder() / "generated/images"; }

PerfDataParts PartsOf(const std::string& recording) {
  const fs::path path = golden::TracesFolder() / "generated" / recording / "perf.data";
  std::ifstream file(path, std::ios::binary);
  return support::TakeApart({std::istreambuf_iterator<char>(file), {}});
}

// The recording in a folder of its own, so that its name is the same whatever was done to it.
class Moved {
 public:
  Moved(PerfDataParts parts, uint64_t ticks) {
    support::MoveClock(parts, ticks);
    const FileBytes bytes = support::ToFile(parts);
    path_ = folder_.Write("perf.data", std::string(bytes.begin(), bytes.end()));
  }

  ProgramResult Run(const Arguments& words) const {
    Arguments all = words;
    all.insert(all.end(), {"perf.data", "--symfs", Images(), "--no-cache"});
    RunOptions options;
    options.folder = folder_.path();
    return RunFlowback(all, options);
  }
  const std::string& path() const { return path_; }

 private:
  ScratchFolder folder_;
  std::string path_;
};

// JSON has the counter, too: as it would be `ticks` before.
std::string Before(const std::string& text, uint64_t ticks) {
  constexpr std::string_view kKey = "\"tsc\":";
  std::string before;
  size_t done = 0;
  for (size_t at = 0; (at = text.find(kKey, at)) != std::string::npos;) {
    at += kKey.size();
    before += text.substr(done, at - done);
    done = text.find_first_not_of("0123456789", at);
    const uint64_t tsc = std::strtoull(&text[at], nullptr, 10);
    if (done != at) before += std::to_string(tsc == 0 ? 0 : tsc - ticks);
  }
  return before + text.substr(done);
}

// But for the counter, which in `other` is `ticks` further on.
void ExpectTheSame(const Moved& one, const Moved& other, uint64_t ticks, const Arguments& words) {
  std::string title;
  for (const std::string& word : words) title += word + " ";
  SCOPED_TRACE(title);
  const ProgramResult before = one.Run(words);
  ProgramResult after = other.Run(words);
  after.out = Before(after.out, ticks);
  EXPECT_EQ(after.status, before.status);
  EXPECT_EQ(after.err, before.err);
  EXPECT_FALSE(before.out.empty());
  // Not EXPECT_EQ: it would print megabytes.
  const auto [mine, its] = std::ranges::mismatch(before.out, after.out);
  const auto part = [](const std::string& text, auto at) {
    const auto begin = static_cast<size_t>(at - text.begin());
    return text.substr(begin - std::min<size_t>(begin, 80), 200);
  };
  EXPECT_TRUE(before.out == after.out)
      << "before: " << part(before.out, mine) << "\nafter: " << part(after.out, its);
}

void ExpectAllTheSame(const Moved& one, const Moved& other, uint64_t ticks) {
  for (const std::string engine : {"native", "libipt"})
    for (const std::string threads : {"1", "2"}) {
      const Arguments how = {"--engine", engine, "--threads", threads};
      const auto with = [&](Arguments words) {
        words.insert(words.end(), how.begin(), how.end());
        return words;
      };
      ExpectTheSame(one, other, ticks, with({"decode", "--as", "digest"}));
      ExpectTheSame(one, other, ticks, with({"decode", "--as", "summary"}));
      if (engine == "libipt" && threads == "2") continue;  // as with one
      ExpectTheSame(one, other, ticks, with({"decode", "--by-time", "-F", "tid,cpu,time,ip"}));
      ExpectTheSame(one, other, ticks, with({"decode", "--as", "events", "--json"}));
    }
  ExpectTheSame(one, other, ticks, {"decode", "--as", "calls"});
  ExpectTheSame(one, other, ticks, {"decode", "--time", "20%,80%", "--as", "blocks"});
  ExpectTheSame(one, other, ticks, {"info"});
}

class Uptime : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    parts_ = PartsOf(GetParam());
    ASSERT_FALSE(parts_.records.empty());
  }
  PerfDataParts parts_;
};

TEST_P(Uptime, OfMonthsChangesNothing) {
  if (IsSkipped()) return;
  ExpectAllTheSame(Moved(parts_, 0), Moved(parts_, 3 * kTurn), 3 * kTurn);
}

// The middle packet's counter is 2^56; half a turn further on nothing turns over. perf's times are
// those of the recording, to a nanosecond, and exactly the same for both.
TEST_P(Uptime, MayTurnOverWhileItIsRecorded) {
  if (IsSkipped()) return;
  const std::vector<uint64_t> tscs = support::TscsOf(parts_);
  ASSERT_GE(tscs.size(), 2);
  const uint64_t ticks = kTurn - tscs[tscs.size() / 2];
  const Moved turning(parts_, ticks);
  const Moved later(parts_, ticks + kTurn / 2);
  ExpectAllTheSame(turning, later, kTurn / 2);
  EXPECT_EQ(turning.Run({"decode", "--as", "digest"}).out,
            Moved(parts_, 0).Run({"decode", "--as", "digest"}).out);
}

// Each has one AUXTRACE record a buffer, so that no packet lies in two.
INSTANTIATE_TEST_SUITE_P(Recordings, Uptime,
                         ::testing::Values("execs", "hello", "switch-cyc", "spin-cyc",
                                           "pool-perthread", "forks"),
                         [](const auto& test) { return golden::TestName(test.param); });

struct Sample {
  double time = 0;
  std::string ip;
};

std::vector<Sample> Samples(const std::string& text, bool times_end_with_colon) {
  std::vector<Sample> samples;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string tid, time;
    Sample sample;
    if (line.starts_with('#') || !(words >> tid >> time >> sample.ip)) continue;
    if (times_end_with_colon && !time.ends_with(':')) continue;
    sample.time = std::strtod(time.c_str(), nullptr);
    samples.push_back(sample);
  }
  return samples;
}

// perf's times of the same instructions are off by no more than its own error, half a microsecond.
TEST(Uptime, IsReadAsPerfReadsIt) {
  FLOWBACK_NEEDS_TRACES();
  FLOWBACK_NEEDS_HOST(host::Trait::kPerf);
  const PerfDataParts parts = PartsOf("hello");
  const std::vector<uint64_t> tscs = support::TscsOf(parts);
  for (const uint64_t ticks : {3 * kTurn, kTurn - tscs[tscs.size() / 2]}) {
    const Moved moved(parts, ticks);
    ScratchFolder folder;
    const ProgramResult perf =
        RunShell(folder, "HOME=/nonexistent perf script -i '" + moved.path() + "' --symfs '" +
                             Images() + "' --ns --itrace=i0ns -F tid,time,ip 2>/dev/null");
    if (perf.status != 0) GTEST_SKIP() << "this perf can't read it";
    const std::vector<Sample> its = Samples(perf.out, true);
    const std::vector<Sample> ours = Samples(moved.Run({"decode", "-F", "tid,time,ip"}).out, false);
    ASSERT_GT(its.size(), 100'000);
    ASSERT_EQ(its.size(), ours.size());
    size_t far = 0, other = 0;
    for (size_t i = 0; i < its.size(); ++i) {
      far += std::abs(its[i].time - ours[i].time) > 1e-6;
      other += its[i].ip != ours[i].ip;
    }
    EXPECT_EQ(far, 0);
    EXPECT_EQ(other, 0);
  }
}

// Without AUXTRACE records the other records' times give the upper bits, and the conversion.
TEST(Uptime, IsToldByTheSidebandOfRawTraces) {
  FLOWBACK_NEEDS_TRACES();
  const std::string folder = Traces("dynamorio-v3_static_820k_sb/");
  const auto run = [&](const std::string& zero, const std::string& kind) {
    return RunFlowback({"decode", "--raw-pt", folder + "pt.bin", "--pevent",
                        folder + "sideband.pevent", "--sample-type", "0x10086", "--symfs", folder,
                        "--cpu", "6/85/4", "--time-conv", "31,581029125," + zero, "--no-cache",
                        "--as", kind});
  };
  // The same times from a counter that is 5 * 2^56 further on.
  const uint64_t conversion_zero = 18444502336406842448ull;
  const uint64_t moved_zero = conversion_zero - ((5 * kTurn) >> 31) * 581029125;
  for (const char* kind : {"digest", "instructions", "summary", "events"}) {
    const ProgramResult now = run(std::to_string(conversion_zero), kind);
    const ProgramResult later = run(std::to_string(moved_zero), kind);
    EXPECT_EQ(now.status, 0) << now.err;
    EXPECT_TRUE(later.out == now.out) << kind << "\n" << later.out.substr(0, 300);
  }
}

// One AUXTRACE record whose reference is damaged: the other records say when it was.
TEST(Uptime, OfADamagedRecordIsNotBelieved) {
  FLOWBACK_NEEDS_TRACES();
  PerfDataParts parts = PartsOf("execs");
  const Moved whole(parts, 0);
  size_t damaged = 0;
  for (PerfDataParts::Record& record : parts.records)
    if (record.type == 71) {
      record.bytes.at(31) = 0x40;
      ++damaged;
    }
  ASSERT_EQ(damaged, 1);
  const Moved broken(parts, 0);
  const Arguments listing = {"decode", "-F", "time,ip"};
  EXPECT_TRUE(broken.Run(listing).out == whole.Run(listing).out);
  EXPECT_TRUE(broken.Run({"info"}).out.contains("contradict")) << broken.Run({"info"}).out;
}

}  // namespace
}  // namespace flowback::test
