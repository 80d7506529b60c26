// SPDX-License-Identifier: MIT
// `monitor` commands: what only a replay can be asked.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/hex.h"
#include "base/text_words.h"
#include "replay/gdb/gdb_server.h"

namespace flowback::gdb {
namespace {

constexpr size_t kShown = 20;

}  // namespace

const std::vector<GdbServer::Command>& GdbServer::Commands() {
  static const std::vector<Command> commands = {
      {"help", "this list", &GdbServer::MonitorHelp},
      {"when", "which instruction the thread stands at, and the time", &GdbServer::MonitorWhen},
      {"goto",
       "goto MOMENT: go to a time (12.5, 10ms, 50%, +1ms after the begin, -1ms before the end), to "
       "the thread's instruction #N, to begin, end, crash, spike:N",
       &GdbServer::MonitorGoto},
      {"visits", "visits [ADDRESS]: how often the thread came there, before now and in all",
       &GdbServer::MonitorVisits},
      {"events", "what happened next in the thread between instructions",
       &GdbServer::MonitorEvents},
      {"stop-at",
       "stop-at [threads] [EVENT...]: stop runs also where threads begin and end, or at events of "
       "these kinds; nothing named: no more",
       &GdbServer::MonitorStopAt},
      {"losses", "where the thread's flow is missing, and why", &GdbServer::MonitorLosses},
      {"pass",
       "pass [losses] [unknown]: do not stop where the flow was lost, or where what ran between "
       "two "
       "samples is unknown; nothing named: stop there again",
       &GdbServer::MonitorPass},
      {"backtrace",
       "backtrace [THREAD]: the thread's call stack, for debuggers that cannot show it themselves",
       &GdbServer::MonitorBacktrace},
      {"who", "what every thread does now", &GdbServer::MonitorWho},
      {"why", "why REGISTER|ADDRESS: the instructions that gave it its value",
       &GdbServer::MonitorWhy},
      {"why-unavailable", "why registers and memory have no values",
       &GdbServer::MonitorWhyUnavailable},
  };
  return commands;
}

Replies GdbServer::Monitor(std::string_view rest) {
  const auto line = BytesOfHex(rest);
  const std::string text = line ? MonitorText(std::string(Trimmed(*line))) : std::string();
  monitored_.reset();
  if (!line) return {kRefused};
  // Replies of any length come as output.
  Replies replies;
  constexpr size_t kPart = kMostPacketBytes / 4;
  for (size_t at = 0; at < text.size(); at += kPart)
    replies.push_back("O" + HexOf(std::string_view(text).substr(at, kPart)));
  replies.push_back("OK");
  return replies;
}

Replies GdbServer::MonitorOf(std::string_view rest) {
  bool all = false;
  went_to_.reset();
  monitored_ = TakeThread(rest, all);
  return {monitored_ ? "OK" : kRefused};
}

// "MOMENT;THREAD": the moment is another one after every movement. The thread is the one that the
// last `monitor goto` named; empty: it named none, and the user goes on looking at the same one.
Replies GdbServer::MomentText(std::string_view) {
  const MachineMoment& moment = view_.machine().moment();
  return {fmt::format("{:x}.{:x}.{:x}.{:x}.{:x};{}", moment.order, moment.thread,
                      moment.place.share, moment.place.item, moment.place.within,
                      went_to_ ? IdText(*went_to_) : "")};
}

std::string GdbServer::MonitorText(const std::string& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string name = line.substr(0, end);
  const std::string words(Trimmed(std::string_view(line).substr(end)));
  for (const Command& command : Commands())
    if (name == command.name) return (this->*command.run)(words);
  return fmt::format("flowback: there is no `monitor {}`. `monitor help` lists the commands.\n",
                     name);
}

std::string GdbServer::MonitorHelp(const std::string&) {
  std::string text;
  for (const Command& command : Commands())
    text += fmt::format("monitor {:<16} {}\n", command.name, command.help);
  return text +
         "record instruction-history and record function-call-history list what ran just before; "
         "set record btrace bts buffer-size BYTES says how far back (24 bytes a branch, at most 1 "
         "MB). They end at a loss.\n"
         "Step back with reverse-step, reverse-next, reverse-finish, reverse-continue, "
         "reverse-stepi.\n";
}

std::string GdbServer::MonitorWhen(const std::string&) { return view_.WhenText(general()) + "\n"; }

std::string GdbServer::MonitorGoto(const std::string& words) {
  if (Status status = view_.input().go_to(words, general()); !status)
    return fmt::format("flowback: {}\n  try: {}\n", status.error().message(),
                       status.error().remedy());
  // At a time it would be the next executing thread, which the user did not ask about.
  const bool names_thread = words.starts_with("spike:") || words == "crash";
  if (!names_thread) return view_.WhenText(general()) + "\n";
  went_to_ = view_.machine().current();
  return view_.WhenText(*went_to_) + "\n";
}

std::string GdbServer::MonitorVisits(const std::string& words) {
  uint64_t address = view_.machine().At(general()).pc;
  if (!words.empty()) {
    std::string_view digits = words;
    TakeWord(digits, "0x");
    const auto typed = TakeHex(digits);
    if (!typed || !digits.empty()) return "flowback: visits takes an address, such as 0x401136\n";
    address = *typed;
  }
  const auto count = view_.machine().CountVisits(general(), address, view_.input().keep_on);
  if (!count) return "flowback: interrupted\n";
  return fmt::format(
      "thread {} came to {} {} times, {} of them before now{}\n", view_.NumberOf(general()).tid,
      Hex(address), count->all, count->before,
      HasLosses() || view_.IsSampled() ? "; perhaps more where its flow is missing" : "");
}

bool GdbServer::HasLosses() const {
  return std::ranges::any_of(view_.machine().thread(general()).shares,
                             [](const FlowShare& share) { return share.losses != 0; });
}

std::string GdbServer::MonitorEvents(const std::string&) {
  ReplayedMachine& machine = view_.machine();
  const MachineThread at = machine.At(general());
  ThreadCursor cursor(machine.index(), machine.thread(general()), ThreadCursor::Start::kEnd);
  if (!at.never_executed) cursor.ToInstruction(at.number);
  std::string text;
  for (size_t shown = 0; shown < kShown && cursor.Next(ThreadCursor::Kind::kEvent); ++shown) {
    MachineThread there;
    there.tsc = cursor.tsc();
    text += fmt::format("before #{}, time {}: {}\n", cursor.number(), view_.TimeText(there),
                        view_.EventText(cursor.event()));
  }
  return text.empty() ? "no event follows in this thread\n" : text;
}

namespace {

const std::map<std::string_view, EventKind>& EventKinds() {
  static const std::map<std::string_view, EventKind> kinds = {
#define FLOWBACK_EVENT(name, text, meaning) {text, EventKind::name},
#include "flowback/model/events.def"
#undef FLOWBACK_EVENT
  };
  return kinds;
}

}  // namespace

std::string GdbServer::MonitorStopAt(const std::string& words) {
  bool threads = false;
  std::set<EventKind> events;
  std::istringstream list(words);
  for (std::string word; list >> word;) {
    const auto kind = EventKinds().find(word);
    if (kind != EventKinds().end()) {
      events.insert(kind->second);
    } else if (word == "threads") {
      threads = true;
    } else {
      std::string known = "threads";
      for (const auto& [name, of] : EventKinds()) known += fmt::format(", {}", name);
      return fmt::format("flowback: runs cannot stop at \"{}\"\n  try: {}\n", word, known);
    }
  }
  events_ = std::move(events);
  milestones_.clear();
  if (exec_events_) milestones_.push_back(MilestoneKind::kProgram);
  if (threads)
    milestones_.insert(milestones_.end(), {MilestoneKind::kThreadBegin, MilestoneKind::kThreadEnd});
  return words.empty() ? "runs stop at none of these\n" : fmt::format("runs stop at: {}\n", words);
}

std::string GdbServer::MonitorPass(const std::string& words) {
  bool losses = false;
  bool unknown = false;
  std::istringstream list(words);
  for (std::string word; list >> word;) {
    if (word != "losses" && word != "unknown")
      return fmt::format("flowback: runs cannot pass \"{}\"\n  try: losses, unknown\n", word);
    (word == "losses" ? losses : unknown) = true;
  }
  passes_losses_ = losses;
  passes_unknown_ = unknown;
  return words.empty() ? "runs and steps stop where flow is missing\n"
                       : fmt::format("runs and steps pass: {}\n", words);
}

std::string GdbServer::MonitorLosses(const std::string&) {
  ReplayedMachine& machine = view_.machine();
  ThreadCursor cursor(machine.index(), machine.thread(general()));
  std::string text;
  size_t shown = 0;
  if (cursor.kind() == ThreadCursor::Kind::kLoss || cursor.Next(ThreadCursor::Kind::kLoss)) {
    do {
      text += fmt::format("before #{}: {}\n", cursor.number(), view_.LossText(cursor.loss()));
    } while (++shown < kShown && cursor.Next(ThreadCursor::Kind::kLoss));
  }
  const char* const samples =
      view_.IsSampled() ? "the flow is of samples: what ran between two of them is not known\n"
                        : "";
  if (text.empty()) return *samples != 0 ? samples : "nothing is missing in this thread\n";
  text += samples;
  if (shown == kShown) text += "... more: `flowback decode --as events` lists all\n";
  return text;
}

std::string GdbServer::MonitorBacktrace(const std::string& words) {
  ReplayedMachine& machine = view_.machine();
  size_t thread = general();
  if (!words.empty()) {
    const auto number = Number(words, 10);
    const auto named = number ? view_.ThreadOf(0, static_cast<int64_t>(*number)) : std::nullopt;
    if (!named) return fmt::format("flowback: there is no thread {}\n", words);
    thread = *named;
  }
  MachineThread at = machine.At(thread);
  const auto stack =
      view_.input().stacks.At(machine.index_number(thread),
                              at.never_executed ? machine.thread(thread).instructions : at.number);
  if (!stack) return fmt::format("flowback: {}\n", stack.error().message());
  std::string text;
  const std::vector<StackFrame>& frames = (*stack)->frames;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (i != 0) at.pc = frames[i].address;
    text += fmt::format("#{} {} in {}\n", i, Hex(at.pc), view_.PlaceText(at));
  }
  return text;
}

std::string GdbServer::MonitorWho(const std::string&) {
  std::string text;
  for (size_t thread = 0; thread < view_.machine().size(); ++thread)
    text += fmt::format("{} {}\n", thread == general() ? '*' : ' ', view_.WhenText(thread));
  return text;
}

std::string GdbServer::MonitorWhyUnavailable(const std::string&) {
  return "A branch trace records which instructions ran, and when. It proves the program counter, "
         "the calls that led there, and code and read-only data of the files that ran. It does not "
         "hold other registers or memory. A core dump (--core) has them where the thread died; "
         "before, those have values that follow from the dump and the instructions that ran.\n";
}

}  // namespace flowback::gdb
