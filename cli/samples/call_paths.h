// SPDX-License-Identifier: MIT
// Samples of calls added up by call path.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/samples/sampled_threads.h"
#include "cli/text/output.h"

namespace flowback::cli {

// A function in its place on a call path.
struct PathNode {
  uint64_t samples = 0;  // in it, and in what it called
  uint64_t self = 0;     // in it
  std::map<std::string_view, PathNode> called{};
};

// Names live as long as what they came from, the threads' names as long as the recording.
struct CallPaths {
  std::map<std::string_view, PathNode> comms;  // the functions of threads of that name
  uint64_t samples = 0;
  uint64_t without = 0;            // of them, that tell of no place at all
  uint64_t disagreeing = 0;        // of them, in which the sources contradict each other
  uint64_t stitched = 0;           // of them, with calls of the sample before
  uint64_t ambiguous = 0;          // of them, that could not be stitched for that
  std::deque<std::string> places;  // names that were made here, of code that has none
};

// Frames that are doubted are on no path.
CallPaths SumPaths(SampledThreads& threads, StackNames& names);

// A tree, what has most samples first.
void PrintPathsText(const CallPaths& paths, Output& output);
// An object for each path that samples end at.
void PrintPathsJson(const CallPaths& paths, Output& output);
// "comm;main;f 12", as flame graphs are made from.
void WriteFoldedPaths(const CallPaths& paths, Output& output);

}  // namespace flowback::cli
