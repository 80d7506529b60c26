// SPDX-License-Identifier: MIT
// The instances that a page of spikes has, few enough for a browser however many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "replay/writers/spikes/spikes_view.h"

namespace flowback {

// A line of the strip: the instances of one thread, or those of all threads that have no line.
struct PageRow {
  std::string name;
  uint64_t instances = 0;
};

// An instance that the page has.
struct PageInstance {
  uint32_t number = 0;
  uint32_t row = 0;
  uint64_t stands_for = 1;  // number of instances in the strip, with itself
};

// A column of the histogram.
struct PageBar {
  uint64_t normal = 0;
  uint64_t slow = 0;
  uint32_t largest = 0;  // its largest instance; meaningless where the bar is empty
};

// How a page is bounded. Rows share the cells.
struct PageLimits {
  size_t rows = 40;
  size_t bars = 100;
  size_t slow = 10'000;    // slow instances that are kept one by one: the largest
  size_t others = 20'000;  // the most other instances that are all kept
  size_t cells = 20'000;   // of a kind (normal, slow, not whole)
  size_t levels = 16;      // a cell's height is one of them
};

struct PageInstances {
  std::vector<PageRow> rows;
  std::vector<PageInstance> shown;  // by row, then by begin
  std::vector<PageBar> bars;
  uint64_t begin = 0;   // the StripPlace of the first instance
  uint64_t length = 1;  // from there to the last one's StripPlace, at least 1
  size_t columns = 0;   // of the cells of a row; 0: all instances are shown
};

// Returns where an instance stands on the strip's axis: when it began or, without times, after how
// many instructions of its thread.
uint64_t StripPlace(const SpikeReport& report, const Instance& instance);

// A cell keeps its largest instance for all in it. The instances that are explained, the median and
// the largest of each bar are always kept.
PageInstances ChooseInstances(const SpikesView& view, const PageLimits& limits = {});

}  // namespace flowback
