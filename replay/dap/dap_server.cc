// SPDX-License-Identifier: MIT
#include "replay/dap/dap_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/hex.h"
#include "replay/session/stack_naming.h"

namespace flowback::dap {
namespace {

Json Capabilities() {
  return {{"supportsConfigurationDoneRequest", true},
          {"supportsFunctionBreakpoints", true},
          {"supportsHitConditionalBreakpoints", true},
          {"supportsLogPoints", true},
          {"supportsInstructionBreakpoints", true},
          {"supportsStepBack", true},
          {"supportsSteppingGranularity", true},
          {"supportsSingleThreadExecutionRequests", true},
          {"supportsGotoTargetsRequest", true},
          {"supportsDisassembleRequest", true},
          {"supportsLoadedSourcesRequest", true},
          {"supportsExceptionInfoRequest", true},
          {"supportsCancelRequest", true},
          {"supportsTerminateRequest", true},
          {"supportsRestartRequest", true},
          {"supportsBreakpointLocationsRequest", true},
          {"supportsCompletionsRequest", true},
          {"supportsModulesRequest", true},
          {"supportsReadMemoryRequest", true},
          {"supportsEvaluateForHovers", true},
          {"supportsDelayedStackTraceLoading", true},
          {"exceptionBreakpointFilters",
           {{{"filter", "loss"},
             {"label", "Missing flow"},
             {"description", "Stop where the trace has no record of what ran"},
             {"default", true}},
            {{"filter", "syscall"},
             {"label", "System calls"},
             {"description", "Stop before each system call"},
             {"default", false}}}}};
}

}  // namespace

std::optional<uint64_t> AddressIn(std::string_view text) {
  gdb::TakeWord(text, "0x");
  const auto address = gdb::TakeHex(text);
  return text.empty() ? address : std::nullopt;
}

DapServer::Opened::Opened(const gdb::ServerInput& given)
    : input(given),
      view(given),
      monitor(given),
      steps(given.session, given.machine, given.stacks),
      places(given.session, given.images),
      names(StackNamesOf(given.session)),
      locals(given.session, view.values()),
      first(given.machine.moment()) {}

DapServer::DapServer(Open open, Send send, KeepOn keep_on)
    : open_(std::move(open)), send_(std::move(send)), keep_on_(std::move(keep_on)) {}

const std::vector<DapServer::Handler>& DapServer::Handlers() {
  static const std::vector<Handler> handlers = {
      {"initialize", &DapServer::Initialize, false},
      {"launch", &DapServer::Launch, false},
      {"attach", &DapServer::Launch, false},
      {"configurationDone", &DapServer::ConfigurationDone},
      {"disconnect", &DapServer::Disconnect, false},
      {"terminate", &DapServer::Terminate, false},
      {"restart", &DapServer::Restart},
      {"cancel", &DapServer::Cancel, false},
      {"evaluate", &DapServer::Evaluate},
      {"continue", &DapServer::ContinueOn},
      {"reverseContinue", &DapServer::ContinueBack},
      {"next", &DapServer::Next},
      {"stepIn", &DapServer::StepIn},
      {"stepOut", &DapServer::StepOut},
      {"stepBack", &DapServer::StepBack},
      {"pause", &DapServer::Pause},
      {"goto", &DapServer::GoTo},
      {"gotoTargets", &DapServer::GoToTargets},
      {"setBreakpoints", &DapServer::SetBreakpoints},
      {"setFunctionBreakpoints", &DapServer::SetFunctionBreakpoints},
      {"setInstructionBreakpoints", &DapServer::SetInstructionBreakpoints},
      {"setExceptionBreakpoints", &DapServer::SetExceptionBreakpoints},
      {"threads", &DapServer::Threads},
      {"stackTrace", &DapServer::StackTrace},
      {"scopes", &DapServer::Scopes},
      {"variables", &DapServer::Variables},
      {"exceptionInfo", &DapServer::ExceptionInfo},
      {"disassemble", &DapServer::Disassemble},
      {"loadedSources", &DapServer::LoadedSources},
      {"source", &DapServer::Source},
      {"breakpointLocations", &DapServer::BreakpointLocations},
      {"completions", &DapServer::Completions},
      {"modules", &DapServer::Modules},
      {"readMemory", &DapServer::ReadMemory},
  };
  return handlers;
}

void DapServer::Handle(const Json& message) {
  if (TextIn(message, "type") != "request") return;  // nothing was asked of the client
  current_ = NumberIn(message, "seq");
  const std::string command = TextIn(message, "command");
  const auto handler = std::ranges::find(Handlers(), command, &Handler::command);
  if (handler == Handlers().end())
    return Refuse(message,
                  Error(ErrorCode::kUnsupported,
                        fmt::format("flowback does not support the request '{}'", command)));
  if (handler->needs_recording && !opened_)
    return Refuse(message, Error(ErrorCode::kUsage,
                                 fmt::format("'{}' comes before a recording is open", command))
                               .Remedy("send launch or attach first"));
  Result<Answer> answer = (this->*handler->answer)(MemberOf(message, "arguments"));
  if (!answer) return Refuse(message, answer.error());
  Respond(message, std::move(answer->body));
  if (answer->then) answer->then();
}

void DapServer::Complain(const std::string& problem) {
  SendEvent("output", {{"category", "stderr"}, {"output", "flowback: " + problem + "\n"}});
}

void DapServer::SendEvent(std::string_view event, Json body) {
  send_({{"seq", next_message_++}, {"type", "event"}, {"event", event}, {"body", std::move(body)}});
}

void DapServer::Respond(const Json& request, Json body) {
  Json response = {{"seq", next_message_++},
                   {"type", "response"},
                   {"request_seq", NumberIn(request, "seq")},
                   {"success", true},
                   {"command", TextIn(request, "command")}};
  if (!body.is_null()) response["body"] = std::move(body);
  send_(response);
}

void DapServer::Refuse(const Json& request, const Error& error) {
  send_(Refusal(request, error, next_message_++));
}

Result<DapServer::Answer> DapServer::Initialize(const Json& arguments) {
  shows_progress_ = FlagIn(arguments, "supportsProgressReporting");
  lines_from_1_ = FlagIn(arguments, "linesStartAt1", true);
  columns_from_1_ = FlagIn(arguments, "columnsStartAt1", true);
  return Answer{.body = Capabilities()};
}

// The client sends its breakpoints once it has heard `initialized`; what they mean, the recording
// says.
Result<DapServer::Answer> DapServer::Launch(const Json& arguments) {
  if (opened_)
    return Fail(Error(ErrorCode::kUsage, "a recording is open")
                    .Remedy("disconnect, and begin another session"));
  const Result<const gdb::ServerInput*> input =
      open_({.recording = TextIn(arguments, "recording"), .at = TextIn(arguments, "at")});
  if (!input) return Fail(input.error());
  opened_.emplace(**input);
  return Answer{.then = [this] { SendEvent("initialized", Json::object()); }};
}

Result<DapServer::Answer> DapServer::ConfigurationDone(const Json& /*arguments*/) {
  return Answer{.then = [this] { StoppedFirst(); }};
}

uint32_t DapServer::LineIn(const Json& arguments) const {
  const int64_t most = std::numeric_limits<int32_t>::max();
  return static_cast<uint32_t>(std::clamp<int64_t>(NumberIn(arguments, "line"), 0, most) +
                               (lines_from_1_ ? 0 : 1));
}

Result<size_t> DapServer::ThreadIn(const Json& arguments) const {
  const int64_t id = NumberIn(arguments, "threadId", -1);
  const auto thread = opened_->view.ThreadOf(0, id);
  if (thread) return *thread;
  return Fail(ErrorCode::kUsage, fmt::format("no thread {} was recorded", id));
}

}  // namespace flowback::dap
