// SPDX-License-Identifier: MIT
// A recording's samples of calls, by thread, as stacks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/recorded/call_samples.h"
#include "flowback/decode/recording_code.h"
#include "flowback/model/recording.h"
#include "flowback/replay/threads.h"
#include "replay/calls/stack_names.h"
#include "replay/calls/unwind/sampled_stack.h"

namespace flowback {

struct SampledThread {
  int32_t pid = -1;
  int32_t tid = -1;
  std::vector<const CallSample*> samples;  // in the order of their times
};

class SampledThreads {
 public:
  // Recording, code and threads must outlive it. `stitch`: look for callers that a sample misses in
  // the thread's sample before. REQUIRES: CallSamplesOf(recording.config).
  SampledThreads(const Recording& recording, const RecordingCode& code, const Threads& threads,
                 const ThreadSelection& selection, bool stitch);

  // Returns the selected threads, by their numbers.
  const std::vector<SampledThread>& threads() const { return threads_; }
  // Calls visit(number, stack) for the thread's samples in their order, from 0 up to `end`, until
  // it returns false.
  using Visit = std::function<bool(size_t number, const SampledStack& stack)>;
  void ForEachStack(const SampledThread& thread, size_t end, const Visit& visit);
  std::string_view CommOf(const SampledThread& thread, const CallSample& sample) const;
  // Returns the name of the sample's event; empty if there is only one event, or it has no name.
  std::string_view EventOf(const CallSample& sample) const;

 private:
  const AddressSpace& SpaceOf(const CallSample& sample);

  const Recording& recording_;
  const RecordingCode& code_;
  const Threads& comms_;
  StackUnwinder unwinder_;
  SampledStackReader::Options options_;
  std::vector<SampledThread> threads_;
  std::map<int32_t, RecordingCode::History> histories_;
};

// Returns the frame as StackNames takes it.
StackFrame NameableFrame(const SampledFrame& frame, const SampledStack& stack);
// Returns the name of the function that the frame's call led to, if another function is in the
// frame inside of it: the called one made room by a tail call. `inside`: the names of the frame
// inside. Returns nothing if there was no tail call, or it is not known.
std::string_view TailCaller(const SampledFrame& frame, const std::vector<NamedFrame>& inside,
                            const SampledStack& stack, Symbolizer& symbolizer);

}  // namespace flowback
