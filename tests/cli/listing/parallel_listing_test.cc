// SPDX-License-Identifier: MIT
// Listings are the same whatever the number of threads and the window.
#include <gtest/gtest.h>

#include "flowback/decode/decoder.h"
#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

using Arguments = std::vector<std::string>;

struct Listing {
  std::string name;
  Arguments words;
};

class Parallel : public ::testing::TestWithParam<Listing> {};

TEST_P(Parallel, IsTheSerialListing) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  for (const std::string recording : {"hello", "execs"}) {
    Arguments words = {"decode", folder / recording / "perf.data", "--symfs", folder / "images"};
    words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
    const auto with = [&](const Arguments& more) {
      Arguments all = words;
      all.insert(all.end(), more.begin(), more.end());
      return RunFlowback(all);
    };
    const ProgramResult serial = with({"--threads", "1"});
    ASSERT_EQ(serial.status, 0) << serial.err;
    ASSERT_GT(serial.out.size(), 1000u);
    for (const Arguments& more :
         {Arguments{"--threads", "2"}, Arguments{"--threads", "3", "--window", "1"},
          Arguments{"--threads", "6", "--window", "4"}}) {
      const ProgramResult parallel = with(more);
      EXPECT_EQ(parallel.status, 0);
      EXPECT_EQ(parallel.err, serial.err);
      // Not EXPECT_EQ: it would print megabytes.
      EXPECT_TRUE(parallel.out == serial.out) << recording << " " << more[1];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Parallel,
    ::testing::Values(
        Listing{"instructions", {}}, Listing{"json", {"--json"}},
        Listing{"addresses", {"-F", "ip"}}, Listing{"threads", {"-F", "tid,cpu"}},
        Listing{"flags", {"-F", "tid,time,ip,bytes,flags"}}, Listing{"lines", {"--as", "lines"}},
        Listing{"lines_json", {"--as", "lines", "--json"}}, Listing{"blocks", {"--as", "blocks"}},
        Listing{"blocks_by_cpu", {"--as", "blocks", "--by-cpu"}},
        Listing{"branches", {"--as", "branches", "--not-taken", "--json"}},
        Listing{"calls", {"--as", "calls"}},
        Listing{"calls_longer", {"--as", "calls", "--min-duration", "1us", "--json"}},
        Listing{"events", {"--as", "events", "--json"}}, Listing{"packets", {"--as", "packets"}},
        Listing{"packets_json", {"--as", "packets", "--json", "--time", "20%,60%"}},
        Listing{"span", {"--time", "10%,40%", "-F", "tid,time,ip"}},
        Listing{"libipt", {"--engine", "libipt", "--as", "blocks", "-F", "tid,time"}}),
    [](const auto& test) { return test.param.name; });

// Threads that went from CPU to CPU, with times off them; by CPU they are cut where they went.
TEST(Threads, CallsOfThreadsOnSeveralCpus) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  for (const std::string recording : {"spin-cyc", "pool-perthread", "vcalls-ovf"}) {
    for (const std::string more : {"--json", "--by-time", "--by-cpu"}) {
      const auto with = [&](const std::string& threads) {
        return RunFlowback({"decode", folder / recording / "perf.data", "--symfs",
                            folder / "images", "--as", "calls", more, "--threads", threads});
      };
      const ProgramResult serial = with("1");
      ASSERT_GT(serial.out.size(), 1000u);
      for (const std::string threads : {"2", "5"}) {
        const ProgramResult parallel = with(threads);
        EXPECT_TRUE(parallel.out == serial.out) << recording << more;
        EXPECT_EQ(parallel.err, serial.err);
      }
    }
  }
}

TEST(Threads, LossesStayInTheirPlaces) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  for (const std::string format : {"--as=blocks", "--json"}) {
    const Arguments words = {"decode",  folder / "vcalls-ovf/perf.data",
                             "--symfs", folder / "images",
                             "--time",  ",10%",
                             format,    "--threads"};
    const auto with = [&](const std::string& threads) {
      Arguments all = words;
      all.push_back(threads);
      return RunFlowback(all);
    };
    const ProgramResult serial = with("1");
    EXPECT_TRUE(serial.out.contains("loss"));
    EXPECT_TRUE(serial.err.contains("lost"));
    const ProgramResult parallel = with("4");
    EXPECT_TRUE(parallel.out == serial.out);
    EXPECT_EQ(parallel.err, serial.err);
  }
}

// More threads than there is work for.
TEST(Threads, ShortListings) {
  FLOWBACK_NEEDS_TRACES();
  for (const RealRecording& recording : RealRecordings()) {
    Arguments words = {"decode", "-F", "ip"};
    words.insert(words.end(), recording.words.begin(), recording.words.end());
    const ProgramResult serial = [&] {
      Arguments all = words;
      all.insert(all.end(), {"--threads", "1"});
      return RunFlowback(all);
    }();
    words.insert(words.end(), {"--threads", "16"});
    EXPECT_EQ(RunFlowback(words).out, serial.out) << recording.name;
  }
}

// `| head` with each number of threads: the rest is not worked out.
TEST(Threads, EndWithAClosedPipe) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  const RunOptions head{.close_output_after = 1, .folder = {}};
  for (const std::string threads : {"1", "2", "5"}) {
    for (const std::string kind : {"instructions", "calls", "packets"}) {
      const ProgramResult result =
          RunFlowback({"decode", folder / "big-gzip/perf.data", "--symfs", folder / "images",
                       "--threads", threads, "--as", kind},
                      head);
      EXPECT_EQ(result.status, 0) << result.err;
      EXPECT_EQ(result.err, "");
      EXPECT_FALSE(result.out.empty());
      EXPECT_FALSE(result.timed_out);
    }
  }
}

TEST(Threads, AFullDiskIsAnErrorWithEachNumber) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  for (const std::string threads : {"1", "3"}) {
    const ProgramResult result =
        RunFlowback({"decode", folder / "hello/perf.data", "--symfs", folder / "images",
                     "--threads", threads, "-o", "/dev/full"});
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find("/dev/full: writing failed"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace flowback::test
