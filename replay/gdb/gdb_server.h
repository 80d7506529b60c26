// SPDX-License-Identifier: MIT
// Answers gdb's packets about a replayed machine. It has no socket: the caller hands packets in and
// sends the answers.
//
//   GdbServer server(input);
//   for (const std::string& packet : server.Answer("qSupported:...")) Send(Framed(packet));
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/gdb/gdb_files.h"
#include "replay/gdb/gdb_packets.h"
#include "replay/gdb/machine_view.h"
#include "replay/gdb/target_description.h"

namespace flowback::gdb {

using Replies = std::vector<std::string>;

// An error that gdb shows as a number.
inline constexpr char kRefused[] = "E01";

// Belongs to one client. Used by one thread.
class GdbServer {
 public:
  // `input` must outlive it. REQUIRES: the machine has threads.
  explicit GdbServer(const ServerInput& input);

  // What to send for a packet, in its order. An empty reply says that the packet is not known.
  Replies Answer(std::string_view packet);
  // Ctrl-C came while nothing ran. gdb may make many short runs for one command, so this ends the
  // next one before it begins, if that comes soon.
  void Interrupt() { interrupted_ = std::chrono::steady_clock::now(); }
  // The client wants no more acknowledgements from the next packet on.
  bool no_acknowledgements() const { return no_acknowledgements_; }
  // The client is done.
  bool is_over() const { return is_over_; }

 private:
  struct Handler {
    std::string_view word;
    Replies (GdbServer::*answer)(std::string_view rest);
  };
  static const std::vector<Handler>& Handlers();

  // gdb_server.cc: what the session of the client is about.
  Replies Reason(std::string_view rest);
  Replies SetThread(std::string_view rest);
  Replies ThreadAlive(std::string_view rest);
  Replies Detach(std::string_view rest);
  Replies Kill(std::string_view rest);
  Replies Acknowledge(std::string_view rest);
  Replies StopAcknowledging(std::string_view rest);
  Replies Refuse(std::string_view rest);
  Replies CatchCalls(std::string_view rest);
  Replies SetBreakpoint(std::string_view rest);
  Replies ClearBreakpoint(std::string_view rest);

  // gdb_values.cc: registers, memory, the flow's frames.
  Replies ReadRegisters(std::string_view rest);
  Replies ReadRegister(std::string_view rest);
  Replies ReadMemory(std::string_view rest);
  Replies Frames(std::string_view rest);
  Replies NameAt(std::string_view rest);
  Replies WhetherNeverRan(std::string_view rest);
  std::string RegisterText(const Register& one, const MachineThread& at);
  bool MustRefuse(size_t number, const MachineThread& at);

  // gdb_queries.cc
  Replies Supported(std::string_view rest);
  Replies CurrentThread(std::string_view rest);
  Replies FirstThreads(std::string_view rest);
  Replies MoreThreads(std::string_view rest);
  Replies ThreadExtra(std::string_view rest);
  Replies Attached(std::string_view rest);
  Replies Transfer(std::string_view rest);
  // A document that gdb reads with qXfer. Empty: it has no such annex.
  struct Object {
    std::string_view name;
    std::optional<std::string> (GdbServer::*read)(std::string_view annex);
  };
  static const std::vector<Object>& Objects();
  const std::string* Read(std::string_view object, std::string_view annex, bool anew);
  std::optional<std::string> Features(std::string_view annex);
  std::optional<std::string> Libraries(std::string_view annex);
  std::optional<std::string> ProgramFile(std::string_view annex);
  std::optional<std::string> Auxiliary(std::string_view annex);
  std::optional<std::string> Threads(std::string_view annex);
  std::optional<std::string> SignalInfo(std::string_view annex);

  // lldb_packets.cc
  Replies MeetLldb(std::string_view rest);
  Replies HostInfo(std::string_view rest);
  Replies ProcessInfo(std::string_view rest);
  std::string LldbReason(const MachineStop& stop) const;

  // gdb_history.cc
  Replies SetHistory(std::string_view rest);
  Replies SizeHistory(std::string_view rest);
  std::optional<std::string> HistorySettings(std::string_view annex);
  std::optional<std::string> History(std::string_view annex);

  // gdb_running.cc
  Replies ResumeActions(std::string_view rest);
  Replies Resume(std::string_view rest);
  Replies StepOnce(std::string_view rest);
  Replies ContinueOn(std::string_view rest);
  Replies StepBack(std::string_view rest);
  Replies ContinueBack(std::string_view rest);
  Replies Stopped(const MachineStop& stop);
  Replies SteppedTo(const MachineStop& stop);
  size_t Stepper() const { return resumed_.value_or(asked_for_.value_or(general_)); }
  // The stop of a movement that ends before it begins. Empty: it may begin.
  std::optional<Replies> StopBefore(size_t thread);
  Replies RunStep(size_t thread, Direction direction, ReplayedMachine::Others others);
  Replies RunTo(Direction direction, std::optional<size_t> only);
  std::string StopText(const MachineStop& stop);
  StopMarks Marks() const;
  void TakeMode();
  std::vector<std::string> Remarks(const MachineStop& stop) const;
  std::string MilestoneText(const MachineStop& stop) const;

  // gdb_monitor.cc: `monitor` of the user.
  Replies Monitor(std::string_view rest);
  Replies MonitorOf(std::string_view rest);
  Replies MomentText(std::string_view rest);
  std::string MonitorText(const std::string& line);
  std::string MonitorHelp(const std::string& words);
  std::string MonitorWhen(const std::string& words);
  std::string MonitorGoto(const std::string& words);
  std::string MonitorEvents(const std::string& words);
  std::string MonitorLosses(const std::string& words);
  std::string MonitorPass(const std::string& words);
  std::string MonitorVisits(const std::string& words);
  bool HasLosses() const;  // the thread's flow
  std::string MonitorBacktrace(const std::string& words);
  std::string MonitorStopAt(const std::string& words);
  std::string MonitorWho(const std::string& words);
  std::string MonitorWhyUnavailable(const std::string& words);
  std::string MonitorWhy(const std::string& words);  // gdb_why.cc
  struct Command {
    std::string_view name;
    std::string_view help;
    std::string (GdbServer::*run)(const std::string& words);
  };
  static const std::vector<Command>& Commands();

  Replies OpenFile(std::string_view rest) { return {files_.Answer(rest)}; }

  std::string IdText(size_t thread) const;
  // Takes a thread's number from the front. Empty: bad, or none such; `all` is set for -1 and 0.
  std::optional<size_t> TakeThread(std::string_view& text, bool& all) const;
  // The thread that registers are asked of; during a `monitor` command the one that it is about.
  size_t general() const { return monitored_.value_or(general_); }

  MachineView view_;
  GdbFiles files_;
  CodeMode mode_;
  std::vector<Register> registers_;
  std::optional<std::chrono::steady_clock::time_point> interrupted_;
  size_t general_ = 0;  // by Hg, or that stopped last: the client changes it, and nobody else
  // The thread that the next `monitor` command is about. gdb does not say which one its user looks
  // at: where it knows the registers of that one, it last asked for those of another.
  std::optional<size_t> monitored_;
  std::optional<size_t> went_to_;  // the thread that the last `monitor goto` named
  std::optional<size_t> resumed_;  // by Hc; empty: all
  // Asked for with T since the last stop. Before gdb goes on with the step of one thread while all
  // of them may run, it asks whether that one is alive, and nothing else shows which one it means.
  std::optional<size_t> asked_for_;
  size_t ends_told_ = 0;  // steps in a row that found the thread at its end
  std::set<std::pair<char, uint64_t>> breakpoints_;  // '0' or '1', address
  std::optional<std::vector<uint32_t>> calls_;       // as StopMarks::calls
  bool multiprocess_ = false;
  bool software_breaks_ = false;  // the client understands them
  bool hardware_breaks_ = false;
  bool exec_events_ = false;
  bool is_lldb_ = false;
  bool was_asked_for_register_ = false;    // one alone
  std::vector<MilestoneKind> milestones_;  // that stop a run
  std::set<EventKind> events_;             // of `monitor stop-at`
  bool passes_losses_ = false;             // runs and steps do not stop there
  bool passes_unknown_ = false;
  bool no_acknowledgements_ = false;
  bool is_over_ = false;
  // A step came to another program. gdb reads that one's files, and then goes on as if it had not
  // been stepping: unless its user sees the stop first, the next movement is none.
  bool exec_by_step_ = false;
  bool death_told_ = false;   // the last stop was the signal that killed the thread
  bool has_history_ = false;  // asked for with Qbtrace
  uint64_t history_bytes_ = uint64_t{64} << 10;
  MachineMoment history_moment_;   // when a history was sent last
  std::set<size_t> history_told_;  // of these threads, at that moment
  std::string list_of_threads_;    // that qsThreadInfo goes on with
  // The document that is read in parts.
  struct Reading {
    std::string name;  // object and annex
    std::string text;
  };
  Reading reading_;
};

}  // namespace flowback::gdb
