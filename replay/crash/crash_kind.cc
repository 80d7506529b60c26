// SPDX-License-Identifier: MIT
#include "replay/crash/crash_kind.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <ranges>

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
// Functions by which the libraries end a program. The first one in the stack, from the innermost
// out, decides the kind.
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

// Returns whether the stack throws an exception. std::terminate() has other causes, too: a thread
// that is destroyed before it was joined, or a pure virtual function.
bool Throws(const std::vector<CrashPlace>& frames) {
  constexpr std::array<std::string_view, 7> kThrowing = {
      "__cxa_throw",          "__cxa_rethrow",          "std::rethrow_exception", "_Unwind_Resume",
      "__cxa_call_terminate", "__clang_call_terminate", "_Unwind_RaiseException"};
  return std::ranges::any_of(frames, [&](const CrashPlace& frame) {
    return std::ranges::any_of(
        kThrowing, [&](std::string_view name) { return frame.function.starts_with(name); });
  });
}

CrashKind OfAbort(const DeathFacts& facts) {
  // Another process's signal hit the thread at any place.
  if (!facts.ends_itself) return CrashKind::kOther;
  for (const CrashPlace& frame : facts.frames)
    for (const EndingFunction& ending : kEnding) {
      if (frame.function != ending.name) continue;
      const bool is_exception = ending.kind == CrashKind::kException;
      return is_exception && !Throws(facts.frames) ? CrashKind::kAbort : ending.kind;
    }
  return CrashKind::kAbort;
}

CrashKind OfAccess(const DeathFacts& facts) {
  const std::optional<uint64_t>& address = facts.end.fault_address;
  if (!facts.has_code || (address && facts.end.ip && *address == *facts.end.ip))
    return CrashKind::kWildJump;
  // A stack has no more room below its pointer; what lies above are the callers' frames, unless the
  // pointer is already below the stack.
  const auto near_stack = [&](uint64_t stack) {
    return *address < stack ? stack - *address <= kNearStack
                            : !facts.stack_is_there && *address - stack < kNearStack;
  };
  if (address && facts.stack_pointer ? near_stack(*facts.stack_pointer)
                                     : facts.on_stack && facts.frames.size() > 1000)
    return CrashKind::kStackOverflow;
  if (!address) return CrashKind::kAccess;
  return *address < kFirstPages ? CrashKind::kNullPointer : CrashKind::kWildPointer;
}

// Returns the function's name, or its place in the file if it has no name.
std::string NameOf(const CrashPlace& frame) {
  if (!frame.function.empty() || frame.object.empty()) return frame.function;
  return "[" + std::string(LastPart(frame.object)) + "+" + Hex(frame.in_object) + "]";
}

}  // namespace

CrashKind KindOf(const DeathFacts& facts) {
  if (!WIFSIGNALED(facts.end.wait_status)) return CrashKind::kExited;
  const int signal = WTERMSIG(facts.end.wait_status);
  if (signal == SIGABRT) return OfAbort(facts);
  if (facts.was_sent) return CrashKind::kOther;
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
      return OfAccess(facts);
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

bool EndsItself(const std::vector<CrashPlace>& frames, const std::vector<CrashSystemCall>& calls) {
  constexpr std::array<std::string_view, 3> kCalls = {"kill", "tkill", "tgkill"};
  constexpr std::array<std::string_view, 8> kFunctions = {
      "kill",     "killpg",       "raise",  "gsignal",
      "sigqueue", "pthread_kill", "tgkill", "pthread_kill_implementation"};
  constexpr size_t kMost = 4;  // the innermost
  const auto sends = [&](const CrashPlace& frame) {
    return std::ranges::find(kFunctions, OuterName(frame.function)) != kFunctions.end();
  };
  if (std::ranges::any_of(frames | std::views::take(kMost), sends)) return true;
  // The signal comes before the call returns.
  const bool is_sent = !calls.empty() && !calls.back().has_returned &&
                       std::ranges::find(kCalls, calls.back().name) != kCalls.end();
  return is_sent || std::ranges::any_of(frames, IsAbort);
}

std::string_view OuterName(std::string_view function) {
  constexpr std::string_view kInner = "GI_";
  const auto without_marks = [&function] {
    function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
  };
  without_marks();
  if (!function.starts_with(kInner)) return function;
  function.remove_prefix(kInner.size());
  without_marks();
  return function;
}

bool IsAbort(const CrashPlace& frame) {
  return frame.function == "abort" || frame.function == "__GI_abort";
}

bool IsTerminate(const CrashPlace& frame) {
  return frame.function.starts_with("std::terminate") ||
         frame.function.starts_with("__cxxabiv1::__terminate");
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
