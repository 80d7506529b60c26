// SPDX-License-Identifier: MIT
// The limits as test cases of JUnit's XML, which CI servers show.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/diff/diff_view.h"
#include "replay/writers/text/xml.h"

namespace flowback::cli {

void WriteDiffJunit(const DiffView& view, TextSink& sink) {
  std::string& out = sink.buffer();
  const auto failed =
      std::ranges::count_if(view.outcomes, [](const LimitOutcome& each) { return !each.passed(); });
  out += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format(
      "<testsuites tests=\"{0}\" failures=\"{1}\" errors=\"0\">\n"
      "  <testsuite name=\"flowback diff\" tests=\"{0}\" failures=\"{1}\" errors=\"0\" "
      "skipped=\"0\">\n",
      view.limits.size(), failed);
  for (size_t i = 0; i < view.limits.size(); ++i) {
    const std::string found = Xml(OutcomeText(view.limits[i], view.outcomes[i]));
    out += fmt::format("    <testcase classname=\"flowback.diff\" name=\"{}\">\n",
                       Xml(view.limits[i].text));
    if (view.outcomes[i].passed())
      out += fmt::format("      <system-out>{}</system-out>\n", found);
    else
      out += fmt::format("      <failure message=\"{}\">{}</failure>\n", found,
                         Xml(DiffSentences(view).front()));
    out += "    </testcase>\n";
  }
  out += "  </testsuite>\n</testsuites>\n";
  sink.Commit();
}

}  // namespace flowback::cli
