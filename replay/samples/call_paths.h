// SPDX-License-Identifier: MIT
// Samples of calls added up by call path.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "replay/calls/stack_names.h"
#include "replay/samples/sampled_threads.h"

namespace flowback {

// Stands for a function whose name is not known.
inline constexpr std::string_view kNoFunction = "??";

// A function at its place on a call path.
struct PathNode {
  uint64_t samples = 0;  // in it, and in what it called
  uint64_t self = 0;     // in it
  std::map<std::string_view, PathNode> called{};
};

// Names of functions live as long as their Symbolizer and SourceLines, the threads' names as long
// as the recording.
struct CallPaths {
  std::map<std::string_view, PathNode> comms;  // the functions of threads of that name
  uint64_t samples = 0;
  uint64_t without = 0;            // samples that have no place at all
  uint64_t disagreeing = 0;        // samples whose sources contradict each other
  uint64_t stitched = 0;           // samples with calls of the sample before
  uint64_t ambiguous = 0;          // samples that fit the sample before in several ways
  std::deque<std::string> places;  // names made for code that has none
};

// Adds up the samples of all threads. Leaves out frames that are doubted.
CallPaths SumPaths(SampledThreads& threads, StackNames& names);

// Calls `visit` for each path, callers before what they called, most samples first. A path begins
// with the thread's name, then has the outermost function first. Ends once `is_over`, which is
// asked for each thread name, returns true.
using VisitPath =
    std::function<void(const std::vector<std::string_view>& path, const PathNode& node)>;
void ForEachPath(const CallPaths& paths, const VisitPath& visit,
                 const std::function<bool()>& is_over);

}  // namespace flowback
