// SPDX-License-Identifier: MIT
#include "cli/export/size_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/text/status.h"

namespace flowback::cli {
namespace {

struct CallsFormat {
  std::string_view name;
  uint64_t ratio;  // bytes for each byte of trace
  uint64_t most;   // megabytes that its readers open
  std::string_view reader;
};

// Measured on emulated runs of gzip, sqlite3, python3 and a server with two threads: perfetto 9 to
// 12, chrome 31 to 49, speedscope 12 to 15, firefox 7 to 10, csv 11 to 20.
constexpr CallsFormat kFormats[] = {
    {"perfetto", 11, 2000, "the page ui.perfetto.dev"},
    {"chrome", 43, 1000, "chrome://tracing"},
    {"speedscope", 14, 500, "speedscope"},
    {"firefox", 8, 500, "the page profiler.firefox.com"},
    {"csv", 18, 1000, "a spreadsheet"},
};
constexpr uint64_t kMegabyte = 1'000'000;

}  // namespace

void WarnOfSize(std::string_view format, uint64_t trace_bytes, bool is_part) {
  const auto* const known = std::ranges::find(kFormats, format, &CallsFormat::name);
  if (is_part || known == std::end(kFormats)) return;
  const uint64_t size = trace_bytes * known->ratio / kMegabyte;
  if (size <= known->most) return;
  Warn(fmt::format("the file becomes about {} MB, and {} opens {} MB", size, known->reader,
                   known->most),
       {"--tid, --time, --function, --min-duration or --max-depth leaves calls out"});
}

}  // namespace flowback::cli
