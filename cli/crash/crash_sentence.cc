// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/hex.h"
#include "base/path_text.h"
#include "cli/crash/crash_text.h"
#include "cli/text/process_ends.h"
#include "replay/crash/crash_kind.h"
#include "replay/writers/text/code_words.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

using values::ChainLink;

std::string AddressWords(const CrashReport& report) {
  const auto& address = report.end->fault_address;
  if (!address) return "";
  return fmt::format(" {} address {}", report.writes ? "writing to" : "reading", Hex(*address));
}

std::string FaultPlace(const CrashReport& report) {
  const CrashPlace& place = report.fault ? report.fault->place : report.threads.front().place;
  return PlaceWords(place);
}

// " 112 us before"; empty for less than a microsecond.
std::string BeforeWords(std::optional<uint64_t> ns) {
  constexpr uint64_t kMicrosecond = 1000, kMillisecond = 1'000'000, kSecond = 1'000'000'000;
  constexpr uint64_t kMost = 10;  // of a smaller unit
  if (!ns || *ns < kMicrosecond) return "";
  if (*ns < kMost * kMillisecond) return fmt::format(" {} us before", *ns / kMicrosecond);
  if (*ns < kMost * kSecond) return fmt::format(" {} ms before", *ns / kMillisecond);
  return fmt::format(" {} s before", *ns / kSecond);
}

const char* ProofWords(const CrashStore& store) {
  return store.is_proven ? "" : ", as far as is known";
}

// "memset+0x20, called by Fill (srv.c:4)".
std::string StorePlace(const CrashStore& store) {
  return PlaceWords(store.instruction.place) +
         (store.caller ? ", called by " + PlaceWords(*store.caller) + "," : "");
}

// ": rax is 0x0, which main (crash.c:18) stored", as far as the chain leads to one instruction.
std::string WhyWords(const CrashReport& report) {
  const bool is_known = report.why && (report.why->value || report.why->stored);
  if (!is_known) return "";
  std::string words = ": " + report.why->name;
  if (report.why->value) words += " is " + Hex(*report.why->value);
  const std::vector<CrashLink>& links = report.why->links;
  if (links.empty() && report.why->stored)
    return words + ", which " + StorePlace(*report.why->stored) + " stored" +
           BeforeWords(report.why->before_ns) + ProofWords(*report.why->stored);
  if (links.empty()) return words;
  const CrashLink& oldest = links.back();
  const char* did = oldest.link.kind == ChainLink::Kind::kStored   ? "stored"
                    : oldest.link.kind == ChainLink::Kind::kLoaded ? "loaded"
                                                                   : "computed";
  const bool is_same = oldest.link.value == report.why->value;
  words += fmt::format(", {} {} {}", is_same ? "which" : "from a value that",
                       PlaceWords(oldest.instruction.place), did);
  const std::string before = BeforeWords(report.why->before_ns);
  if (!report.why->stored) return words + before;
  const CrashStore& store = *report.why->stored;
  const bool is_own = store.tid == report.threads.front().tid;
  return words + fmt::format(" from {}, where {} had stored it{}{}{}",
                             report.why->memory.empty() ? Hex(*oldest.link.address)
                                                        : Printable(report.why->memory),
                             is_own ? StorePlace(store) : fmt::format("thread {}", store.tid),
                             is_own ? "" : " in " + StorePlace(store), before, ProofWords(store));
}

// ", from CallEntry (srv.cc:41)": what executed last.
std::string LastPlace(const CrashReport& report) {
  const std::vector<CrashInstruction>& executed = report.threads.front().instructions;
  return executed.empty() ? "" : ", from " + PlaceWords(executed.back().place);
}

std::string Caller(const CrashReport& report) {
  return report.cause ? ", which " + PlaceWords(*report.cause) + " called," : "";
}

// ", visit calling walk again and again".
std::string RecursionWords(const CrashReport& report) {
  constexpr size_t kMost = 6;
  const std::vector<std::string>& round = report.recursion;
  if (round.empty()) return "";
  std::string words = ", ";
  for (size_t i = 0; i < round.size() && i < kMost; ++i)
    words += (i == 0 ? "" : " calling ") + Printable(round[i]);
  return words + (round.size() > kMost ? " calling ..." : "") + " again and again";
}

// If the fault is in the C library or in code without a name: the program's own function, or the
// other file, that led there.
std::string CallerOfLibrary(const CrashReport& report) {
  if (!report.fault || !report.cause) return "";
  const CrashPlace& place = report.fault->place;
  const bool is_other = place.function.empty() ? place.object != report.cause->object
                                               : place.function != report.cause->function;
  const bool is_foreign = place.function.empty() || IsOfEnding(place);
  return is_other && is_foreign ? ", called by " + PlaceWords(*report.cause) : "";
}

// " of type std::runtime_error that was thrown in Parse(int) (srv.cc:41)", as far as it is known.
std::string ExceptionWords(const CrashReport& report, const std::string& own) {
  const std::string type = report.thrown_type.empty() ? "" : Printable(report.thrown_type);
  std::string words = type.empty() ? "an exception" : "an exception of type " + type;
  words += report.thrown ? " that was thrown in " + PlaceWords(*report.thrown) : own;
  return words;
}

// ": "free(): invalid pointer"".
std::string MessageWords(const CrashReport& report) {
  constexpr size_t kMost = 200;
  if (report.message.empty()) return "";
  const std::string text = Printable(report.message);
  return ": \"" + (text.size() > kMost ? text.substr(0, kMost) + "..." : text) + "\"";
}

std::string DeadlockWords(const CrashReport& report) {
  const std::string words = RoundWords(report);
  return words.empty() ? "" : ", in a deadlock: " + words;
}

// " in the block 0x1234, which Drop (srv.cc:7) had freed before".
std::string FreedWords(const CrashReport& report) {
  const CrashFrees& frees = report.frees;
  if (!frees.is_same_block || frees.calls.empty()) return "";
  return fmt::format(" in the block {}, which {} had freed before", Hex(*frees.block),
                     PlaceWords(frees.calls.front().place));
}

// " in syscall+0x19, called by Ask (srv.cc:7): the system call getpriority is forbidden".
std::string ForbiddenWords(const CrashReport& report) {
  const CrashThread& thread = report.threads.front();
  std::string words = " in " + PlaceWords(thread.place);
  if (report.cause && report.cause->function != thread.place.function)
    words += ", called by " + PlaceWords(*report.cause);
  const bool is_known = !thread.system_calls.empty() && !thread.system_calls.back().has_returned &&
                        !thread.system_calls.back().name.empty();
  return words + (is_known
                      ? ": the system call " + thread.system_calls.back().name + " is forbidden"
                      : ": it made a system call that is forbidden");
}

// Why the instruction may not have raised the signal, or why its access failed.
std::string DoubtWords(const CrashReport& report) {
  if (report.refused)
    return ": the memory is there, but the processor refused the access, for example because it is "
           "not aligned";
  const std::string unknown =
      ". It is not known whether this instruction raised the signal or somebody sent it: ";
  switch (report.doubt) {
    case SignalDoubt::kAccessible:
      return unknown + "the memory that it accesses is there, but the access may not be aligned";
    case SignalDoubt::kNoAccess:
      return unknown + "it accesses no memory";
    case SignalDoubt::kNoDivision:
      return unknown + "it is no division";
    case SignalDoubt::kLegal:
      return unknown + "the processor can execute it";
    case SignalDoubt::kNoCode:
      return unknown + "its code is missing";
    case SignalDoubt::kNone:
      break;
  }
  return "";
}

std::string EndedWords(const CrashReport& report) {
  if (report.terminated) return ": it called std::terminate";
  return report.aborted ? ": it called abort" : "";
}

// " at 0x1129 of /usr/bin/srv, accessing address 0x8, a null pointer. The cause is not known: the
// code there is missing, because the file was not found".
std::string MissingWords(const CrashReport& report) {
  const MissingCode& missing = *report.missing;
  const uint64_t address = report.end->ip.value_or(report.threads.front().place.address);
  std::string words = missing.offset ? fmt::format(" at {} of ", Hex(*missing.offset))
                                     : fmt::format(" at {}, in ", Hex(address));
  words += missing.file.empty() ? "memory without a file" : Printable(missing.file);
  if (const auto& accessed = report.end->fault_address)
    words += fmt::format(", accessing address {}{}", Hex(*accessed),
                         report.kind == CrashKind::kNullPointer ? ", a null pointer" : "");
  words += ". The cause is not known: the code there is missing";
  return missing.why.empty() ? words : words + ", because " + Printable(missing.why);
}

std::string KindWords(const CrashReport& report) {
  if (report.missing) return MissingWords(report);
  const std::string in = " in " + FaultPlace(report) + CallerOfLibrary(report);
  const std::string own = report.cause ? " in " + PlaceWords(*report.cause) : "";
  switch (report.kind) {
    case CrashKind::kNullPointer:
      return AddressWords(report) + ", a null pointer," + in + WhyWords(report);
    case CrashKind::kStackOverflow:
      return fmt::format("{}: its stack has no more room, {} calls deep{}", in, report.depth,
                         RecursionWords(report));
    case CrashKind::kWildJump:
      return fmt::format(": control went to {}, where no code is{}{}",
                         Hex(report.end->ip.value_or(report.threads.front().place.address)),
                         LastPlace(report), WhyWords(report));
    case CrashKind::kAssertion:
      return ": an assertion failed" + own + MessageWords(report);
    case CrashKind::kException:
      return ": nobody caught " + ExceptionWords(report, own) + MessageWords(report);
    case CrashKind::kHeap:
      return ": the allocator" + Caller(report) + " found its data damaged" + FreedWords(report) +
             MessageWords(report);
    case CrashKind::kSmashedStack:
      return ": a function found its stack frame overwritten" + own + MessageWords(report) +
             WhyWords(report);
    case CrashKind::kAbort:
      return EndedWords(report) + own + MessageWords(report);
    case CrashKind::kSystemCall:
      return ForbiddenWords(report);
    case CrashKind::kDivision:
      return in + ": a division by zero, or one whose result has no room";
    default:
      return AddressWords(report) + in + WhyWords(report) + DoubtWords(report);
  }
}

}  // namespace

std::string PlaceWords(const CrashPlace& place) {
  std::string words =
      place.function.empty()
          ? (place.object.empty()
                 ? fmt::format("[{}]", Hex(place.address))
                 : fmt::format("[{}+{:#x}]", Printable(LastPart(place.object)), place.in_object))
          : ShortName(place.function);
  if (place.line != 0)
    words += fmt::format(" ({}:{})", Printable(LastPart(place.file)), place.line);
  else if (!place.function.empty())
    words += fmt::format("+{:#x}", place.offset);
  return words;
}

std::string ThreadWords(const CrashThread& thread) {
  if (thread.name.empty()) return fmt::format("thread {}", thread.tid);
  return fmt::format("{} (thread {})", Printable(thread.name), thread.tid);
}

std::string MutexWords(const CrashMutex& mutex) {
  return "the mutex " + (mutex.name.empty() ? Hex(mutex.address) : Printable(mutex.name));
}

std::string RoundWords(const CrashReport& report) {
  std::string words;
  for (const size_t number : report.deadlock) {
    const CrashThread& thread = report.threads[number];
    const bool itself = thread.waits_for->owner == thread.tid;
    words += fmt::format("{}thread {} waits for {}, which {} holds", words.empty() ? "" : ", and ",
                         thread.tid, MutexWords(*thread.waits_for),
                         itself ? "it" : fmt::format("thread {}", thread.waits_for->owner));
  }
  return words;
}

std::string FirstSentence(const CrashReport& report, Session& session) {
  const CrashThread& first = report.threads.front();
  if (report.hung) return HangSentence(report, session);
  const std::string stay = StayWords(report, session);
  if (report.kind == CrashKind::kEnded)
    return fmt::format(
        "{} ended in {}{}. The recording does not show how: a process that SIGKILL ends looks "
        "so{}.",
        ThreadWords(first), PlaceWords(first.place), stay, DeadlockWords(report));
  if (!report.end)
    return fmt::format("{} was still running when the recording ended, in {}{}{}.",
                       ThreadWords(first), PlaceWords(first.place), stay, DeadlockWords(report));
  const bool is_known = report.end->tid >= 0;
  if (!WasKilled(*report.end))
    return fmt::format(
        "{} exited with {}: no signal killed it.",
        is_known ? ThreadWords(first) : fmt::format("The process {}", report.end->pid),
        WEXITSTATUS(report.end->wait_status));
  const int signal = WTERMSIG(report.end->wait_status);
  if (!is_known && signal == SIGKILL)
    return fmt::format(
        "The process {} was killed by SIGKILL, which a process or the kernel sent: no instruction "
        "raises it{}.",
        report.end->pid, DeadlockWords(report));
  if (!is_known)
    return fmt::format(
        "The process {} was killed by {}. Neither the recording nor a core dump shows which of its "
        "threads raised it{}.",
        report.end->pid, SignalName(signal), DeadlockWords(report));
  return fmt::format("{} was killed {}by {}{}{}{}.", ThreadWords(first),
                     report.from_outside ? "from outside " : "", SignalName(signal),
                     KindWords(report), stay, DeadlockWords(report));
}

}  // namespace flowback::cli
