// SPDX-License-Identifier: MIT
// Waits as one JSON object, schema flowback.locks/1.
#include <fmt/format.h>

#include "replay/writers/locks/lock_changes.h"
#include "replay/writers/locks/lock_index.h"
#include "replay/writers/locks/locks_view.h"
#include "replay/writers/text/json_parts.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

void AddTextOrNull(JsonLine& line, std::string_view name, std::string_view text) {
  if (text.empty())
    line.Null(name);
  else
    line.Text(name, text);
}

void AddStates(const LockSums& sums, JsonLine& line) {
  const auto count = [&](WaitState state) { return sums.states[static_cast<size_t>(state)]; };
  line.Raw("states", JsonObject([&](JsonLine& states) {
             states.Number("whole", count(WaitState::kWhole));
             states.Number("begun_before", count(WaitState::kBegunBefore));
             states.Number("cut_by_end", count(WaitState::kCutByEnd));
             states.Number("lost", count(WaitState::kLost));
           }));
}

void AddWaiting(const LockSums& sums, JsonLine& line) {
  line.Number("waits", sums.waits).Number("trips", sums.trips).Number("sleeps", sums.sleeps);
  line.Number("waiting", sums.waiting.time).Number("waiting_lo", sums.waiting.lo);
  if (sums.waiting.hi == UINT64_MAX)
    line.Null("waiting_hi");
  else
    line.Number("waiting_hi", sums.waiting.hi);
  line.Number("spinning", sums.waiting.time - std::min(sums.sleeping, sums.waiting.time));
  line.Number("sleeping", sums.sleeping).Number("cycles", sums.cycles);
}

void AddSums(const LockSums& sums, JsonLine& line) {
  if (sums.acquisitions)
    line.Number("acquisitions", *sums.acquisitions);
  else
    line.Null("acquisitions");
  AddWaiting(sums, line);
  line.Number("median", sums.median).Number("p90", sums.p90).Number("p99", sums.p99);
  line.Number("max", sums.max);
  AddStates(sums, line);
}

class JsonPrinter {
 public:
  explicit JsonPrinter(const LocksView& view)
      : view_(view), report_(*view.report), index_(report_) {}

  void Print(JsonLine& line) const;

 private:
  void AddThread(uint32_t thread, JsonLine& line) const {
    line.Number("tid", report_.threads[thread].tid).Text("name", ThreadName(view_, thread));
  }
  std::string WaitsJson() const;
  std::string SiteJson(uint32_t number) const;
  std::string HoldersJson(uint32_t site) const;
  std::string SiteLocksJson(uint32_t site) const;
  std::string LockJson(uint32_t instance) const;
  void AddLocks(JsonLine& line) const;
  std::string PathsJson(uint32_t site) const;
  std::string ThreadJson(uint32_t number) const;
  std::string WaitJson(const LockWait& wait) const;
  std::string LoopJson(const OtherLoop& loop) const;
  static std::string CallersJson(const std::vector<LockCaller>& callers) {
    return JsonArray(callers, [](const LockCaller& each) { return JsonText(each.function); });
  }
  // Returns the innermost ones alone: many waits have the same.
  static std::string FewCallersJson(std::vector<LockCaller> callers) {
    constexpr size_t kMost = 64;
    if (callers.size() > kMost) callers.resize(kMost);
    return CallersJson(callers);
  }
  const LocksView& view_;
  const LockReport& report_;
  const LockIndex index_;
};

void JsonPrinter::Print(JsonLine& line) const {
  line.Text("schema", "flowback.locks/1").Text("input", view_.input);
  line.Bool("emulated", report_.emulated).Bool("nanoseconds", report_.nanoseconds);
  line.Bool("has_times", report_.has_times);
  line.Number("begin", report_.begin).Number("end", report_.end);
  line.Raw("sentences", JsonArray(LockSentences(view_), JsonText)).Raw("waits", WaitsJson());
  line.Raw("sites", JsonArray(index_.by_waiting, [&](uint32_t site) { return SiteJson(site); }));
  std::vector<uint32_t> threads;
  for (uint32_t i = 0; i < report_.threads.size(); ++i) threads.push_back(i);
  line.Raw("threads", JsonArray(threads, [&](uint32_t i) { return ThreadJson(i); }));
  const auto wait = [&](const LockWait& each) { return WaitJson(each); };
  line.Raw("worst", JsonArray(report_.worst, wait)).Raw("open", JsonArray(report_.open, wait));
  line.Raw("deadlocks", JsonArray(report_.cycles, [](const LockCycle& cycle) {
             return JsonArray(cycle.waits, [](uint32_t each) { return std::to_string(each); });
           }));
  line.Raw("loops",
           JsonArray(report_.loops, [&](const OtherLoop& loop) { return LoopJson(loop); }));
  if (report_.has_addresses) AddLocks(line);
  if (view_.changes == nullptr)
    line.Null("changes");
  else
    line.Raw("changes", ChangesJson(*view_.changes));
}

std::string JsonPrinter::WaitsJson() const {
  const LockTotals totals = TotalsOf(report_);
  return JsonObject([&](JsonLine& line) {
    line.Number("threads", totals.threads).Number("life", totals.life);
    line.Raw("share", fmt::format("{:.6f}", WaitShare(totals.sums.waiting.time, totals.life)));
    line.Raw("locks", JsonObject([&](JsonLine& locks) {
               locks.Number("threads", totals.lock_threads).Number("life", totals.lock_life);
               locks.Number("waiting", totals.lock_waiting);
               locks.Raw("share",
                         fmt::format("{:.6f}", WaitShare(totals.lock_waiting, totals.lock_life)));
             }));
    AddWaiting(totals.sums, line);
    line.Number("max", totals.sums.max);
    AddStates(totals.sums, line);
  });
}

std::string JsonPrinter::SiteJson(uint32_t number) const {
  const LockSite& site = report_.sites[number];
  const SiteWords words = WordsOf(view_, site);
  const LockWait* const longest = index_.sites[number].longest;
  return JsonObject([&](JsonLine& line) {
    line.Text("function", FunctionName(report_, site.function)).Text("file", words.loop.code);
    line.Hex("address", site.address).Hex("place", words.loop.place);
    if (site.call == 0)
      line.Null("call");
    else
      line.Hex("call", site.call);
    AddTextOrNull(line, "caller", FunctionName(report_, site.caller));
    AddTextOrNull(line, "source", words.source);
    line.Raw("callers", FewCallersJson(CallersOf(
                            view_, site, longest == nullptr ? PathTree::kRoot : longest->path)));
    AddTextOrNull(line, "inlined", words.inlined);
    AddTextOrNull(line, "loop_source", words.loop_source);
    line.Bool("library", site.is_library).Bool("for_work", IsForWork(report_, site));
    AddSums(report_.site_sums[number], line);
    line.Raw("threads", JsonArray(index_.sites[number].threads, [&](const LockSums* sums) {
               return JsonObject([&](JsonLine& thread) {
                 thread.Number("pid", report_.threads[sums->thread].pid);
                 AddThread(sums->thread, thread);
                 AddSums(*sums, thread);
               });
             }));
    line.Raw("holders", HoldersJson(number));
    if (report_.has_addresses) line.Raw("locks", SiteLocksJson(number));
    if (view_.paths) line.Raw("paths", PathsJson(number));
  });
}

std::string JsonPrinter::HoldersJson(uint32_t site) const {
  return JsonArray(index_.sites[site].holders, [&](const LockHolder* holder) {
    return JsonObject([&](JsonLine& line) {
      AddThread(holder->thread, line);
      line.Number("waits", holder->waits).Number("time", holder->time);
      line.Number("certain", holder->certain);
      line.Number("waiting", holder->waiting);
      if (holder->waits_at == LockHolder::kNoSite)
        line.Null("waits_at");
      else
        line.Number("waits_at", index_.sites[holder->waits_at].rank);
      line.Number("off_cpu", holder->off_cpu).Number("preempted", holder->preempted);
      line.Number("convoy", holder->convoy);
      line.Raw("callers", JsonArray(FunctionsOf(view_, holder->path), JsonText));
    });
  });
}

void JsonPrinter::AddLocks(JsonLine& line) const {
  std::vector<uint32_t> locks;
  for (uint32_t i = 0; i < report_.instances.size(); ++i) locks.push_back(i);
  line.Raw("locks", JsonArray(locks, [&](uint32_t lock) { return LockJson(lock); }));
  line.Raw("shared_lines", JsonArray(report_.shared_lines, [](const std::vector<uint32_t>& shared) {
             return JsonArray(shared, [](uint32_t lock) { return std::to_string(lock); });
           }));
}

std::string JsonPrinter::LockJson(uint32_t instance) const {
  const LockInstance& lock = report_.instances[instance];
  const SiteWords words =
      WordsOf(view_, LockSite{.space = lock.space, .address = PlaceOfFirstUse(lock)});
  return JsonObject([&](JsonLine& line) {
    line.Number("pid", lock.pid).Hex("address", lock.address);
    line.Text("name", InstanceName(view_, instance)).Bool("for_work", lock.is_event);
    AddTextOrNull(line, "file", lock.file);
    AddTextOrNull(line, "symbol", lock.symbol);
    if (lock.symbol.empty())
      line.Null("symbol_offset");
    else
      line.Number("symbol_offset", lock.symbol_offset);
    line.Raw("threads", JsonArray(lock.threads, [&](uint32_t thread) {
               return std::to_string(report_.threads[thread].tid);
             }));
    line.Raw("first_use", JsonObject([&](JsonLine& use) {
               AddThread(lock.thread, use);
               use.Number("time", lock.time).Hex("address", lock.ip);
               AddTextOrNull(use, "source", words.loop_source);
               use.Raw("callers", JsonArray(FunctionsOf(view_, lock.path), JsonText));
             }));
  });
}

std::string JsonPrinter::SiteLocksJson(uint32_t site) const {
  return JsonArray(index_.sites[site].instances, [&](const LockSums* sums) {
    return JsonObject([&](JsonLine& line) {
      line.Number("lock", sums->instance);
      AddSums(*sums, line);
    });
  });
}

std::string JsonPrinter::PathsJson(uint32_t site) const {
  return JsonArray(index_.sites[site].paths, [&](const LockSums* sums) {
    const std::vector<LockCaller> callers = CallersOf(view_, report_.sites[site], sums->path);
    return JsonObject([&](JsonLine& line) {
      line.Raw("callers", CallersJson(callers));
      line.Raw("sources", JsonArray(callers, [](const LockCaller& each) {
                 return JsonText(each.place.LineOrPlace());
               }));
      AddSums(*sums, line);
    });
  });
}

std::string JsonPrinter::ThreadJson(uint32_t number) const {
  const LockThread& thread = report_.threads[number];
  return JsonObject([&](JsonLine& line) {
    line.Number("pid", thread.pid);
    AddThread(number, line);
    line.Number("begin", thread.begin).Number("end", thread.end);
    line.Number("instructions", thread.instructions);
    line.Number("spinning", thread.spinning).Number("sleeping", thread.sleeping);
    line.Raw("share",
             fmt::format("{:.6f}", WaitShare(thread.spinning + thread.sleeping, thread.life())));
  });
}

std::string JsonPrinter::WaitJson(const LockWait& wait) const {
  return JsonObject([&](JsonLine& line) {
    line.Number("site", index_.sites[wait.site].rank);
    AddThread(wait.thread, line);
    AddMoment(line, "begin", wait.begin);
    AddMoment(line, "end", wait.end);
    line.Number("first_instruction", wait.position).Number("time", wait.time());
    line.Number("sleeping", wait.sleeping).Number("trips", wait.trips);
    line.Number("sleeps", wait.sleeps).Number("cycles", wait.cycles);
    line.Text("state", Name(wait.state));
    if (wait.holder == LockWait::kNoThread)
      line.Null("holder");
    else
      line.Number("holder", report_.threads[wait.holder].tid);
    line.Bool("certain", wait.is_certain);
    if (report_.has_addresses && wait.instance == LockWait::kNoInstance) line.Null("lock");
    if (wait.instance != LockWait::kNoInstance) line.Number("lock", wait.instance);
    line.Raw("callers", FewCallersJson(CallersOf(view_, report_.sites[wait.site], wait.path)));
  });
}

std::string JsonPrinter::LoopJson(const OtherLoop& loop) const {
  const SiteWords words = WordsOf(
      view_, LockSite{.function = loop.function, .space = loop.space, .address = loop.address});
  return JsonObject([&](JsonLine& line) {
    line.Text("function", FunctionName(report_, loop.function)).Text("file", words.loop.code);
    line.Hex("address", loop.address);
    AddTextOrNull(line, "source", words.loop_source);
    line.Number("trips", loop.trips).Text("kind", Name(loop.verdict.kind));
    line.Text("reason", ReasonWords(loop)).Bool("alone", loop.alone);
  });
}

}  // namespace

std::string LocksJson(const LocksView& view) {
  return JsonObject([&](JsonLine& line) { JsonPrinter(view).Print(line); });
}

void WriteLocksJson(const LocksView& view, TextSink& sink) { sink.Write(LocksJson(view) + '\n'); }

}  // namespace flowback
