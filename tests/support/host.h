// SPDX-License-Identifier: MIT
// Requirements of tests that this machine lacks: a test asks before it relies on one, and prints
// what it leaves out. ./test shows these lines.
//
// FLOWBACK_TEST_HOST_LACKS="int1,perf" makes any machine one that lacks them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flowback::host {

enum class Trait {
#define FLOWBACK_HOST_TRAIT(name, word, lacking) name,
#include "tests/support/host_traits.def"
#undef FLOWBACK_HOST_TRAIT
};

struct TraitInfo {
  Trait trait;
  std::string_view word;
  std::string_view lacking;  // a sentence without its full stop
};
std::span<const TraitInfo> Traits();

// Returns why the machine lacks the trait, and how that was found out; empty: it has the trait.
// Asks anew each time, which takes milliseconds, perf excepted; never longer than some seconds.
std::string WhyNot(Trait trait);
inline bool Has(Trait trait) { return WhyNot(trait).empty(); }

// Says on standard output, for ./test to collect, that a test goes on without a part of itself.
void SayLeftOut(const std::string& what, const std::string& why);

// Words of $FLOWBACK_TEST_HOST_LACKS that name no trait.
std::vector<std::string> UnknownWords();

// Processor, kernel and user, in a line.
std::string Description();

// Runs `part` in a child process, which ends with what it returns. Returns the status as waitpid
// does; empty: the child did not end within `seconds`, and was killed.
std::optional<int> InChild(int (*part)(), unsigned seconds);

// Parts for InChild: 0 when INT1's handler is called once and the program goes on behind it, 1 when
// it is called again. `ReplaysInt1` is what hosts do where it goes back to INT1 itself.
int RunsInt1();
int ReplaysInt1();
// The same, single-stepped. Also 0 where ptrace is not permitted.
int StepsInt1();

// In a test: skips it where the machine lacks the trait.
#define FLOWBACK_NEEDS_HOST(trait) \
  if (const std::string lacks = flowback::host::WhyNot(trait); !lacks.empty()) GTEST_SKIP() << lacks

}  // namespace flowback::host
