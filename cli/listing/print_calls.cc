// SPDX-License-Identifier: MIT
// `decode --as calls`: each call where it is entered and where it is left, indented by its depth.
//
// With --min-duration an entry is held back until a call in it, or itself, has lasted long enough;
// then the entries around it are printed first: they began earlier and so last longer. With --time
// the flow before the span is followed, too, and its entries are held back until something in the
// span is printed.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/listing/durations.h"
#include "cli/listing/flow_printer.h"
#include "cli/listing/function_filter.h"
#include "cli/listing/off_cpu.h"
#include "cli/listing/source_columns.h"
#include "flowback/replay/call_stack.h"
#include "replay/calls/call_words.h"
#include "replay/calls/exec_times.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

class CallPrinter final : public FlowPrinter, private CallListener {
 public:
  explicit CallPrinter(const PrintSettings& settings) : FlowPrinter(settings, "call") {
    if (settings.calls.function)
      match_.emplace(*settings.calls.function, *settings.names.symbolizer);
    stack_.LookForExec(
        [this](uint64_t begin, uint64_t end) { return execs_->Between(begin, end); });
    stack_.LookForPauses(settings.trace.recording->machine);
  }

 private:
  // One of the calls on the stack.
  struct Shown {
    std::string_view name;
    bool selected = false;  // by --function and --depth
    size_t level = 0;       // of indentation
    bool printed = false;
    size_t text = 0;  // where its entry begins in held_
  };

  void PrintBegin(const StreamOwner& owner) override {
    held_.keeps_marks = listing().keeps_marks;
    execs_.emplace(*settings().trace.recording, *settings().trace.clock, owner.pid);
    goes_on_ = GoesOnBehindSpan(owner);
    off_cpu_ = OffCpuTimes(settings(), owner.tid);
    ends_ = false;
  }

  // The thread's stays behind the span are not decoded, so that its flow seems to end before them.
  bool GoesOnBehindSpan(const StreamOwner& owner) const {
    if (settings().times.all || owner.pieces.empty()) return false;
    const ThreadStay* last = owner.pieces.back().stay;
    return last != nullptr && settings().trace.clock->has_nanoseconds() &&
           last->begin > settings().times.span.end;
  }

  // Items without a time lie before the first time.
  bool IsAhead(uint64_t tsc) const {
    const PrintSettings& s = settings();
    return !s.times.all && (tsc == 0 || s.trace.clock->Value(tsc) < s.times.span.begin);
  }
  bool IsBehind(uint64_t tsc) const {
    const PrintSettings& s = settings();
    return !s.times.all && tsc != 0 && s.trace.clock->Value(tsc) > s.times.span.end;
  }

  void PrintBlock(const BlockRun& run) override { stack_.OnBlock(run); }
  bool TakesBatches() const override { return true; }
  void PrintBlocks(const BlockBatch& batch) override { stack_.OnBlocks(batch); }
  void PrintEvent(const TraceEvent& event) override {
    stack_.OnEvent(event);
    if (event.kind == EventKind::kPtwrite) PrintValue(event);
  }
  void BeforeLoss(const DataLoss& loss) override { stack_.OnLoss(loss); }
  void PrintEnd() override {
    ends_ = true;
    stack_.Finish();
    TellOffCpu(UINT64_MAX, 0);
    views_.clear();
    on_ = 0;
  }

  bool ShowsExit(CallExit how, uint64_t tsc) const {
    return !IsAhead(tsc) && !IsBehind(tsc) && !(how == CallExit::kEnd && goes_on_);
  }

  void OnEnter(const Call& call, size_t depth) override {
    TellOffCpu(call.tsc, depth);
    Shown& shown = shown_.emplace_back();
    shown.name = NameAt(call.space, call.entry_ip);
    if (IsAhead(call.tsc) && ahead_.size() + 1 == shown_.size()) ahead_.push_back(call);
    Select(shown, call, depth);
    shown.selected = shown.selected && !IsBehind(call.tsc);
    if (!shown.selected) return;
    shown.text = held_.text.size();
    if (ahead_.size() == shown_.size()) return;
    RenderEntry(call, shown);
    if (selection().min_duration == 0) PrintHeld();
  }

  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override {
    TellOffCpu(time.tsc, depth + 1);
    const Shown shown = shown_.back();
    if (shown.selected && (shown.printed || (Lasted(call.tsc, time.tsc) && !IsAhead(time.tsc)))) {
      PrintHeld();
      if (ShowsExit(how, time.tsc)) RenderExit(call, depth, how, instructions, time);
      TakeHeld();
    } else if (shown.selected) {
      held_.CutAt(shown.text);
    }
    if (ahead_.size() == shown_.size()) ahead_.pop_back();
    shown_.pop_back();
    if (root_ == depth) root_ = kNoRoot;
  }

  bool WantsCallNumbers() const override { return true; }

  // Times off the CPU are the gap's, in the kernel, and stand behind it.
  void OnGap(const UntracedGap& gap, size_t depth) override {
    TellOffCpu(gap.begin_tsc, depth);
    uint64_t end = gap.came_back ? gap.end_tsc : 0;
    if (!gap.came_back && ends_) end = UINT64_MAX;
    if (Shows(depth, gap.begin_tsc, gap.end_tsc)) {
      PrintHeld();
      // It may come back on another CPU.
      if (!off_cpu_.empty() && off_cpu_.front().begin <= end)
        columns().ShowCpu(off_cpu_.front().from_cpu);
      RenderGap(gap, LevelOf(depth));
      columns().ShowStreamCpu();
      TakeHeld();
    }
    TellOffCpu(end, depth, true);
  }

  // Prints the off-CPU times that are over at that time, or that began before it.
  void TellOffCpu(uint64_t tsc, size_t depth, bool begun = false) {
    while (!off_cpu_.empty() && (begun ? off_cpu_.front().begin : off_cpu_.front().end) <= tsc) {
      const OffCpu time = off_cpu_.front();
      off_cpu_.pop_front();
      if (!Shows(depth, time.begin, time.end)) continue;
      PrintHeld();
      RenderOffCpu(time, LevelOf(depth));
      TakeHeld();
    }
  }

  // Whether what lasted from the one time to the other in a call of that depth is shown.
  bool Shows(size_t depth, uint64_t begin, uint64_t end) const {
    const bool in_selected = !selection().function || root_ != kNoRoot;
    return in_selected && LevelOf(depth) < selection().max_depth && Lasted(begin, end) &&
           !IsAhead(std::max(begin, end)) && !IsBehind(begin);
  }
  size_t LevelOf(size_t depth) const { return depth - (root_ == kNoRoot ? 0 : root_); }

  // A value that the program wrote is printed at its place; with --min-duration, in the calls that
  // lasted long enough.
  void PrintValue(const TraceEvent& event) {
    TellOffCpu(event.tsc, shown_.size());
    const bool in_selected = !selection().function || root_ != kNoRoot;
    const size_t level = LevelOf(shown_.size());
    if (!in_selected || level >= selection().max_depth) return;
    if (IsAhead(event.tsc) || IsBehind(event.tsc)) return;
    const bool waits = selection().min_duration != 0 && !shown_.empty() && !shown_.back().printed;
    if (!waits) PrintHeld();
    RenderValue(event, level);
    if (!waits) TakeHeld();
  }

  // Held-back entries belong to the stack that is left, and go with it.
  void OnSwitch(uint32_t stack) override {
    if (!shown_.empty() && ahead_.size() < shown_.size()) PrintHeld();
    held_.Clear();
    views_[on_] = {std::move(shown_), std::move(ahead_), root_};
    View view = std::move(views_[stack]);
    views_.erase(stack);
    shown_ = std::move(view.shown);
    ahead_ = std::move(view.ahead);
    root_ = view.root;
    on_ = stack;
  }

  const CallSelection& selection() const { return settings().calls; }

  void Select(Shown& shown, const Call& call, size_t depth) {
    const CallSelection& wanted = selection();
    if (match_ && root_ == kNoRoot && (*match_)(call.space, call.entry_ip)) {
      root_ = depth;
      if (wanted.function_ran != nullptr)
        wanted.function_ran->store(true, std::memory_order_relaxed);
    }
    if (match_ && root_ == kNoRoot) return;
    shown.level = depth - (root_ == kNoRoot ? 0 : root_);
    shown.selected = shown.level < wanted.max_depth;
  }

  bool Lasted(uint64_t begin, uint64_t end) const {
    if (selection().min_duration == 0) return true;
    return begin != 0 && end != 0 &&
           DurationOf(*settings().trace.clock, begin, end) >= selection().min_duration;
  }

  void TakeHeld() {
    listing().Append(held_);
    held_.Clear();
  }
  void PrintHeld() {
    if (!ahead_.empty()) PrintAhead();
    TakeHeld();
    // Those further out were printed before those further in.
    for (size_t i = shown_.size(); i > 0 && !shown_[i - 1].printed; --i) {
      shown_[i - 1].printed = true;
      shown_[i - 1].text = 0;
    }
  }

  // Prints the calls that the span lies in; the text held back was entered in them.
  void PrintAhead() {
    ListingText inside = std::exchange(held_, {});
    held_.keeps_marks = inside.keeps_marks;
    for (size_t i = 0; i < ahead_.size(); ++i)
      if (shown_[i].selected) RenderEntry(ahead_[i], shown_[i]);
    ahead_.clear();
    TakeHeld();
    held_ = std::move(inside);
  }

  std::string_view NameAt(const AddressSpace* space, uint64_t ip) {
    const auto symbol = SymbolAt(space, ip);
    return symbol ? symbol->function : std::string_view("[unknown]");
  }
  std::optional<Symbolizer::Symbol> SymbolAt(const AddressSpace* space, uint64_t ip) {
    if (space == nullptr || ip == 0) return std::nullopt;
    return settings().names.symbolizer->Find(*space, ip);
  }

  void BeginText(const Instant& instant, size_t level) {
    held_.Mark(instant.tsc);
    held_.text += ColumnsAt(instant);
    // Beyond that a line would be mostly blanks, and a deep recursion's listing nothing else.
    held_.text.append(2 * std::min(level, kMostIndented), ' ');
    if (level > kMostIndented)
      fmt::format_to(std::back_inserter(held_.text), FMT_COMPILE("[{}] "), level);
  }
  // Objects of all types share the thread's columns.
  void BeginJson(const Instant& instant, std::string_view type, size_t level) {
    constexpr std::string_view kOld = "{\"type\":\"call\"";
    held_.Mark(instant.tsc);
    held_.text += "{\"type\":\"";
    held_.text += type;
    held_.text += '"';
    held_.text += std::string_view(ColumnsAt(instant)).substr(kOld.size());
    JsonLine::Continue(held_.text).Number("depth", level);
  }

  void RenderEntry(const Call& call, const Shown& shown) {
    if (settings().layout.json) return RenderEntryJson(call, shown);
    BeginText({call.tsc, call.bounds}, shown.level);
    held_.text += "-> ";
    AppendName(shown.name);
    if (call.entry != CallEntry::kCall) {
      held_.text += " (";
      held_.text += CallEntryWord(call.entry);
      held_.text += ')';
    }
    if (call.site != 0) AppendSite(call);
    held_.text += '\n';
  }

  // Few functions are called most; their names stay where they are.
  void AppendName(std::string_view name) {
    std::string_view& slot = plain_[reinterpret_cast<uintptr_t>(name.data()) % kPlainNames];
    if (slot.data() != name.data() || slot.size() != name.size()) {
      if (!IsPlain(name)) return AppendPrintable(held_.text, name);
      slot = name;
    }
    held_.text += name;
  }

  void AppendSite(const Call& call) {
    held_.text += " from ";
    if (const auto symbol = SymbolAt(call.space, call.site)) {
      AppendName(symbol->name);
      fmt::format_to(std::back_inserter(held_.text), FMT_COMPILE("+{:#x}"), symbol->offset);
    } else {
      fmt::format_to(std::back_inserter(held_.text), "{:x}", call.site);
    }
    if (!settings().layout.fields.Has(Field::kSrcline)) return;
    held_.text += " at ";
    SourceColumns::AppendShort(held_.text, source_.At(call.space, call.site));
  }

  void RenderEntryJson(const Call& call, const Shown& shown) {
    BeginJson({call.tsc, call.bounds}, "call", shown.level);
    JsonLine line = JsonLine::Continue(held_.text);
    AppendFunction(line, call);
    line.Text("entry", CallEntryWord(call.entry));
    if (call.site == 0) {
      line.Null("site").Null("caller").Null("caller_offset");
    } else {
      line.Hex("site", call.site);
      const auto symbol = SymbolAt(call.space, call.site);
      if (symbol)
        line.Text("caller", symbol->name).Number("caller_offset", symbol->offset);
      else
        line.Null("caller").Null("caller_offset");
    }
    if (settings().layout.fields.Has(Field::kSrcline))
      SourceColumns::AppendLine(line, source_.At(call.site == 0 ? nullptr : call.space, call.site));
    line.End();
  }

  void AppendFunction(JsonLine& line, const Call& call) {
    const auto symbol = SymbolAt(call.space, call.entry_ip);
    if (symbol)
      line.Text("function", symbol->name);
    else
      line.Null("function");
    line.Hex("ip", call.entry_ip);
  }

  void RenderExit(const Call& call, size_t, CallExit how, uint64_t instructions,
                  const ExitTime& time) {
    const Shown& shown = shown_.back();
    if (settings().layout.json) {
      BeginJson({time.tsc, time.bounds}, "return", shown.level);
      JsonLine line = JsonLine::Continue(held_.text);
      AppendFunction(line, call);
      line.Text("exit", CallExitWord(how)).Number("instructions", instructions);
      line.Number("self", call.self);
      AppendDuration(line, call.tsc, time.tsc);
      line.End();
      return;
    }
    BeginText({time.tsc, time.bounds}, shown.level);
    held_.text += "<- ";
    AppendName(shown.name);
    if (how != CallExit::kReturn) {
      held_.text += " (";
      held_.text += CallExitWord(how);
      held_.text += ')';
    }
    fmt::format_to(std::back_inserter(held_.text), FMT_COMPILE(" {} instructions"), instructions);
    AppendDuration(call.tsc, time.tsc);
    held_.text += '\n';
  }

  void RenderGap(const UntracedGap& gap, size_t level) {
    const bool filtered = gap.cause == UntracedGap::Cause::kFilter;
    if (settings().layout.json) {
      BeginJson({gap.begin_tsc, gap.begin_bounds}, filtered ? "untraced" : "kernel", level);
      JsonLine line = JsonLine::Continue(held_.text);
      line.Text("cause", GapCauseWord(gap.cause)).Hex("ip", gap.site);
      if (!filtered) AppendKernelCall(line, gap);
      line.Bool("resumed", gap.came_back);
      AppendDuration(line, gap.begin_tsc, gap.end_tsc);
      line.End();
      return;
    }
    BeginText({gap.begin_tsc, gap.begin_bounds}, level);
    held_.text += filtered ? "[not traced] " : "[kernel] ";
    held_.text += GapCauseWord(gap.cause);
    if (gap.cause == UntracedGap::Cause::kSystemCall) AppendKernelCall(gap);
    if (!gap.came_back) held_.text += ", not seen to end";
    AppendDuration(gap.begin_tsc, gap.end_tsc);
    held_.text += '\n';
  }

  // Appends the call's name; if the code does not show it, the calling function often does.
  void AppendKernelCall(const UntracedGap& gap) {
    const std::string_view name = NameOfCall(gap);
    if (!name.empty()) {
      held_.text += ' ';
      held_.text += name;
    } else if (gap.call_number) {
      fmt::format_to(std::back_inserter(held_.text), FMT_COMPILE(" {}"), *gap.call_number);
    } else if (const auto symbol = SymbolAt(gap.space, gap.site)) {
      held_.text += " in ";
      AppendName(symbol->name);
      fmt::format_to(std::back_inserter(held_.text), FMT_COMPILE("+{:#x}"), symbol->offset);
    }
  }
  void AppendKernelCall(JsonLine& line, const UntracedGap& gap) {
    if (const auto symbol = SymbolAt(gap.space, gap.site))
      line.Text("caller", symbol->name).Number("caller_offset", symbol->offset);
    else
      line.Null("caller").Null("caller_offset");
    if (const std::string_view name = NameOfCall(gap); !name.empty())
      line.Text("system_call", name);
    else
      line.Null("system_call");
    if (gap.call_number)
      line.Number("number", *gap.call_number);
    else
      line.Null("number");
  }

  void RenderOffCpu(const OffCpu& time, size_t level) {
    columns().ShowCpu(time.from_cpu);
    if (settings().layout.json) {
      BeginJson({time.begin, {}}, "off-cpu", level);
      JsonLine line = JsonLine::Continue(held_.text);
      line.Number("until", settings().trace.clock->Value(time.end)).Number("until_tsc", time.end);
      line.Number("next_cpu", time.to_cpu);
      AppendDuration(line, time.begin, time.end);
      line.End();
    } else {
      BeginText({time.begin, {}}, level);
      held_.text += "[off-cpu] until ";
      settings().trace.clock->AppendText(held_.text, time.end);
      if (time.to_cpu != time.from_cpu)
        fmt::format_to(std::back_inserter(held_.text), FMT_COMPILE(" on cpu {}"), time.to_cpu);
      AppendDuration(time.begin, time.end);
      held_.text += '\n';
    }
    columns().ShowStreamCpu();
  }

  void RenderValue(const TraceEvent& event, size_t level) {
    const bool has_ip = event.has_ip || event.ip != 0;
    if (settings().layout.json) {
      BeginJson({event.tsc, event.bounds}, "ptwrite", level);
      JsonLine line = JsonLine::Continue(held_.text);
      if (has_ip)
        line.Hex("ip", event.ip);
      else
        line.Null("ip");
      line.Hex("value", event.value).Number("size", event.extra).End();
      return;
    }
    BeginText({event.tsc, event.bounds}, level);
    fmt::format_to(std::back_inserter(held_.text), "[ptwrite] {:#x}", event.value);
    if (has_ip) fmt::format_to(std::back_inserter(held_.text), " at {:x}", event.ip);
    held_.text += '\n';
  }

  void AppendDuration(uint64_t begin, uint64_t end) {
    cli::AppendDuration(held_.text, *settings().trace.clock, begin, end);
  }
  void AppendDuration(JsonLine& line, uint64_t begin, uint64_t end) const {
    cli::AppendDuration(line, *settings().trace.clock, begin, end);
  }

  static constexpr size_t kMostIndented = 64;
  static constexpr size_t kNoRoot = SIZE_MAX;

  CallStack stack_{*settings().names.functions, *this};
  std::optional<FunctionMatch> match_;  // --function
  SourceColumns source_{settings()};
  std::optional<ExecTimes> execs_;  // of the thread's process
  bool goes_on_ = false;            // behind the span
  std::deque<OffCpu> off_cpu_;      // of the thread, not printed yet
  bool ends_ = false;               // nothing follows in the thread's flow
  std::vector<Shown> shown_;        // the stack's calls
  // The first of them that were entered ahead of the span, and are not printed. Few of the calls
  // entered there still run when the span begins: only those are put into words.
  std::vector<Call> ahead_;
  size_t root_ = kNoRoot;  // depth of the outermost call that --function names
  // The views of stacks that the thread has left, by number.
  struct View {
    std::vector<Shown> shown;
    std::vector<Call> ahead;
    size_t root = kNoRoot;
  };
  std::unordered_map<uint32_t, View> views_;
  uint32_t on_ = 0;
  ListingText held_;  // rendered, not yet printed

  static constexpr size_t kPlainNames = 509;
  std::vector<std::string_view> plain_{kPlainNames};  // names that are printed as they are
};

}  // namespace

std::unique_ptr<FlowPrinter> MakeCallPrinter(const PrintSettings& settings) {
  return std::make_unique<CallPrinter>(settings);
}

}  // namespace flowback::cli
