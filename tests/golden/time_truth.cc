// SPDX-License-Identifier: MIT
#include "tests/golden/time_truth.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

std::vector<uint64_t> ReadNumbers(const std::string& file) {
  std::vector<uint64_t> numbers;
  std::ifstream input(file, std::ios::binary);
  uint64_t number = 0;
  while (input.read(reinterpret_cast<char*>(&number), sizeof(number))) numbers.push_back(number);
  return numbers;
}

}  // namespace

std::vector<std::vector<std::string>> ReadCompressedTable(const std::string& file) {
  std::vector<std::vector<std::string>> table;
  const std::string command = "gzip -dc '" + file + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  char line[512];
  while (pipe != nullptr && std::fgets(line, sizeof(line), pipe.get()) != nullptr) {
    std::istringstream words(line);
    std::vector<std::string>& row = table.emplace_back();
    for (std::string word; words >> word;) row.push_back(word);
  }
  return table;
}

// TSC cpuN tid T n INDEX cpu_n INDEX WHAT ...; by thread in the order of time.
std::map<int32_t, ThreadTruth> ReadThreadTruth(const std::string& folder) {
  std::map<int32_t, ThreadTruth> threads;
  std::map<int32_t, uint64_t> enabled;
  std::map<int32_t, uint64_t> overflowed;
  const std::vector<uint64_t> every = ReadNumbers(folder + "/truth-4661.tsc");
  static const std::set<std::string> kStops = {"syscall", "switch-out", "exit"};
  static const std::set<std::string> kAsync = {"page-fault", "irq", "signal", "killed"};
  for (const std::vector<std::string>& row : ReadCompressedTable(folder + "/events.txt.gz")) {
    if (row.size() < 9) continue;
    const int32_t tid = std::stoi(row[3]);
    const uint64_t tsc = std::stoull(row[0]);
    const std::string& what = row[8];
    ThreadTruth& thread = threads[tid];
    if (what == "enable") enabled[tid] = tsc;
    if (what == "ovf-begin") overflowed[tid] = tsc;
    if (what == "ovf-end") thread.overflowed += tsc - overflowed[tid];
    if (what == "switch-in") thread.stays.push_back({tsc, 0});
    if (what == "switch-out" || what == "exit")
      if (!thread.stays.empty() && thread.stays.back().second == 0)
        thread.stays.back().second = tsc;
    const bool async = kAsync.contains(what);
    if ((!async && !kStops.contains(what)) || !enabled.contains(tid)) continue;
    const uint64_t count = std::stoull(row[5]);
    if (async && count != 0 && count <= every.size())
      thread.executing += std::max(every[count - 1], enabled[tid]) - enabled[tid];
    else
      (async ? thread.until_async : thread.executing) += tsc - enabled[tid];
    enabled.erase(tid);
  }
  return threads;
}

// TSC cpuN tid T n INDEX cpu_n INDEX WHAT ...
TimeTruth ReadTimeTruth(const std::string& folder, unsigned cpu) {
  TimeTruth truth;
  const auto table = ReadCompressedTable(folder + "/events.txt.gz");
  EXPECT_FALSE(table.empty()) << folder;
  for (const std::vector<std::string>& row : table) {
    if (row.size() < 9 || row[1] != "cpu" + std::to_string(cpu)) continue;
    const uint64_t tsc = std::stoull(row[0]);
    const uint64_t retired = std::stoull(row[7]);
    if (row[8] == "syscall" && retired != 0) truth.points.push_back({retired - 1, tsc});
    if (row[8] != "enable") continue;
    // Tracing may go off again before anything executes: the last one counts.
    if (!truth.points.empty() && truth.points.back().index == retired) truth.points.pop_back();
    truth.points.push_back({retired, tsc});
  }
  const std::string every = folder + "/truth-cpu" + std::to_string(cpu) + ".tsc";
  truth.every = ReadNumbers(every);
  if (truth.every.empty() && std::filesystem::exists(folder + "/truth-4661.tsc"))
    truth.every = ReadNumbers(folder + "/truth-4661.tsc");  // the only thread, on one CPU
  return truth;
}

std::vector<OverflowGap> ReadOverflowGaps(const std::string& folder, unsigned cpu) {
  std::vector<OverflowGap> gaps;
  for (const auto& row : ReadTable(folder + "/gaps-cpu" + std::to_string(cpu) + ".txt"))
    gaps.push_back({std::stoull(row.at(0)), std::stoull(row.at(2))});
  return gaps;
}

}  // namespace flowback::golden
