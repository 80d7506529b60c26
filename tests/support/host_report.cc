// SPDX-License-Identifier: MIT
// host_report: says which machine this is, and what it lacks of what tests rest on. Status 1 when
// FLOWBACK_TEST_HOST_LACKS has a word that means nothing.
#include <cstdio>

#include "tests/support/host.h"

int main() {
  using namespace flowback::host;
  std::printf("This host: %s\n", Description().c_str());
  bool lacks = false;
  for (const TraitInfo& info : Traits()) {
    const std::string why = WhyNot(info.trait);
    if (why.empty()) continue;
    std::printf("  %-18s  %s\n", std::string(info.word).c_str(), why.c_str());
    lacks = true;
  }
  if (!lacks) std::printf("  has all that tests ask a machine for\n");
  for (const std::string& word : UnknownWords())
    std::fprintf(stderr, "FLOWBACK_TEST_HOST_LACKS: '%s' is none of the words of %s\n",
                 word.c_str(), "tests/support/host_traits.def");
  return UnknownWords().empty() ? 0 : 1;
}
