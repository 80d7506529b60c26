// SPDX-License-Identifier: MIT
// The functions of flowback/self.h. Regions are on the path of programs that are not recorded:
// there they touch what the thread has, look at one variable, and call a function that does
// nothing, by which recorders find them.
#include "flowback/self.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "capture/self/open_regions.h"
#include "capture/self/tracing.h"

// A copy of its own for one caller would not be the one that recorders look for.
#if defined(__clang__)
#define FLOWBACK_MARK __attribute__((noinline))
#else
#define FLOWBACK_MARK __attribute__((noinline, noclone))
#endif

namespace flowback::self {
namespace {

thread_local OpenRegions open_regions;
thread_local char reason[1024];

void TellWhy(const std::string& why) {
  const size_t size = std::min(why.size(), sizeof reason - 1);
  std::memcpy(reason, why.data(), size);
  reason[size] = 0;
}

template <class Action>
int Done(Action action) {
  std::string why;
  const bool done = action(Tracing::OfProcess(), why);
  if (!done) TellWhy(why);
  return done ? 1 : 0;
}

}  // namespace
}  // namespace flowback::self

using flowback::self::counts_regions;
using flowback::self::Done;
using flowback::self::open_regions;
using flowback::self::OpenRegions;
using flowback::self::Tracing;

extern "C" {

int flowback_self_start(const flowback_self_options* options) {
  const flowback_self_options usual{};
  return Done([&](Tracing& tracing, std::string& why) {
    return tracing.Start(options == nullptr ? usual : *options, why);
  });
}

int flowback_self_pause() {
  return Done([](Tracing& tracing, std::string& why) { return tracing.Ask("disable", why); });
}

int flowback_self_resume() {
  return Done([](Tracing& tracing, std::string& why) { return tracing.Ask("enable", why); });
}

int flowback_self_snapshot() {
  return Done([](Tracing& tracing, std::string& why) { return tracing.Ask("snapshot", why); });
}

int flowback_self_stop() {
  return Done([](Tracing& tracing, std::string& why) { return tracing.Stop(why); });
}

int flowback_self_is_recording() {
  const Tracing& tracing = Tracing::OfProcess();
  return tracing.is_recording() || (tracing.is_by_regions() && open_regions.depth != 0) ? 1 : 0;
}

int flowback_self_counters(flowback_self_counter* counters, int size) {
  std::vector<flowback_self_counter> all;
  Done([&](Tracing& tracing, std::string& why) {
    all = tracing.Counters(why);
    return !all.empty();
  });
  const size_t wanted = counters == nullptr || size < 0 ? 0 : static_cast<size_t>(size);
  std::copy_n(all.begin(), std::min(wanted, all.size()), counters);
  return static_cast<int>(all.size());
}

const char* flowback_self_reason() { return flowback::self::reason; }

FLOWBACK_MARK void flowback_region_entered(const char* name) {
  asm volatile("" : : "r"(name) : "memory");
}

FLOWBACK_MARK void flowback_region_left(const char* name) {
  asm volatile("" : : "r"(name) : "memory");
}

void flowback_region_begin(const char* name) {
  OpenRegions& open = open_regions;
  const unsigned depth = open.depth++;
  if (depth < OpenRegions::kKept)
    open.regions[depth] = {
        .name = name == nullptr ? "" : name, .entry = nullptr, .recording = 0, .begin_ns = 0};
  if (counts_regions.load(std::memory_order_acquire)) Tracing::OfProcess().BeginCounted(open);
  if (depth == 0) flowback_region_entered(open.regions[0].name);
}

void flowback_region_end() {
  OpenRegions& open = open_regions;
  if (open.depth == 0) return;
  if (open.depth == 1) flowback_region_left(open.regions[0].name);
  if (counts_regions.load(std::memory_order_acquire)) Tracing::OfProcess().EndCounted(open);
  --open.depth;
}

}  // extern "C"
