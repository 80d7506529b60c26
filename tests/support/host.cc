// SPDX-License-Identifier: MIT
#include "tests/support/host.h"

#include <cpuid.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/host_probes.h"

namespace flowback::host {
namespace {

constexpr unsigned kSeconds = 10;
constexpr const char* kOverride = "FLOWBACK_TEST_HOST_LACKS";

constexpr TraitInfo kTraits[] = {
#define FLOWBACK_HOST_TRAIT(name, word, lacking) {Trait::name, word, lacking},
#include "tests/support/host_traits.def"
#undef FLOWBACK_HOST_TRAIT
};

// How a child that should have returned 0 ended; empty when it did.
std::string HowItEnded(int (*part)()) {
  const std::optional<int> status = InChild(part, kSeconds);
  if (!status) return "tried: it does not end";
  if (WIFSIGNALED(*status)) return std::string("tried: ") + strsignal(WTERMSIG(*status));
  return WEXITSTATUS(*status) == 0 ? "" : "tried: it fails";
}

// How tried and found lacking; empty where it is there.
std::string Probe(Trait trait) {
  switch (trait) {
    case Trait::kInt1:
      if (const std::string found = HowItEnded(RunsInt1); !found.empty()) return found;
      if (const std::string found = HowItEnded(StepsInt1); !found.empty())
        return found + " when stepped";
      return "";
    case Trait::kInterrupt80:
      return HowItEnded(CallsByInterrupt80);
    case Trait::kCode32:
      return HowItEnded(ChangesTo32BitCode);
    case Trait::kPrograms32:
      return HowItEnded(BecomesA32BitProgram);
    case Trait::kTransactions:
      return HasTransactions() ? "" : "CPUID tells of none";
    case Trait::kVdso:
      return getauxval(AT_SYSINFO_EHDR) != 0 ? "" : "AT_SYSINFO_EHDR is not given";
    case Trait::kPtrace:
      return HowItEnded(TracesItsChild);
    case Trait::kPerf:
      return std::system("perf --version >/dev/null 2>&1") == 0 ? "" : "tried: perf --version";
    case Trait::kGdb:
      return std::system("gdb -nx --batch -ex 'python print(1)' 2>/dev/null | grep -q 1") == 0
                 ? ""
                 : "tried: gdb --batch -ex 'python print(1)'";
    case Trait::kLldb:
      return std::system("lldb-19 --version >/dev/null 2>&1") == 0 ? ""
                                                                   : "tried: lldb-19 --version";
    case Trait::kPerfEvents:
      return HowItEnded(OpensASoftwareEvent);
    case Trait::kKernelClock:
      return HowItEnded(FindsTheKernelsClock);
    case Trait::kTemporaryPrograms:
      return HowItEnded(RunsATemporaryScript);
    case Trait::kRoot:
      return geteuid() == 0 ? "" : "user " + std::to_string(geteuid());
  }
  return "";
}

std::vector<std::string> WordsOfOverride() {
  const char* value = std::getenv(kOverride);
  std::vector<std::string> words;
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    if (end > 0) words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

const TraitInfo& InfoOf(Trait trait) { return kTraits[static_cast<size_t>(trait)]; }

std::string Vendor() {
  unsigned a = 0;
  std::array<unsigned, 3> text{};
  if (!__get_cpuid(0, &a, &text[0], &text[2], &text[1])) return "a CPU without CPUID";
  return std::string(reinterpret_cast<const char*>(text.data()), sizeof text);
}

// Family, model and stepping, as CPUID's leaf 1 has them.
std::string Model() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return "";
  const unsigned base_family = a >> 8 & 0xf;
  const bool extended = base_family == 0xf || base_family == 6;
  const unsigned family = base_family == 0xf ? base_family + (a >> 20 & 0xff) : base_family;
  const unsigned model = (a >> 4 & 0xf) | (extended ? a >> 12 & 0xf0 : 0);
  constexpr unsigned kHypervisorBit = 31;
  return " " + std::to_string(family) + "/" + std::to_string(model) + "/" +
         std::to_string(a & 0xf) + (c >> kHypervisorBit != 0 ? " in a virtual machine" : "");
}

}  // namespace

std::span<const TraitInfo> Traits() { return kTraits; }

std::string WhyNot(Trait trait) {
  const TraitInfo& info = InfoOf(trait);
  const std::vector<std::string> words = WordsOfOverride();
  const std::string found = std::ranges::find(words, info.word) != words.end()
                                ? std::string("as ") + kOverride + " says"
                                : Probe(trait);
  return found.empty() ? "" : "on this host " + std::string(info.lacking) + " (" + found + ")";
}

void SayLeftOut(const std::string& what, const std::string& why) {
  std::printf("left out: %s: %s\n", what.c_str(), why.c_str());
  std::fflush(stdout);
}

std::vector<std::string> UnknownWords() {
  std::vector<std::string> words = WordsOfOverride();
  std::erase_if(words, [](const std::string& word) {
    return std::ranges::any_of(kTraits, [&](const TraitInfo& info) { return info.word == word; });
  });
  return words;
}

std::string Description() {
  utsname kernel{};
  uname(&kernel);
  return Vendor() + Model() + ", " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " CPUs, " +
         kernel.sysname + " " + kernel.release + ", user " + std::to_string(geteuid());
}

std::optional<int> InChild(int (*part)(), unsigned seconds) {
  std::fflush(nullptr);  // sanitizers would write this buffer in the child, too
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    setpgid(0, 0);
    _exit(part());
  }
  setpgid(child, child);
  // A busy look each millisecond: an alarm would be the caller's.
  int status = 0;
  for (unsigned left = seconds * 1000; left > 0; --left) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    usleep(1000);
  }
  // With all that it has started.
  kill(-child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

}  // namespace flowback::host
