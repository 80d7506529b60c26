// SPDX-License-Identifier: MIT
// Stacks of samples as they are printed.
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/text/output.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/symbolizer.h"
#include "replay/calls/stack_names.h"
#include "replay/samples/sampled_threads.h"

namespace flowback::cli {

struct ShownSample {
  const SampledThread& thread;
  size_t number = 0;  // among the thread's samples, from 0
  const CallSample& sample;
  std::string_view comm;   // empty: not known
  std::string_view event;  // empty: there is one only
  const SampledStack& stack;
};

struct SampleStyle {
  StackNames& names;
  Symbolizer& symbolizer;
  bool emulated = false;
};

void PrintSampleText(const ShownSample& shown, const SampleStyle& style, Output& output);
// One object.
void PrintSampleJson(const ShownSample& shown, const SampleStyle& style, Output& output);

}  // namespace flowback::cli
