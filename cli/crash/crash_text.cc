// SPDX-License-Identifier: MIT
#include "cli/crash/crash_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/hex.h"
#include "cli/stack/frame_text.h"
#include "replay/crash/who_stored.h"
#include "replay/session/stack_naming.h"
#include "replay/values/chain_words.h"
#include "replay/writers/text/code_words.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

class CrashWriter {
 public:
  CrashWriter(const CrashReport& report, Session& session)
      : report_(report), session_(session), names_(StackNamesOf(session)) {}

  std::string Write() {
    out_ = FirstSentence(report_, session_) + "\n";
    if (report_.core_contradicts)
      out_ +=
          "The core dump does not fit to the flow: it is of another run, or another process "
          "wrote to the memory. No value is taken from it.\n";
    WriteMissing();
    out_ += LivingText(report_, session_);
    WriteFault();
    WriteWhy();
    const CrashThread& first = report_.threads.front();
    WriteSuspects();
    out_ += "\nIts call stack:\n";
    WriteStack(first, kShownFrames);
    out_ += CoreStackText(report_, session_);
    WriteMutexes(first);
    WriteLast(first);
    for (size_t i = 1; i < report_.threads.size(); ++i) WriteOther(report_.threads[i]);
    return std::move(out_);
  }

 private:
  static constexpr size_t kShownFrames = 40;
  static constexpr size_t kOutermost = 10;

  void Line(const std::string& line) { out_ += "  " + line + "\n"; }

  // What helps: memory without a file has its remedy in the first sentence.
  void WriteMissing() {
    if (report_.missing && report_.missing->file.starts_with('/'))
      out_ +=
          "Name the file that ran: --image FILE, or --symfs FOLDER, below which it has its path.\n";
  }

  void WriteFault() {
    if (!report_.fault) return;
    out_ += "\nThe instruction that faulted:\n";
    Line(fmt::format("{:#x}  {}  {}", report_.fault->place.address, report_.fault->text,
                     PlaceWords(report_.fault->place)));
    for (const CrashOperand& operand : report_.operands)
      if (operand.value) Line(fmt::format("{} = {}", operand.name, Hex(*operand.value)));
    if (!report_.has_core)
      Line(
          "its operands are not known: there is no core dump. Run `ulimit -c unlimited` and record "
          "again, or name a dump: --core FILE");
  }

  void WriteWhy() {
    if (!report_.why) return;
    const CrashWhy& why = *report_.why;
    out_ += fmt::format("\nWhere {} came from, the latest first:\n", why.name);
    for (const CrashLink& link : why.links)
      Line(fmt::format("#{} {}: {}: {}", link.instruction.number,
                       PlaceWords(link.instruction.place), link.instruction.text,
                       values::GaveWords(link.link)));
    if (why.stored)
      Line(fmt::format(
          "Thread {} had stored it there in {}, instruction #{}{}.", why.stored->tid,
          PlaceWords(why.stored->instruction.place) +
              (why.stored->caller ? ", called by " + PlaceWords(*why.stored->caller) : ""),
          why.stored->instruction.number,
          why.stored->is_proven ? "" : ", the last store that is known"));
    else
      Line(fmt::format(
          "The chain ends here: {}{}.", values::EndWords(why.end),
          why.too_many_threads
              ? fmt::format(" (not looked for in more than {} other threads)", kMostStoringThreads)
              : ""));
  }

  // Writes which blocks were freed, and which functions returned.
  void WriteSuspects() {
    const CrashFrees& frees = report_.frees;
    if (!frees.calls.empty())
      out_ += frees.is_same_block
                  ? "\nThe block was freed before, the latest first:\n"
                  : "\nThe last calls that freed memory before, the latest first:\n";
    for (const CrashFree& free : frees.calls)
      Line(fmt::format("#{} {}{}", free.number, PlaceWords(free.place),
                       free.block ? ": " + Hex(*free.block) : ""));
    std::string names;
    for (const CrashSuspect& suspect : report_.returned_last)
      names +=
          (names.empty() ? "" : ", ") + PlaceWords(suspect.last_store.value_or(suspect.function));
    if (!names.empty())
      out_ +=
          "\nOne of the functions that returned last may have stored the bad value. The latest "
          "first, each at its last store or call: " +
          names + "\n";
  }

  // Shows both ends of a deep stack, and how many frames lie between.
  void WriteStack(const CrashThread& thread, size_t most) {
    const std::vector<StackFrame>& frames = thread.stack.frames;
    const size_t outermost = most > 2 * kOutermost ? kOutermost : 0;
    size_t level = 0;
    if (frames.empty()) Line("(not known: what executed before is lost)");
    for (size_t i = 0; i < frames.size(); ++i) {
      const bool is_left_out = frames.size() > most && i >= most - outermost;
      if (is_left_out && i == most - outermost) {
        const size_t left_out = frames.size() - most;
        out_ += fmt::format("    ... {} more, `flowback stack --at end` shows all\n", left_out);
        i += left_out;
        level += left_out;
        if (outermost == 0) return;
      }
      AppendFrame(names_.Of(frames[i]), frames[i], level, out_);
    }
  }

  void WriteMutexes(const CrashThread& thread) {
    for (const CrashMutex& mutex : thread.holds)
      Line("It holds " + MutexWords(mutex) +
           (mutex.site == 0
                ? "."
                : fmt::format(", which it locked in {}.",
                              PlaceWords(PlaceOf(session_, mutex.space, mutex.site, false)))));
    if (thread.waits_for)
      Line(fmt::format("It waits for {}, which {} holds.", MutexWords(*thread.waits_for),
                       thread.waits_for->owner == thread.tid
                           ? "it"
                           : fmt::format("thread {}", thread.waits_for->owner)));
  }

  // "-112.4 us": before the end.
  std::string Before(uint64_t tsc) const {
    const RecordingClock& clock = session_.clock();
    const uint64_t end = report_.threads.front().tsc;
    if (tsc == 0 || end == 0 || tsc > end || !clock.has_nanoseconds()) return "-";
    const auto ns = static_cast<double>(clock.Value(end) - clock.Value(tsc));
    constexpr double kThousand = 1000;
    if (ns < kThousand) return fmt::format("-{:.0f} ns", ns);
    if (ns < kThousand * kThousand) return fmt::format("-{:.1f} us", ns / kThousand);
    return fmt::format("-{:.1f} ms", ns / kThousand / kThousand);
  }

  void WriteLast(const CrashThread& thread) {
    WriteCalls(thread);
    WriteSystemCalls(thread);
    if (!thread.lines.empty()) out_ += "\nThe last lines that it executed:\n";
    for (const CrashPlace& place : thread.lines) Line(LineWords(place));
    if (!thread.instructions.empty()) out_ += "\nThe last instructions that it executed:\n";
    for (const CrashInstruction& one : thread.instructions)
      Line(fmt::format("#{} {:#x}  {}  {}", one.number, one.place.address, one.text,
                       PlaceWords(one.place)));
  }

  static bool Contains(const LastCall& outer, const LastCall& inner) {
    return outer.depth < inner.depth && (outer.is_open() || outer.end_number >= inner.end_number);
  }

  void WriteCalls(const CrashThread& thread) {
    if (thread.calls.empty()) return;
    out_ +=
        "\nThe last calls that it made: the time from the call to the end, and its instructions. A "
        "call stands below its caller.\n";
    std::vector<const LastCall*> callers;  // of the next one, as far as they are listed
    for (const LastCall& call : thread.calls) {
      while (!callers.empty() && !Contains(*callers.back(), call)) callers.pop_back();
      const size_t level = std::min(callers.size(), size_t{40});
      callers.push_back(&call);
      const CrashPlace place = PlaceOf(session_, call.space, call.entry, false);
      std::string_view function = place.function;
      if (function.ends_with("@plt")) function.remove_suffix(std::string_view("@plt").size());
      const std::string name = function.empty() ? PlaceWords(place) : ShortName(function);
      Line(fmt::format("{:>10} {:>9}  {}{}{}", Before(call.tsc), call.end_number - call.number,
                       std::string(2 * level, ' '), name,
                       call.was_left    ? " (left by a jump further out)"
                       : call.is_open() ? " (did not return)"
                                        : ""));
    }
  }

  void WriteSystemCalls(const CrashThread& thread) {
    if (thread.system_calls.empty()) return;
    out_ += "\nThe last system calls that it made, the time before the end:\n";
    for (const CrashSystemCall& call : thread.system_calls)
      Line(fmt::format("{:>10}  {}  {}", Before(call.tsc), CallWords(call),
                       PlaceWords(PlaceOf(session_, call.space, call.address, false))));
  }

  // With the text of the line, where the source is here.
  std::string LineWords(const CrashPlace& place) {
    std::string words = PlaceWords(place);
    const std::string_view text = session_.lines().Text(place.file, place.line);
    if (!text.empty()) words += "  " + Printable(text);
    return words;
  }

  void WriteOther(const CrashThread& thread) {
    const char* state = thread.state == ThreadState::kEnded      ? "had ended"
                        : thread.state == ThreadState::kNotBegun ? "had not begun"
                                                                 : "was in";
    out_ += fmt::format(
        "\nThread {}{} {}{}\n", thread.tid,
        thread.name.empty() ? "" : " \"" + Printable(thread.name) + "\"", state,
        thread.state == ThreadState::kRunning ? " " + PlaceWords(thread.place) + ":" : ".");
    constexpr size_t kFrames = 8;
    if (thread.state == ThreadState::kRunning) WriteStack(thread, kFrames);
    WriteMutexes(thread);
  }

  const CrashReport& report_;
  Session& session_;
  StackNames names_;
  std::string out_;
};

}  // namespace

std::string CrashText(const CrashReport& report, Session& session) {
  return CrashWriter(report, session).Write();
}

}  // namespace flowback::cli
