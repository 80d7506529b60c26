// SPDX-License-Identifier: MIT
// write_page FILE [none|no-times]: the page of a report made by hand, for a browser.
#include <fstream>
#include <string_view>

#include "replay/writers/writers.h"
#include "tests/locks/made_report.h"

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  const std::string_view kind = argc > 2 ? argv[2] : "busy";
  flowback::test::MadeReport made =
      kind == "none" ? flowback::test::MadeReport(2) : flowback::test::BusyReport();
  if (kind == "no-times") made.TakeTimes();
  flowback::StringSink sink;
  flowback::WriteLocksHtml(made.View(), sink);
  std::ofstream file(argv[1]);
  file << sink.text();
  return file.good() ? 0 : 1;
}
