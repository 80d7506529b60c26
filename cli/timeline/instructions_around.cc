// SPDX-License-Identifier: MIT
#include "cli/timeline/instructions_around.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "cli/listing/instruction_text.h"
#include "cli/listing/source_columns.h"
#include "cli/reading/losses.h"
#include "flowback/replay/thread_cursor.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

class AroundPrinter {
 public:
  AroundPrinter(const AroundPlan& plan, const PrintSettings& settings, Output& output)
      : plan_(plan), settings_(settings), output_(output), text_(settings, kCacheBytes) {}

  // False: the thread's flow does not reach there.
  bool Print(FlowIndex& index, const IndexedThread& thread) {
    const uint64_t tsc = plan_.instruction ? 0 : FirstTscAt(thread);
    if (!plan_.instruction && tsc == 0) return false;
    ThreadCursor cursor(index, thread);
    if (plan_.instruction)
      cursor.ToInstruction(*plan_.instruction);
    else
      cursor.ToTime(tsc);
    const bool behind = cursor.kind() == ThreadCursor::Kind::kEnd;
    if (plan_.instruction && behind) return false;
    for (uint64_t i = 0; i < plan_.around; ++i)
      if (!cursor.Previous(ThreadCursor::Kind::kInstruction)) break;
    if (!plan_.json) PrintHeader(thread);
    const uint64_t last = plan_.around + CountFrom();
    bool marked = behind;
    for (uint64_t shown = 0; shown < last && cursor.kind() != ThreadCursor::Kind::kEnd;) {
      const bool is_one = cursor.kind() == ThreadCursor::Kind::kInstruction;
      const bool here = !marked && is_one && IsThere(cursor, tsc);
      marked = marked || here;
      PrintElement(thread, cursor, here);
      shown += is_one ? 1 : 0;
      cursor.Next();
      output_.Commit();
      if (output_.closed()) break;
    }
    return true;
  }

 private:
  static constexpr size_t kCacheBytes = size_t{1} << 20;

  uint64_t Value(uint64_t tsc) const { return settings_.trace.clock->Value(tsc); }
  std::string& out() { return output_.buffer(); }

  // Returns how many instructions are shown from the moment on.
  uint64_t CountFrom() const {
    constexpr uint64_t kShort = 1000;
    const uint64_t all = plan_.spike == nullptr ? 0 : plan_.spike->instance.instructions();
    return all <= kShort ? all + plan_.around : plan_.around;
  }
  bool IsThere(const ThreadCursor& cursor, uint64_t tsc) const {
    return plan_.instruction ? cursor.number() >= *plan_.instruction : cursor.tsc() >= tsc;
  }

  // The first time-stamp that is not before the time asked for; 0: the thread has no flow then.
  uint64_t FirstTscAt(const IndexedThread& thread) const {
    uint64_t first = 0;
    uint64_t last = 0;
    for (const FlowShare& share : thread.shares) {
      if (first == 0) first = share.first_tsc;
      last = std::max(last, share.last_tsc);
    }
    if (first == 0 || plan_.time > Value(last)) return 0;
    if (plan_.time < Value(first)) return 0;
    while (first < last) {
      const uint64_t middle = first + (last - first) / 2;
      if (Value(middle) < plan_.time)
        first = middle + 1;
      else
        last = middle;
    }
    return first;
  }

  void PrintHeader(const IndexedThread& thread) {
    out() += fmt::format("# thread {} {}\n", thread.tid,
                         Printable(settings_.trace.threads->CommAt(thread.tid, plan_.time).comm));
    if (plan_.spike == nullptr) return;
    const SlowInstance& instance = plan_.spike->instance;
    out() += fmt::format(
        "# spike {} of {}, an instance of {}: {} instructions from the thread's instruction {} "
        "on\n",
        plan_.spike->number, plan_.spike->all, Printable(plan_.spike->region),
        instance.instructions(), instance.first_instruction);
  }

  // "+12/-3 ns": so far the proven bounds lie around the estimate.
  std::string Interval(uint64_t tsc, const TscInterval& bounds) const {
    if (tsc == 0) return "-";
    const uint64_t time = Value(tsc);
    const std::string before =
        bounds.lo == 0 ? "?" : std::to_string(time - std::min(time, Value(bounds.lo)));
    const uint64_t hi = bounds.hi == 0 ? 0 : settings_.trace.clock->UpperValue(bounds.hi);
    const std::string behind = bounds.hi == 0 ? "?" : std::to_string(std::max(hi, time) - time);
    return fmt::format("-{}/+{}", before, behind);
  }

  void PrintElement(const IndexedThread& thread, const ThreadCursor& cursor, bool here) {
    switch (cursor.kind()) {
      case ThreadCursor::Kind::kInstruction:
        return plan_.json ? PrintJson(thread, cursor, here) : PrintText(cursor, here);
      case ThreadCursor::Kind::kEvent:
        if (!plan_.json) out() += EventText(cursor.event());
        return;
      case ThreadCursor::Kind::kLoss:
        if (!plan_.json) out() += "# " + LossText(cursor.loss()) + "\n";
        return;
      case ThreadCursor::Kind::kUnknown:
        if (!plan_.json) out() += "# what ran here was not recorded\n";
        return;
      case ThreadCursor::Kind::kEnd:
        return;
    }
  }

  static BlockRun RunOf(const CursorInstruction& one) {
    return {.address = one.address,
            .lengths = std::span(&one.length, 1),
            .next = one.next,
            .tsc = one.tsc,
            .bounds = one.bounds,
            .exit = one.exit,
            .last = one.last,
            .mode = one.mode,
            .in_transaction = one.in_transaction,
            .branch = one.branch,
            .cycles = {},
            .space = one.space,
            .stay = one.stay};
  }

  std::string EventText(const TraceEvent& event) const {
    const CycleMark& mark = event.cycles;
    if (HasNoCycles() || mark.since() != CycleMark::Since::kPause)
      return fmt::format("# {}\n", Name(event.kind));
    return fmt::format("# {}, {} cycles after tracing had stopped\n", Name(event.kind),
                       mark.cycles());
  }

  // An emulator's cycles are ticks of its clock, not a processor's cycles.
  bool HasNoCycles() const { return settings_.trace.clock->emulated(); }

  // As branches have them, or from mark to mark: "|" where they are counted from.
  std::string CyclesOf(const CursorInstruction& one) const {
    if (HasNoCycles()) return "-";
    const BranchFacts& branch = one.branch;
    if (branch.cycles_told != BranchFacts::Cycles::kNotTold)
      return fmt::format("{}{}", branch.cycles,
                         branch.cycles_told == BranchFacts::Cycles::kAtLeast ? "+" : "");
    switch (one.cycles.since()) {
      case CycleMark::Since::kFlow:
        return std::to_string(one.cycles.cycles());
      case CycleMark::Since::kBoth:
        return fmt::format("<{}", one.cycles.cycles() + 1);
      case CycleMark::Since::kUnknown:
        return "|";
      default:
        return "-";
    }
  }
  void AddCycles(const CursorInstruction& one, JsonLine& line) const {
    const bool of_branch = one.branch.cycles_told == BranchFacts::Cycles::kExact;
    if (HasNoCycles())
      line.Null("cycles");
    else if (of_branch)
      line.Number("cycles", one.branch.cycles);
    else if (one.cycles.since() == CycleMark::Since::kFlow)
      line.Number("cycles", one.cycles.cycles());
    else
      line.Null("cycles");
    line.Bool("cycles_begin", !HasNoCycles() && !of_branch && one.cycles.any());
  }

  void PrintText(const ThreadCursor& cursor, bool here) {
    const CursorInstruction& one = cursor.instruction();
    std::string time;
    settings_.trace.clock->AppendText(time, one.tsc);
    out() += fmt::format("{} {:>20} {:>16} {:>6} ", here ? '>' : ' ', time,
                         Interval(one.tsc, one.bounds), CyclesOf(one));
    out() += text_.Of(RunOf(one)).text;
    if (!out().ends_with('\n')) out() += '\n';
  }

  void PrintJson(const IndexedThread& thread, const ThreadCursor& cursor, bool here) {
    const CursorInstruction& one = cursor.instruction();
    std::string columns = text_.Of(RunOf(one)).text;  // ends an object that has a key already
    JsonLine line(out());
    line.Text("type", "instruction").Number("tid", thread.tid).Number("number", cursor.number());
    line.Bool("here", here);
    const auto time = [&](std::string_view key, uint64_t tsc, bool upper) {
      if (tsc == 0)
        line.Null(key);
      else
        line.Number(key, upper ? settings_.trace.clock->UpperValue(tsc) : Value(tsc));
    };
    time("time", one.tsc, false);
    time("time_lo", one.bounds.lo, false);
    time("time_hi", one.bounds.hi, true);
    AddCycles(one, line);
    out() += columns;
    if (!out().ends_with("}\n")) line.End();
  }

  const AroundPlan& plan_;
  const PrintSettings& settings_;
  Output& output_;
  InstructionText text_;
};

}  // namespace

LineLayout LayoutAround(bool json) {
  return {.fields = Fields()
                        .Add(Field::kIp)
                        .Add(Field::kInsn)
                        .Add(Field::kSym)
                        .Add(Field::kSymoff)
                        .Add(Field::kDso)
                        .Add(Field::kSrcline),
          .json = json};
}

size_t PrintInstructionsAround(const AroundPlan& plan, FlowIndex& index,
                               const std::vector<size_t>& threads, const PrintSettings& settings,
                               Output& output) {
  if (plan.json) {
    JsonLine line(output.buffer());
    line.Text("schema", "flowback.timeline.instructions/1").Text("input", plan.input);
    line.Text("clock", settings.trace.clock->has_nanoseconds() ? "ns" : "tsc");
    line.Bool("emulated", settings.trace.clock->emulated());
    if (plan.spike != nullptr) {
      line.Number("spike", plan.spike->number).Number("spikes", plan.spike->all);
      line.Text("region", plan.spike->region).Number("tid", plan.spike->instance.tid);
      line.Number("first_instruction", plan.spike->instance.first_instruction);
      line.Number("instructions", plan.spike->instance.instructions());
    }
    line.End();
  } else {
    if (settings.trace.clock->emulated())
      output.buffer() += "# emulated: times are not those of an undisturbed run\n";
    output.buffer() +=
        fmt::format("# {:>20} {:>16} {:>6} instruction\n", "time", "proven, ns", "cycles");
  }
  AroundPrinter printer(plan, settings, output);
  size_t printed = 0;
  for (const size_t thread : threads)
    if (!output.closed() && printer.Print(index, index.threads()[thread])) ++printed;
  return printed;
}

}  // namespace flowback::cli
