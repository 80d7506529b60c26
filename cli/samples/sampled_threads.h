// SPDX-License-Identifier: MIT
// A recording's samples of calls, by thread, as stacks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/reading/opened_recording.h"
#include "cli/stack/stack_names.h"
#include "flowback/model/call_samples.h"
#include "flowback/replay/sampled_stack.h"

namespace flowback::cli {

struct SampledThread {
  int32_t pid = -1;
  int32_t tid = -1;
  std::vector<const CallSample*> samples;  // in the order of their times
};

class SampledThreads {
 public:
  // REQUIRES: CallSamplesOf(opened.recording().config), and its code is loaded. `opened` must
  // outlive it.
  SampledThreads(const OpenedRecording& opened, bool stitch);

  // Those that the options select, by their numbers.
  const std::vector<SampledThread>& threads() const { return threads_; }
  // Calls visit(number, stack) for the thread's samples in their order, from 0 up to `end`, until
  // it returns false.
  using Visit = std::function<bool(size_t number, const SampledStack& stack)>;
  void ForEachStack(const SampledThread& thread, size_t end, const Visit& visit);
  std::string_view CommOf(const SampledThread& thread, const CallSample& sample) const;
  // The sample's event; empty: there is only one, or its name is not known.
  std::string_view EventOf(const CallSample& sample) const;

 private:
  const AddressSpace& SpaceOf(const CallSample& sample);

  const OpenedRecording& opened_;
  StackUnwinder unwinder_;
  SampledStackReader::Options options_;
  std::vector<SampledThread> threads_;
  std::map<int32_t, RecordingCode::History> histories_;
};

// The frame as StackNames takes it.
StackFrame NameableFrame(const SampledFrame& frame, const SampledStack& stack);
// Where the function that the frame's call led to is not that of the frame inside of it, its name:
// it made room for the other one by a tail call. `inside`: the names of that frame. Empty: it did
// not, or that is not known.
std::string_view TailCaller(const SampledFrame& frame, const std::vector<NamedFrame>& inside,
                            const SampledStack& stack, Symbolizer& symbolizer);

}  // namespace flowback::cli
