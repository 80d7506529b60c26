// SPDX-License-Identifier: MIT
#include "replay/crash/crash_kind.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>

#include "base/hex.h"
#include "base/path_text.h"

namespace flowback {
namespace {

constexpr uint64_t kFirstPages = 0x10000;
constexpr uint64_t kNearStack = 0x10000;

struct EndingFunction {
  std::string_view name;
  CrashKind kind;
};
// By which the libraries end a program. The first one in the stack, from the innermost out, that
// says more than that it ended.
constexpr std::array kEnding = {
    EndingFunction{"__assert_fail", CrashKind::kAssertion},
    EndingFunction{"__assert_fail_base", CrashKind::kAssertion},
    EndingFunction{"__assert", CrashKind::kAssertion},
    EndingFunction{"malloc_printerr", CrashKind::kHeap},
    EndingFunction{"malloc_consolidate", CrashKind::kHeap},
    EndingFunction{"free", CrashKind::kHeap},
    EndingFunction{"__libc_free", CrashKind::kHeap},
    EndingFunction{"__GI___libc_free", CrashKind::kHeap},
    EndingFunction{"malloc", CrashKind::kHeap},
    EndingFunction{"__libc_malloc", CrashKind::kHeap},
    EndingFunction{"__GI___libc_malloc", CrashKind::kHeap},
    EndingFunction{"realloc", CrashKind::kHeap},
    EndingFunction{"__GI___libc_realloc", CrashKind::kHeap},
    EndingFunction{"calloc", CrashKind::kHeap},
    EndingFunction{"__stack_chk_fail", CrashKind::kSmashedStack},
    EndingFunction{"__stack_chk_fail_local", CrashKind::kSmashedStack},
    EndingFunction{"__chk_fail", CrashKind::kSmashedStack},
    EndingFunction{"__fortify_fail", CrashKind::kSmashedStack},
    EndingFunction{"__GI___fortify_fail", CrashKind::kSmashedStack},
    EndingFunction{"std::terminate()", CrashKind::kException},
    EndingFunction{"std::terminate", CrashKind::kException},
    EndingFunction{"__cxxabiv1::__terminate(void (*)())", CrashKind::kException},
    EndingFunction{"__cxa_throw", CrashKind::kException},
    EndingFunction{"__cxa_rethrow", CrashKind::kException},
};

CrashKind OfAbort(const std::vector<CrashPlace>& frames) {
  for (const CrashPlace& frame : frames)
    for (const EndingFunction& ending : kEnding)
      if (frame.function == ending.name) return ending.kind;
  return CrashKind::kAbort;
}

CrashKind OfAccess(const DeathFacts& facts) {
  const std::optional<uint64_t>& address = facts.end.fault_address;
  if (!facts.has_code || (address && facts.end.ip && *address == *facts.end.ip))
    return CrashKind::kWildJump;
  const auto near_stack = [&](uint64_t stack) {
    return *address + kNearStack >= stack && *address < stack + kNearStack;
  };
  if (address && facts.stack_pointer ? near_stack(*facts.stack_pointer)
                                     : facts.on_stack && facts.frames.size() > 1000)
    return CrashKind::kStackOverflow;
  if (!address) return CrashKind::kAccess;
  return *address < kFirstPages ? CrashKind::kNullPointer : CrashKind::kWildPointer;
}

// Of a function without a name, the place in its file.
std::string NameOf(const CrashPlace& frame) {
  if (!frame.function.empty() || frame.object.empty()) return frame.function;
  return "[" + std::string(LastPart(frame.object)) + "+" + Hex(frame.in_object) + "]";
}

}  // namespace

CrashKind KindOf(const DeathFacts& facts) {
  if (!WIFSIGNALED(facts.end.wait_status)) return CrashKind::kExited;
  if (facts.was_sent) return CrashKind::kOther;
  switch (WTERMSIG(facts.end.wait_status)) {
    case SIGSEGV:
    case SIGBUS:
      return OfAccess(facts);
    case SIGABRT:
      return OfAbort(facts.frames);
    case SIGILL:
    case SIGTRAP:
      return CrashKind::kInstruction;
    case SIGFPE:
      return CrashKind::kDivision;
    case SIGSYS:
      return CrashKind::kSystemCall;
    default:
      return CrashKind::kOther;
  }
}

std::vector<std::string> RecursionOf(const std::vector<CrashPlace>& frames) {
  constexpr size_t kMostSkipped = 64, kLongest = 64, kRepeats = 4;
  const auto repeats = [&](size_t from, size_t round) {
    if (from + round * kRepeats > frames.size()) return false;
    for (size_t i = from; i < from + round * (kRepeats - 1); ++i)
      if (frames[i].address != frames[i + round].address) return false;
    return true;
  };
  for (size_t from = 0; from < kMostSkipped; ++from)
    for (size_t round = 1; round <= kLongest; ++round) {
      if (!repeats(from, round)) continue;
      std::vector<std::string> functions;
      for (size_t i = from + round; i-- != from;)
        if (const std::string name = NameOf(frames[i]);
            !name.empty() && std::ranges::find(functions, name) == functions.end())
          functions.push_back(name);
      return functions;
    }
  return {};
}

bool SendsItself(const std::vector<CrashPlace>& frames) {
  constexpr size_t kMost = 3;  // the innermost
  for (size_t i = 0; i < frames.size() && i < kMost; ++i)
    for (const std::string_view name : {"kill", "raise", "tgkill", "sigqueue"})
      if (IsOfEnding(frames[i]) && frames[i].function.find(name) != std::string::npos) return true;
  return false;
}

bool IsOfEnding(const CrashPlace& frame) {
  constexpr std::array<std::string_view, 4> kLibraries = {"libc.so", "libstdc++.so", "libgcc_s.so",
                                                          "ld-linux"};
  const std::string_view name = LastPart(frame.object);
  return std::ranges::any_of(kLibraries,
                             [&](std::string_view library) { return name.starts_with(library); }) ||
         std::ranges::any_of(
             kEnding, [&](const EndingFunction& ending) { return frame.function == ending.name; });
}

}  // namespace flowback
