// SPDX-License-Identifier: MIT
// `decode --time`: though only that part is decoded, it is what the whole listing has there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

struct Branch {
  int64_t time = 0;  // nanoseconds
  std::string_view what;
};
// In each thread's order.
using Branches = std::map<std::string, std::vector<Branch>>;

int64_t Nanoseconds(std::string_view seconds) {
  const size_t point = seconds.find('.');
  return std::atoll(std::string(seconds.substr(0, point)).c_str()) * 1'000'000'000 +
         std::atoll(std::string(seconds.substr(point + 1)).c_str());
}

std::string Seconds(int64_t nanoseconds) {
  std::string fraction = std::to_string(nanoseconds % 1'000'000'000);
  return std::to_string(nanoseconds / 1'000'000'000) + "." + std::string(9 - fraction.size(), '0') +
         fraction;
}

// Lines of "TID TIME FROM TO KIND"; without those whose time is not known.
Branches Parse(std::string_view text) {
  Branches branches;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with('#')) continue;
    const size_t tid = line.find(' ');
    const size_t time = line.find(' ', tid + 1);
    const std::string_view seconds = line.substr(tid + 1, time - tid - 1);
    if (seconds == "-") continue;
    branches[std::string(line.substr(0, tid))].push_back(
        {Nanoseconds(seconds), line.substr(time + 1)});
  }
  return branches;
}

class TimeSpans : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string Listing(const std::vector<std::string>& more) {
    const auto folder = golden::TracesFolder() / "generated";
    std::vector<std::string> words = {"decode",  folder / GetParam() / "perf.data",
                                      "--symfs", folder / "images",
                                      "--as",    "branches",
                                      "-F",      "tid,time"};
    words.insert(words.end(), more.begin(), more.end());
    ProgramResult result = RunFlowback(words);
    EXPECT_LT(result.status, 2) << result.err;
    return std::move(result.out);
  }
};

// `some` is what `all` has from `first` on.
bool IsAt(const std::vector<Branch>& all, size_t first, const std::vector<Branch>& some,
          int64_t rounding) {
  if (first + some.size() > all.size()) return false;
  for (size_t i = 0; i < some.size(); ++i)
    if (some[i].what != all[first + i].what ||
        std::abs(some[i].time - all[first + i].time) > rounding)
      return false;
  return true;
}

// `some` is the part of `all` between the two times.
bool IsPart(const std::vector<Branch>& all, const std::vector<Branch>& some, int64_t from,
            int64_t until, int64_t rounding) {
  for (const Branch& branch : some)
    if (branch.time < from || branch.time > until) return false;
  const auto earlier = [](const Branch& branch, int64_t time) { return branch.time < time; };
  size_t first = static_cast<size_t>(
      std::lower_bound(all.begin(), all.end(), from - rounding, earlier) - all.begin());
  for (;; ++first) {
    const size_t end = first + some.size();
    if (end > all.size()) return false;
    const bool nothing_missing = end == all.size() || all[end].time > until - rounding;
    if (nothing_missing && IsAt(all, first, some, rounding)) return true;
    // The span begins here; so this one may not be missing.
    if (first == all.size() || all[first].time > from) return false;
  }
}

TEST_P(TimeSpans, AreWhatTheWholeListingHasThere) {
  FLOWBACK_NEEDS_TRACES();
  const std::string whole = Listing({});
  const Branches all = Parse(whole);
  // A span of a long stream is read from a place shortly ahead of it. An estimate between two
  // proven times may be rounded otherwise then.
  const int64_t rounding = std::string_view(GetParam()) == "big-sqlite3" ? 1 : 0;
  ASSERT_FALSE(all.empty());
  std::vector<int64_t> times;
  for (const auto& [tid, branches] : all)
    for (const Branch& branch : branches) times.push_back(branch.time);
  std::mt19937_64 random(16);
  for (int round = 0; round < (ProgramIsSanitized() ? 2 : 12); ++round) {
    const int64_t from = times[random() % times.size()];
    // Spans of every size, the smallest of one instant.
    const int64_t until =
        from + static_cast<int64_t>(random() % (uint64_t{1} << (3 * (round % 8))));
    SCOPED_TRACE("--time " + Seconds(from) + "," + Seconds(until));
    const std::string part = Listing({"--time", Seconds(from) + "," + Seconds(until)});
    Branches some = Parse(part);
    EXPECT_FALSE(some.empty());
    for (const auto& [tid, branches] : all)
      EXPECT_TRUE(IsPart(branches, some[tid], from, until, rounding)) << "thread " << tid;
    EXPECT_EQ(some.size(), all.size()) << "a thread that the whole listing lacks";
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, TimeSpans,
                         ::testing::Values("execs", "forks", "latency-cyc", "pool-perthread",
                                           "switch-cyc", "spin-cyc", "signals-events", "vcalls-ovf",
                                           "vcalls-pebs", "sort-long-tnt", "big-sqlite3"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace flowback::test
