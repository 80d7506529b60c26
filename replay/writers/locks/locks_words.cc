// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/linux/kernel_address.h"
#include "base/linux/linux_call_names.h"
#include "replay/locks/lock_functions.h"
#include "replay/writers/locks/locks_view.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
namespace {

std::string WithBrackets(const std::string& function) {
  const bool is_plain = function.find_first_of("([") == std::string::npos;
  return is_plain ? function + "()" : function;
}

// A report has a name many times over, and a hostile file's may be as long as the file.
std::string CutName(std::string_view name) {
  constexpr size_t kMostBytes = 1000;
  if (name.size() <= kMostBytes) return std::string(name);
  size_t end = kMostBytes;
  while (end != 0 && (static_cast<uint8_t>(name[end]) & 0xc0) == 0x80) --end;
  return std::string(name.substr(0, end)) + "...";
}

std::string FileOf(const SourceFrame& frame) { return Printable(CutName(frame.file)); }

std::string SourceOf(const SourceFrame& frame) {
  if (frame.file.empty() || frame.line == 0) return {};
  return fmt::format("{}:{}", FileOf(frame), frame.line);
}

SourcePlace PlaceOf(const LocksView& view, const AddressSpace* space, uint64_t ip) {
  if (space == nullptr || ip == 0 || view.names.lines == nullptr) return {};
  return view.names.lines->Find(*space, ip);
}

CodeWords PlaceWords(const LocksView& view, const AddressSpace* space, uint64_t ip) {
  if (space == nullptr || view.names.symbolizer == nullptr) return WordsOf(view.names, nullptr, ip);
  return WordsOf(view.names, space, ip);
}

// Returns the name of the function as it is recorded, or "" if no symbol covers the address.
std::string SymbolAt(const LocksView& view, const AddressSpace* space, uint64_t ip) {
  if (space == nullptr || view.names.symbolizer == nullptr) return {};
  const auto symbol = view.names.symbolizer->Find(*space, ip);
  return symbol ? std::string(symbol->function) : std::string();
}

// Appends the functions that are inlined around the call, the innermost first, and `function`.
void AppendFrames(const LocksView& view, const AddressSpace* space, uint64_t call,
                  const std::string& function, std::vector<LockCaller>& callers) {
  const CodeWords place = PlaceWords(view, space, call);
  const SourcePlace source = PlaceOf(view, space, call);
  for (size_t i = 0; i + 1 < source.frames.size(); ++i) {
    const SourceFrame& frame = source.frames[i];
    CodeWords words = place;
    words.file = FileOf(frame);
    words.line = frame.line;
    callers.push_back({.function = CutName(frame.function), .place = words, .is_inlined = true});
  }
  CodeWords words = place;
  if (!source.frames.empty() && source.known()) {
    words.file = FileOf(source.frames.back());
    words.line = source.frames.back().line;
  }
  callers.push_back({.function = function, .place = words});
}

// Returns the index of the frame that has the loop: the innermost one around both its first and its
// last instruction. Code inlined into a part of the loop, as a pause, is not the lock.
size_t LoopFrame(const LocksView& view, const LockSite& site, const SourcePlace& first) {
  size_t own = OwnFrame(first);
  if (site.end <= site.address) return own;
  const SourcePlace last = PlaceOf(view, site.space, site.end - 1);
  if (!last.known()) return own;
  size_t common = 0;
  while (common < std::min(first.frames.size(), last.frames.size()) &&
         first.frames[first.frames.size() - 1 - common].function ==
             last.frames[last.frames.size() - 1 - common].function)
    ++common;
  if (common != 0) own = std::max(own, first.frames.size() - common);
  return own;
}

// Quantiles and acquisitions can't be added.
void Add(const LockSums& each, LockSums& all) {
  all.waits += each.waits;
  all.trips += each.trips;
  all.sleeps += each.sleeps;
  all.waiting.time += each.waiting.time;
  all.waiting.lo += each.waiting.lo;
  all.waiting.hi += std::min(each.waiting.hi, UINT64_MAX - all.waiting.hi);
  all.sleeping += each.sleeping;
  all.cycles += each.cycles;
  all.max = std::max(all.max, each.max);
  for (size_t i = 0; i < kWaitStates; ++i) all.states[i] += each.states[i];
}

// Returns the node of the call of the site's function: the innermost one that is made at the
// site's call, else the outermost one.
uint32_t NodeOf(const LockReport& report, const LockSite& site, uint32_t path) {
  const std::vector<InstancePath>& nodes = report.paths.nodes();
  uint32_t found = PathTree::kRoot;
  for (uint32_t at = path; at != PathTree::kRoot; at = nodes[at].parent) {
    if (nodes[at].kind != PathKind::kCall || nodes[at].function != site.function) continue;
    found = at;
    if (nodes[at].site == site.call) return at;
  }
  return found;
}

}  // namespace

LockTotals TotalsOf(const LockReport& report) {
  LockTotals totals;
  for (const LockThread& thread : report.threads) {
    if (thread.spinning + thread.sleeping == 0) continue;
    ++totals.threads;
    totals.life += thread.life();
  }
  for (const LockSums& each : report.site_sums) {
    Add(each, totals.sums);
    if (!IsForWork(report, report.sites[each.site])) totals.lock_waiting += each.waiting.time;
  }
  std::set<uint32_t> threads;
  for (const LockSums& each : report.sums)
    if (each.waits != 0 && !IsForWork(report, report.sites[each.site])) threads.insert(each.thread);
  totals.lock_threads = threads.size();
  for (const uint32_t thread : threads) totals.lock_life += report.threads[thread].life();
  return totals;
}

bool IsForWork(const LockReport& report, const LockSite& site) {
  return site.is_library &&
         LockFunctionOf(FunctionName(report, site.function), IsKernelAddress(site.address)).use ==
             LockUse::kWaits;
}

double WaitShare(uint64_t waiting, uint64_t life) {
  return life == 0 ? 0 : static_cast<double>(waiting) / static_cast<double>(life);
}

std::string SiteWords::Short() const {
  std::string text = WithBrackets(function);
  if (!inlined.empty())
    return fmt::format("{} in {} at {}", WithBrackets(inlined), text, loop.LineOrPlace());
  // What begins a thread says nothing of the lock.
  const bool is_main =
      call.object.starts_with("libc.so") || call.object.starts_with("libstdc++.so");
  const bool has_call = call.place != 0 && !is_main;
  if (call.place != 0 && (is_library || (has_call && (call.has_line() || !loop.has_line()))))
    return fmt::format("{} called at {}", text, call.LineOrPlace());
  return is_library ? text : fmt::format("{} at {}", text, loop.LineOrPlace());
}

SiteWords WordsOf(const LocksView& view, const LockSite& site) {
  SiteWords words{.function = ShortName(FunctionName(*view.report, site.function)),
                  .inlined = {},
                  .caller = ShortName(FunctionName(*view.report, site.caller)),
                  .source = {},
                  .loop_source = {},
                  .call = PlaceWords(view, site.space, site.call),
                  .loop = PlaceWords(view, site.space, site.address),
                  .is_library = site.is_library};
  const SourcePlace loop = PlaceOf(view, site.space, site.address);
  if (loop.known()) {
    const size_t own = LoopFrame(view, site, loop);
    const SourceFrame& frame = loop.frames[own];
    words.loop_source = SourceOf(frame);
    words.loop.file = FileOf(frame);
    words.loop.line = frame.line;
    // Where the loop is in a function that `function` calls, the lock is not inlined.
    const bool is_inside = words.loop.function == words.function;
    if (!site.is_library && is_inside && own + 1 < loop.frames.size())
      words.inlined = ShortName(frame.function);
  }
  const SourcePlace call = PlaceOf(view, site.space, site.call);
  if (call.known()) words.source = SourceOf(call.frames[OwnFrame(call)]);
  if (words.function.empty()) words.function = "code at " + words.loop.LineOrPlace();
  return words;
}

std::vector<LockCaller> CallersOf(const LocksView& view, const LockSite& site, uint32_t path) {
  const LockReport& report = *view.report;
  const std::vector<InstancePath>& nodes = report.paths.nodes();
  std::vector<LockCaller> callers;
  uint32_t at = path < nodes.size() ? NodeOf(report, site, path) : PathTree::kRoot;
  if (at == PathTree::kRoot) {
    if (site.call != 0)
      AppendFrames(view, site.space, site.call, FunctionName(report, site.caller), callers);
    return callers;
  }
  while (at != PathTree::kRoot) {
    const InstancePath& node = nodes[at];
    at = node.parent;
    const bool has_caller = at != PathTree::kRoot && nodes[at].kind == PathKind::kCall;
    const std::string function = has_caller ? FunctionName(report, nodes[at].function)
                                            : SymbolAt(view, node.space, node.site);
    if (function.empty() && !has_caller) break;
    AppendFrames(view, node.space, node.site, function, callers);
  }
  return callers;
}

std::vector<std::string> FunctionsOf(const LocksView& view, uint32_t path) {
  const std::vector<InstancePath>& nodes = view.report->paths.nodes();
  constexpr size_t kMost = 64;
  std::vector<std::string> functions;
  if (path >= nodes.size()) return functions;
  for (uint32_t at = path; at != PathTree::kRoot && functions.size() < kMost;
       at = nodes[at].parent) {
    const InstancePath& node = nodes[at];
    if (node.kind == PathKind::kCall)
      functions.push_back(FunctionName(*view.report, node.function));
    if (node.kind == PathKind::kSystemCall)
      functions.push_back(fmt::format(
          "the system call {}", LinuxCallName(node.function, static_cast<LinuxAbi>(node.abi))));
  }
  return functions;
}

// What keeps it for less than a third of the time is not what the others wait for.
std::string DoingWords(const LocksView& view, const LockHolder& holder) {
  const std::vector<std::string> functions = FunctionsOf(view, holder.path);
  std::string text = functions.empty() ? "" : " in " + ShortName(functions.front());
  const auto keeps = [&](uint64_t time) { return time != 0 && 3 * time >= holder.time; };
  const auto share = [&](uint64_t time) {
    return PercentWords(WaitShare(time, holder.time)) + " of that time";
  };
  if (holder.waits_at != LockHolder::kNoSite && keeps(holder.waiting))
    text += fmt::format(", which itself waited for {} for {}",
                        WordsOf(view, view.report->sites[holder.waits_at]).Short(),
                        share(holder.waiting));
  else if (keeps(holder.preempted))
    text += ", which was preempted for " + share(holder.preempted);
  else if (keeps(holder.off_cpu))
    text += ", which was off the CPU for " + share(holder.off_cpu);
  else
    return text;
  if (holder.convoy > 1)
    text += fmt::format(": a convoy, {} threads waited behind it at once", holder.convoy);
  return text;
}

std::string FunctionName(const LockReport& report, uint32_t function) {
  if (function >= report.functions.size()) return {};
  return CutName(report.functions[function].name);
}

std::string CallerWords(const std::vector<LockCaller>& callers, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(most, callers.size()); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : " <- ",
                        callers[i].function.empty() ? callers[i].place.LineOrPlace()
                                                    : ShortName(callers[i].function));
  return text;
}

std::string_view ThreadName(const LocksView& view, uint32_t thread) {
  const int32_t tid = view.report->threads[thread].tid;
  return tid < 0 ? std::string_view() : view.threads->CommAt(tid, 0).comm;
}

std::string ThreadWords(const LocksView& view, uint32_t thread) {
  const int32_t tid = view.report->threads[thread].tid;
  if (tid < 0) return "an unknown thread";
  const std::string name = NameWords(ThreadName(view, thread), 20);
  return fmt::format("{}{}{}", name, name.empty() ? "thread " : " ", tid);
}

std::string PercentWords(double share) {
  if (share >= 0.0995) return fmt::format("{:.0f} %", 100 * share);
  if (share == 0) return "0 %";
  return share < 0.0005 ? "<0.1 %" : fmt::format("{:.1f} %", 100 * share);
}

std::string_view ReasonWords(const OtherLoop& loop) {
  if (loop.alone) return "its process has no other thread that could end it";
  switch (loop.verdict.reason) {
    case LoopReason::kNone:
      return "nothing speaks against a wait";
    case LoopReason::kStores:
      return "it writes to memory";
    case LoopReason::kChangesAddress:
      return "each trip reads from another address";
    case LoopReason::kCounts:
      return "its condition depends on what the trip itself changes, as a counter";
    case LoopReason::kReadsNothing:
      return "its condition depends on nothing that another thread could write";
    case LoopReason::kEndsByItself:
      return "its own atomic operation ends it";
    case LoopReason::kReadsClock:
      return "its condition depends on a clock, random numbers or a device";
    case LoopReason::kUnknownCode:
      return "an instruction whose effects are not known decides";
    case LoopReason::kTooLong:
      return "a trip has more instructions than are looked at";
    case LoopReason::kSystemCall:
      return "what the kernel returns decides, as where input is polled";
  }
  return {};
}

const char* Name(WaitState state) {
  switch (state) {
    case WaitState::kWhole:
      return "whole";
    case WaitState::kBegunBefore:
      return "begun-before";
    case WaitState::kCutByEnd:
      return "cut-by-end";
    case WaitState::kLost:
      return "lost";
  }
  return "";
}

const char* Name(LoopKind kind) {
  switch (kind) {
    case LoopKind::kWait:
      return "wait";
    case LoopKind::kRetry:
      return "retry";
    case LoopKind::kDelay:
      return "delay";
    case LoopKind::kWork:
      return "work";
    case LoopKind::kDoubtful:
      return "doubtful";
  }
  return "";
}

bool MayWait(const OtherLoop& loop) {
  return loop.verdict.kind == LoopKind::kDoubtful && !loop.alone;
}

}  // namespace flowback
