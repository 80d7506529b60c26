// SPDX-License-Identifier: MIT
// Answers an editor's requests about a replayed machine in the Debug Adapter Protocol. It has no
// socket: the caller hands messages in and sends the answers.
//
//   DapServer server(open, [](const Json& message) { Send(Framed(message)); });
//   server.Handle(message);                          // the response and events go to Send
//
// A run is answered at once and reports its end in an event, as the protocol has it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/replay/thread_stack.h"
#include "replay/calls/stack_names.h"
#include "replay/dap/breakable_places.h"
#include "replay/dap/breakpoints.h"
#include "replay/dap/listed_function.h"
#include "replay/dap/messages.h"
#include "replay/debug/source/source_steps.h"
#include "replay/debug/values/local_values.h"
#include "replay/gdb/gdb_server.h"
#include "replay/gdb/machine_view.h"

namespace flowback::dap {

// The value of what has none.
inline constexpr char kUnavailable[] = "<unavailable>";

// What the client wants to replay.
struct Wanted {
  std::string recording;  // empty: what the command line names
  std::string at;         // a moment; empty: as the command line has it
};

// Used by one thread.
class DapServer {
 public:
  // Opens the recording; the result must outlive the server.
  using Open = std::function<Result<const gdb::ServerInput*>(const Wanted&)>;
  using Send = std::function<void(const Json& message)>;

  // `keep_on`: asked during long runs; false ends them.
  DapServer(Open open, Send send, KeepOn keep_on);

  void Handle(const Json& message);
  // A client took back the request before it was handled.
  void HandleCancelled(const Json& message);
  // Whether a message that came during a run ends the run.
  bool EndsRun(const Json& message) const;
  // Something arrived that is no message.
  void Complain(const std::string& problem);
  // The client is done.
  bool is_over() const { return is_over_; }

 private:
  // The response's body, and a step to take once it has been sent.
  struct Answer {
    Json body = nullptr;
    std::function<void()> then{};
  };
  struct Handler {
    std::string_view command;
    Result<Answer> (DapServer::*answer)(const Json& arguments);
    bool needs_recording = true;
  };
  static const std::vector<Handler>& Handlers();

  // State that exists once a recording is open.
  struct Opened {
    explicit Opened(const gdb::ServerInput& given);

    const gdb::ServerInput& input;
    gdb::MachineView view;
    gdb::GdbServer monitor;  // whose commands an editor's console takes, too
    SourceSteps steps;
    BreakablePlaces places;
    StackNames names;
    LocalValues locals;
    MachineMoment first;  // where the launch stood
    // The client's latest state.
    const AddressSpace* space = nullptr;
    std::string program{};
    std::set<size_t> there{};  // threads
  };
  // A frame that the client knows; valid until the machine moves.
  struct Frame {
    size_t thread = 0;
    uint64_t address = 0;
    const AddressSpace* space = nullptr;
    bool is_innermost = false;
    bool is_exact = false;  // as StackFrame has it
    size_t number = 0;      // of the thread's frames, without inlined ones
    size_t level = 0;       // as LocalValues::Place has it
  };
  // A source that the client asks for by its number.
  struct GivenSource {
    std::string file{};  // as lines name it; empty: it is a function's instructions
    const AddressSpace* space = nullptr;
    ListedFunction listed{};
  };
  struct Target {
    std::vector<uint64_t> addresses;
    uint32_t line = 0;
    Direction direction{};
  };

  // dap_server.cc: the session.
  Result<Answer> Initialize(const Json& arguments);
  Result<Answer> Launch(const Json& arguments);
  Result<Answer> ConfigurationDone(const Json& arguments);
  void SendEvent(std::string_view event, Json body);
  void Respond(const Json& request, Json body);
  void Refuse(const Json& request, const Error& error);

  // dap_session.cc
  Result<Answer> Terminate(const Json& arguments);
  Result<Answer> Disconnect(const Json& arguments);
  Result<Answer> Restart(const Json& arguments);
  Result<Answer> Cancel(const Json& arguments);
  Result<Answer> BreakpointLocations(const Json& arguments);
  Result<Answer> Completions(const Json& arguments);
  Result<Answer> Modules(const Json& arguments);
  Result<Answer> ReadMemory(const Json& arguments);
  void StoppedFirst();

  // dap_console.cc
  struct Shown {
    std::optional<uint64_t> value{};
  };
  Result<Answer> Evaluate(const Json& arguments);
  Result<Answer> RunCommand(std::string text, size_t thread);
  std::string Monitored(const std::string& words);
  std::vector<std::string> ConsoleWords();
  std::optional<Shown> RegisterNamed(std::string_view text, const Frame& frame);
  std::optional<LocalValue> VariableNamed(std::string_view text, const Frame& frame);
  Frame FrameIn(const Json& arguments);
  std::string WhyUnavailable();

  // dap_running.cc
  Result<Answer> ContinueOn(const Json& arguments);
  Result<Answer> ContinueBack(const Json& arguments);
  Result<Answer> Next(const Json& arguments);
  Result<Answer> StepIn(const Json& arguments);
  Result<Answer> StepOut(const Json& arguments);
  Result<Answer> StepBack(const Json& arguments);
  Result<Answer> Pause(const Json& arguments);
  Result<Answer> GoTo(const Json& arguments);
  Result<Answer> GoToTargets(const Json& arguments);
  struct Movement {
    std::function<Result<MachineStop>(const StopMarks& marks, const KeepOn& keep_on)> move;
    Direction direction{};
    std::optional<size_t> steps{};  // the thread that makes one step; empty: it is a run
  };
  using Clock = std::chrono::steady_clock;
  Answer Run(Json body, Movement movement);
  void TellProgress(Clock::time_point begin, Clock::time_point& told);
  Result<MachineStop> RunToStop(const Movement& movement, const KeepOn& keep_on);
  Result<MachineStop> StepToStop(const Movement& movement, const KeepOn& keep_on);
  Result<Answer> RunThread(const Json& arguments, Direction direction);
  Result<Answer> StepThread(const Json& arguments, CallsOnTheWay calls);
  bool Visit(uint64_t address, size_t thread);
  std::string LogText(const Breakpoint& breakpoint, size_t thread);
  void TellStop(const MachineStop& stop);
  void TellVisit(const MachineStop& stop);
  void Stopped(std::string_view reason, size_t thread, const std::string& description,
               Json body = Json::object());
  StopMarks Marks() const;

  // dap_events.cc
  void TellChanges();
  void TellProgram();

  // dap_breakpoints.cc
  Result<Answer> SetBreakpoints(const Json& arguments);
  Result<Answer> SetFunctionBreakpoints(const Json& arguments);
  Result<Answer> SetInstructionBreakpoints(const Json& arguments);
  Result<Answer> SetExceptionBreakpoints(const Json& arguments);
  Json Told(const Json& wanted, Breakpoint& breakpoint, const std::string& place, uint64_t& budget);
  std::string NeverRanText(const std::string& place) const;
  std::string NoFunctionText(const AddressSpace& space, const std::string& name);
  Result<Answer> SetInListing(const Json& arguments, const ListedFunction& listed,
                              const std::string& key);
  const AddressSpace* Space();

  // dap_looking.cc: the state at the current place.
  Result<Answer> Threads(const Json& arguments);
  Result<Answer> StackTrace(const Json& arguments);
  Result<Answer> Scopes(const Json& arguments);
  Result<Answer> Variables(const Json& arguments);
  Result<Answer> ExceptionInfo(const Json& arguments);
  void AddFrames(size_t thread, const StackFrame& frame, size_t number, Json& frames);
  Json FrameOf(const StackFrame& frame, const NamedFrame& named, const Frame& known);
  Json PositionOf(size_t thread);
  Json RegistersOf(const Frame& frame);
  std::vector<LocalValue> LocalsOf(const Frame& frame);
  std::optional<uint64_t> RegisterOf(const Frame& frame, std::string_view name);

  // dap_sources.cc
  Json SourceOf(std::string_view file);
  bool HasSource(std::string_view file);
  std::string PlaceOf(std::string_view file);
  void ShowInstructions(const Frame& frame, std::string_view file, Json& told);
  int64_t ReferenceTo(GivenSource source);
  const GivenSource* GivenOf(int64_t reference) const;

  // dap_code.cc: what the recording's files hold.
  Result<Answer> Disassemble(const Json& arguments);
  Json InstructionOf(const AddressSpace& space, uint64_t address, const std::string& text);
  Result<Answer> LoadedSources(const Json& arguments);
  Result<Answer> Source(const Json& arguments);

  Result<size_t> ThreadIn(const Json& arguments) const;
  // The line of a source, counted from 1.
  uint32_t LineIn(const Json& arguments) const;
  void Forget() { frames_.clear(); }

  const Open open_;
  const Send send_;
  const KeepOn keep_on_;
  std::optional<Opened> opened_;
  Breakpoints breakpoints_;
  std::vector<Frame> frames_;
  std::vector<std::pair<Breakpoints::Sort, int64_t>> stopping_;  // those of the last visit
  std::vector<Target> targets_;
  std::vector<GivenSource> given_;
  size_t listed_bytes_ = 0;                           // of their texts
  std::map<std::string, std::string> source_places_;  // that PlaceOf found
  int64_t next_message_ = 1;
  int64_t next_progress_ = 1;
  int64_t current_ = 0;     // the number of the request that is being handled
  std::string progress_{};  // known to the client and not ended
  bool stops_at_losses_ = true;
  bool stops_at_calls_ = false;  // system calls
  bool shows_progress_ = false;
  bool lines_from_1_ = true;
  bool columns_from_1_ = true;
  bool was_interrupted_ = false;  // by a pause that has not been answered yet
  bool is_over_ = false;
};

// An address as the protocol writes it; empty: it is none.
std::optional<uint64_t> AddressIn(std::string_view text);

}  // namespace flowback::dap
