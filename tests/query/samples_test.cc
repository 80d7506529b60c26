// SPDX-License-Identifier: MIT
// The tables memory and samples, of a file in which it is known what was sampled.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/samples/access_file.h"
#include "tests/support/host.h"

namespace flowback::test {
namespace {

using nlohmann::json;
using support::AccessFile;
using support::DataSourceWord;
using support::WrittenAccess;

constexpr uint64_t kStores = 30;
constexpr uint64_t kLoads = 60;

// Thread 43 stores, then thread 44 loads from far away; each a nanosecond after the last one.
AccessFile TwoThreads() {
  constexpr DataSourceWord kStore{.op = 4, .levels = 2 | 8, .tlb = 0xa, .number = 1};
  constexpr DataSourceWord kFar{
      .op = 2, .levels = 2 | 0x100, .tlb = 0x14, .number = 0xd, .remote = 1};
  AccessFile file;
  uint64_t time = 100;
  for (uint64_t i = 0; i < kStores + kLoads; ++i) {
    const bool stores = i < kStores;
    WrittenAccess access{.ip = stores ? 0x401000u : 0x402000u,
                         .address = stores ? 0x7048u : 0x9000u,
                         .tid = stores ? 43 : 44,
                         .weight = stores ? 0u : 400u};
    access.data_source = (stores ? kStore : kFar).word();
    access.time = ++time;
    file.Add(access);
  }
  return file;
}

class Samples : public ::testing::Test {
 protected:
  ProgramResult Ask(const std::string& sql) const {
    const std::vector<uint8_t> bytes = TwoThreads().Build();
    const std::string path = folder_.Write("perf.data", std::string(bytes.begin(), bytes.end()));
    return RunFlowback({"query", path, sql, "--json"});
  }
  json Rows(const std::string& sql) const {
    const ProgramResult result = Ask(sql);
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out, nullptr, false).value("rows", json());
  }

  ScratchFolder folder_;
};

TEST_F(Samples, OfMemory) {
  const json rows = Rows(
      "SELECT tid, ip, address, line, sum(load) AS loads, sum(store) AS stores, sum(remote) AS far,"
      " max(latency) AS latency, level, min(time) AS first, max(time) AS last"
      " FROM memory GROUP BY tid, ip ORDER BY tid");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("tid"), 43);
  EXPECT_EQ(rows[0].at("ip"), 0x401000);
  EXPECT_EQ(rows[0].at("address"), 0x7048);
  EXPECT_EQ(rows[0].at("line"), 0x7040);
  EXPECT_EQ(rows[0].at("loads"), 0);
  EXPECT_EQ(rows[0].at("stores"), kStores);
  EXPECT_EQ(rows[1].at("loads"), kLoads);
  EXPECT_EQ(rows[1].at("far"), kLoads);
  EXPECT_EQ(rows[1].at("latency"), 400);
  EXPECT_EQ(rows[1].at("level"), "RAM");
  EXPECT_EQ(rows[1].at("last").get<uint64_t>() - rows[0].at("first").get<uint64_t>(),
            kStores + kLoads - 1);
}

TEST_F(Samples, InLimits) {
  EXPECT_EQ(Rows("SELECT count(*) AS n FROM memory WHERE tid = 44")[0].at("n"), kLoads);
  const json all = Rows("SELECT count(*) AS n, min(time) AS t FROM samples");
  EXPECT_EQ(all[0].at("n"), kStores + kLoads);
  const auto first = all[0].at("t").get<uint64_t>();
  EXPECT_EQ(Rows("SELECT count(*) AS n FROM samples WHERE time BETWEEN " +
                 std::to_string(first + 10) + " AND " + std::to_string(first + 19))[0]
                .at("n"),
            10);
}

TEST_F(Samples, WithoutATraceTellNoCalls) {
  for (const char* table : {"calls", "threads", "syscalls", "events", "losses", "branches",
                            "blocks", "waits", "functions", "call_paths"}) {
    const ProgramResult result = Ask(std::string("SELECT * FROM ") + table);
    EXPECT_NE(result.status, 0) << table;
    EXPECT_EQ(result.out, "") << table;
    EXPECT_TRUE(result.err.contains("\n  try: ")) << table << result.err;
  }
  EXPECT_EQ(Ask("SELECT * FROM images").status, 0);
}

}  // namespace
}  // namespace flowback::test
