// SPDX-License-Identifier: MIT
// Records a program into a folder of the test's own and decodes what was recorded.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "flowback/capture/open.h"
#include "flowback/capture/record.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/recording.h"
#include "tests/capture/temporary_file.h"
#include "tests/support/host.h"

namespace flowback::record_test {

// A program of tests/record/programs, or of samples/.
std::string Program(const std::string& name);
std::string Sample(const std::string& name);

// Recording by steps needs that this machine lets a process trace its child.
#define FLOWBACK_NEEDS_PTRACE() FLOWBACK_NEEDS_HOST(flowback::host::Trait::kPtrace)

// Returns the requirement of the command's program that this machine lacks; empty: none.
std::string WhyNotHere(const std::vector<std::string>& command);
#define FLOWBACK_NEEDS_TO_RUN(command)                                                  \
  if (const std::string why = flowback::record_test::WhyNotHere(command); !why.empty()) \
  GTEST_SKIP() << why

// The command as this machine can run it: with arguments that leave out the parts of the program
// that would never end or fail here, with a message.
std::vector<std::string> ForThisHost(std::vector<std::string> command);

// From /proc/PID/stat: S when the process sleeps, T when it is stopped; 0: there is none.
char StateOf(pid_t pid);

// Returns the content of a file; empty: there is none.
std::string Content(const std::string& path);

class Recorder {
 public:
  RecordOptions& options() { return options_; }
  std::string File(const std::string& name) const { return (folder_.path() / name).string(); }
  // Records the command into File("perf.data"), its output into File("output").
  Result<RecordSummary> Run(std::vector<std::string> command);

 private:
  support::TemporaryFolder folder_;
  RecordOptions options_;
};

// Tests of what is written: records, and opens what was recorded.
class RecordedFile : public testing::Test {
 protected:
  void Run(std::vector<std::string> command);

  Recorder recorder_;
  RecordSummary summary_;
  Recording recording_;
};

// `change` makes the options such that /bin/true can't be recorded with them: an error in usage,
// whose message has `words` and which has a remedy.
void ExpectRefused(const std::function<void(Recorder&)>& change, const std::string& words);

// Opens a perf.data file.
Result<Recording> OpenFile(const std::string& perf_data);

// Each stream of the recording by each engine of this build: the same flow as the stepped one, no
// losses, every byte accounted for. Reports what differs as test failures.
void ExpectSameFlow(const OpenOptions& input, const RecordSummary& truth);
// The same for a perf.data file.
void ExpectSameFlow(const std::string& perf_data, const RecordSummary& truth);

// What each engine of this build makes of the first stream.
std::vector<std::pair<std::string, FlowDigest>> DecodedDigests(const Recording& recording);

// perf reads the recordings, too.
#define FLOWBACK_NEEDS_PERF() FLOWBACK_NEEDS_HOST(flowback::host::Trait::kPerf)
// The digest of the addresses that `perf script` lists for each thread, in order of the truth's
// threads. Empty when perf can't read the file; `problem` then says why.
std::vector<FlowDigest> PerfScriptDigests(const std::string& perf_data, const RecordSummary& truth,
                                          std::string& problem);

}  // namespace flowback::record_test
