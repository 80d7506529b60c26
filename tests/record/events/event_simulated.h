// SPDX-License-Identifier: MIT
// A recorder of events on a kernel that the test plays.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "capture/record/control/record_session.h"
#include "capture/record/event_recorder/event_recorder.h"
#include "tests/record/recorded.h"
#include "tests/support/kernel/simulated_kernel.h"
#include "tests/support/kernel/trees.h"

namespace flowback::record_test {

using test::SimulatedKernel;

inline constexpr pid_t kProgram = 4242;

class EventSimulated : public ::testing::Test {
 protected:
  EventSimulated() : kernel_(test::Tree("skylake_server")) {
    kernel_.AddProcess(kProgram);
    options_.engine = "pt";
    options_.files.output = File("perf.data");
    options_.target.pids = {kProgram};
    options_.events.per_thread = true;
  }
  std::string File(const std::string& name) const { return (folder_.path() / name).string(); }
  Result<RecordSummary> Run() { return RunOn(kernel_); }
  // `begun` is called once the recorder has started.
  Result<RecordSummary> RunOn(SimulatedKernel& kernel, const std::function<void()>& begun = {}) {
    const record::RecorderSignals signals;
    record::RecordSession session(options_, signals);
    record::EventRecorder recorder(options_, kernel);
    recorder_ = &recorder;
    const auto started = recorder.Start(session);
    if (!started) return Fail(started.error());
    if (begun) begun();
    session.Connect(*started, recorder);
    auto summary = recorder.Run();
    session.Disconnect();
    return summary;
  }
  RecordSummary Recorded() {
    auto summary = Run();
    EXPECT_TRUE(summary) << summary.error().message();
    EXPECT_TRUE(summary && !summary->failure);
    return summary ? *std::move(summary) : RecordSummary();
  }
  Recording Open() const {
    auto recording = OpenFile(options_.files.output);
    EXPECT_TRUE(recording) << recording.error().message();
    return recording ? *std::move(recording) : Recording();
  }

  support::TemporaryFolder folder_;
  SimulatedKernel kernel_;
  RecordOptions options_;
  record::EventRecorder* recorder_ = nullptr;  // while Run runs
};

}  // namespace flowback::record_test
