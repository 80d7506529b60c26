// SPDX-License-Identifier: MIT
// Names of the kernel's functions in samples, where nothing of its code is there. Judges: perf
// script on the same recording, and /proc/kallsyms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/linux/kernel_address.h"
#include "base/text_words.h"
#include "tests/cli/run_program.h"
#include "tests/support/host.h"

namespace flowback::test {
namespace {

using nlohmann::json;

struct Frame {
  uint64_t ip = 0;
  std::string name;  // "?": none
  auto operator<=>(const Frame&) const = default;
};
using Stacks = std::vector<std::vector<Frame>>;

// The symbols at each address, as this kernel has them now.
using Symbols = std::map<uint64_t, std::set<std::string, std::less<>>>;

Symbols RunningSymbols() {
  Symbols symbols;
  ForEachLine(ReadFile("/proc/kallsyms"), [&](std::string_view line, uint64_t) {
    flowback::Words words(line);
    const auto address = Number(words.Next(), 16);
    words.Next();
    if (address && *address != 0) symbols[*address].insert(std::string(words.Next()));
    return true;
  });
  return symbols;
}

// What a program does in the kernel, and its callers.
class KernelNames : public ::testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_HOST(host::Trait::kPerf);
    FLOWBACK_NEEDS_HOST(host::Trait::kPerfEvents);
    FLOWBACK_NEEDS_HOST(host::Trait::kRoot);  // others may not see the kernel's addresses
    symbols_ = RunningSymbols();
    if (symbols_.empty()) GTEST_SKIP() << "/proc/kallsyms has no addresses";
    const ProgramResult made = RunShell(folder_,
                                        "perf record -q -e cpu-clock -F 2000 -g -o k.data "
                                        "dd if=/dev/zero of=/dev/null bs=1M count=2000 2>err");
    if (made.status != 0) GTEST_SKIP() << "perf can't record: " << ReadFile(folder_.File("err"));
  }

  // perf's, a paragraph for each: "  ffffffff81d33df7 clear_user+0x27".
  Stacks Perfs() const {
    Stacks stacks(1);
    const ProgramResult script =
        RunShell(folder_, "perf script -F ip,sym --no-inline -i k.data 2>/dev/null");
    for (const std::string& line : Lines(script.out)) {
      const std::vector<std::string> words = Words(line);
      if (words.empty()) {
        if (!stacks.back().empty()) stacks.emplace_back();
        continue;
      }
      const uint64_t ip = std::stoull(words[0], nullptr, 16);
      const std::string& name = words.at(1);
      if (IsKernelAddress(ip)) stacks.back().push_back({ip, name == "[unknown]" ? "?" : name});
    }
    std::erase_if(stacks, [](const auto& stack) { return stack.empty(); });
    return stacks;
  }
  Stacks Ours(const std::vector<std::string>& options = {}) const {
    std::vector<std::string> words = {"stack", "--all", "--json", folder_.File("k.data")};
    words.insert(words.end(), options.begin(), options.end());
    const ProgramResult result = RunFlowback(words);
    EXPECT_EQ(result.status, 0) << result.err;
    Stacks stacks;
    for (const std::string& line : Lines(result.out)) {
      stacks.emplace_back();
      for (const json& frame : json::parse(line).value("frames", json::array())) {
        if (frame["kernel"] != true) continue;
        const json& name = frame["function"];
        stacks.back().push_back({std::stoull(frame["ip"].get<std::string>(), nullptr, 16),
                                 name.is_null() ? "?" : name.get<std::string>()});
      }
    }
    std::erase_if(stacks, [](const auto& stack) { return stack.empty(); });
    return stacks;
  }
  // The name may be another one of the same address, and perf may know none.
  bool IsAlias(const Frame& ours, const Frame& perfs) const {
    const auto after = symbols_.upper_bound(ours.ip);
    if (after == symbols_.begin()) return false;
    const auto& names = std::prev(after)->second;
    return names.contains(ours.name) && (perfs.name == "?" || names.contains(perfs.name));
  }

  ScratchFolder folder_;
  Symbols symbols_;
};

TEST_F(KernelNames, AreThoseThatPerfShows) {
  if (IsSkipped()) return;
  const Stacks perfs = Perfs(), ours = Ours();
  ASSERT_EQ(ours.size(), perfs.size());
  ASSERT_GT(ours.size(), 10u) << "dd is in the kernel nearly all of the time";
  size_t named = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(ours[i].size(), perfs[i].size()) << i;
    for (size_t k = 0; k < ours[i].size(); ++k) {
      const Frame &own = ours[i][k], &theirs = perfs[i][k];
      EXPECT_EQ(own.ip, theirs.ip);
      EXPECT_TRUE(own.name == theirs.name || IsAlias(own, theirs))
          << std::hex << own.ip << ": " << own.name << ", perf says " << theirs.name;
      named += own.name != "?" ? 1 : 0;
    }
  }
  EXPECT_GT(named, ours.size());
}

// The list of another boot would give other names.
TEST_F(KernelNames, NotByAListOfAnotherBoot) {
  if (IsSkipped()) return;
  const std::string elsewhere = folder_.Write("kallsyms", "ffffffffa1000000 T _text\n");
  const ProgramResult refused =
      RunFlowback({"stack", folder_.File("k.data"), "--kallsyms", elsewhere});
  EXPECT_EQ(refused.status, 2) << refused.out;
  EXPECT_TRUE(refused.err.contains("KASLR")) << refused.err;
  EXPECT_TRUE(refused.err.contains("try:")) << refused.err;
  // A copy of this boot's is as good as the running kernel's own.
  const std::string copy = folder_.Write("copy", ReadFile("/proc/kallsyms"));
  EXPECT_EQ(Ours({"--kallsyms", copy}), Ours());
}

}  // namespace
}  // namespace flowback::test
