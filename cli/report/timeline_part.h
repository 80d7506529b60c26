// SPDX-License-Identifier: MIT
// The part of a timeline that a report shows.
#pragma once

#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

namespace flowback::cli {

// How much of a timeline a report has room for.
struct TimelineRoom {
  size_t threads = 40;
  size_t calls = 16'000;  // of all threads
  size_t paths = 3'000;
  size_t functions = 60;  // beside those that a call or a path names
  size_t spans = 1'500;   // of a thread; else equal columns stand for them
  size_t columns = 500;
};

// Reads the page that `timeline --html` wrote and returns the data of it, cut to `room`: the calls
// that took longest, the paths with most time (emulated: with most instructions), and the threads
// that lived longest. `left_out` counts the others. Empty if the file holds no such page. Memory is
// proportional to the longest thread and the call paths.
std::optional<nlohmann::json> ReadTimelinePage(std::FILE* page, const TimelineRoom& room);

}  // namespace flowback::cli
