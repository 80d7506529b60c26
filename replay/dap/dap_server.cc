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

// What an editor's console prints is what gdb would have printed.
std::string TextOf(const gdb::Replies& replies) {
  std::string text;
  for (const std::string& reply : replies)
    if (reply.starts_with('O') && reply != "OK")
      text += gdb::BytesOfHex(std::string_view(reply).substr(1)).value_or("");
  return text;
}

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
      names(StackNamesOf(given.session)) {}

DapServer::DapServer(Open open, Send send, KeepOn keep_on)
    : open_(std::move(open)), send_(std::move(send)), keep_on_(std::move(keep_on)) {}

const std::vector<DapServer::Handler>& DapServer::Handlers() {
  static const std::vector<Handler> handlers = {
      {"initialize", &DapServer::Initialize, false},
      {"launch", &DapServer::Launch, false},
      {"attach", &DapServer::Launch, false},
      {"configurationDone", &DapServer::ConfigurationDone},
      {"disconnect", &DapServer::Disconnect, false},
      {"terminate", &DapServer::Disconnect, false},
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
  };
  return handlers;
}

void DapServer::Handle(const Json& message) {
  if (TextIn(message, "type") != "request") return;  // nothing was asked of the client
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
  std::string text = error.message();
  if (!error.remedy().empty()) text += ": " + error.remedy();
  send_({{"seq", next_message_++},
         {"type", "response"},
         {"request_seq", NumberIn(request, "seq")},
         {"success", false},
         {"command", TextIn(request, "command")},
         {"message", error.message()},
         {"body", {{"error", {{"id", 1}, {"format", text}, {"showUser", true}}}}}});
}

Result<DapServer::Answer> DapServer::Initialize(const Json& arguments) {
  shows_progress_ = FlagIn(arguments, "supportsProgressReporting");
  lines_from_1_ = FlagIn(arguments, "linesStartAt1", true);
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
  return Answer{.then = [this] {
    const size_t thread = opened_->view.machine().current();
    const MachineThread at = opened_->view.machine().At(thread);
    const bool is_last = at.number + 1 >= opened_->view.machine().thread(thread).instructions;
    const bool died = is_last && opened_->view.KilledBy(thread);
    Stopped(died ? "exception" : "entry", thread, opened_->view.WhenText(thread));
  }};
}

Result<DapServer::Answer> DapServer::Disconnect(const Json& /*arguments*/) {
  is_over_ = true;
  return Answer{.then = [this] { SendEvent("terminated", Json::object()); }};
}

// The run that it was to end has ended by the time that this is answered.
Result<DapServer::Answer> DapServer::Cancel(const Json& /*arguments*/) { return Answer(); }

// The console's commands. Expressions of the program have no values.
Result<DapServer::Answer> DapServer::Evaluate(const Json& arguments) {
  std::string text = TextIn(arguments, "expression");
  text.erase(0, std::min(text.find_first_not_of(" \t\n"), text.size()));
  if (constexpr std::string_view kWord = "monitor "; text.starts_with(kWord))
    text.erase(0, kWord.size());
  const std::string context = TextIn(arguments, "context");
  if (context == "hover" || context == "watch" || context == "variables")
    return Fail(ErrorCode::kUnsupported,
                "unavailable: the recording holds which instructions ran, and no values");
  const int64_t id = NumberIn(arguments, "frameId", -1);
  size_t thread = opened_->view.machine().current();
  if (id >= 0 && static_cast<size_t>(id) < frames_.size()) thread = frames_[id].thread;
  const gdb::ThreadNumber number = opened_->view.NumberOf(thread);
  opened_->monitor.Answer(fmt::format("Hgp{:x}.{:x}", number.pid, number.tid));
  const MachineMoment before = opened_->view.machine().moment();
  const std::string answer = TextOf(opened_->monitor.Answer("qRcmd," + gdb::HexOf(text)));
  const bool moves = !(before == opened_->view.machine().moment());
  if (moves) Forget();
  return Answer{.body = {{"result", answer}, {"variablesReference", 0}}, .then = [this, moves] {
                  if (!moves) return;
                  const size_t now = opened_->view.machine().current();
                  Stopped("goto", now, opened_->view.WhenText(now));
                }};
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
