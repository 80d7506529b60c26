// SPDX-License-Identifier: MIT
// The words of `flowback spikes`, understood.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/reading/reader_options.h"
#include "cli/reading/written_files.h"
#include "replay/spikes/spikes.h"

namespace flowback::cli {

struct SpikesWords {
  ReaderOptions reader;
  std::string function;
  std::string start;
  std::string stop;
  std::string region;
  bool across_threads = false;
  std::string by;
  std::string over;
  std::string min_duration;
  std::string save_instances;
  std::string html;
  bool automatic = false;
  size_t top = 5;
  SlowLimit limit;
  uint64_t least_time = 0;

  bool has_places() const { return !start.empty(); }
  // Instances are other than calls of `function`.
  bool names_otherwise() const { return has_places() || automatic || !region.empty(); }
  // What instances are, as the cache is asked for them: different for any two regions.
  std::string Region() const {
    std::string text;
    for (const std::string& word : {function, start, stop, region})
      text += fmt::format("{} {} ", word.size(), word);
    if (across_threads) text += "across threads ";
    return text + (automatic ? "auto" : "");
  }
  // Where the comparison goes.
  WrittenFile Page() const {
    return html.empty() ? WrittenFile{"-o", reader.output} : WrittenFile{"--html", html};
  }
  // Returns the format's name in writers.def.
  std::string_view Format() const {
    if (!html.empty()) return "html";
    return reader.json ? "json" : "text";
  }
};

}  // namespace flowback::cli
