// SPDX-License-Identifier: MIT
#include "replay/gdb/gdb_server.h"

#include <algorithm>

#include "replay/gdb/gdb_documents.h"

namespace flowback::gdb {
namespace {

std::string HexWord(uint64_t value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[value & 15]);
    value >>= 4;
  } while (value != 0);
  return digits;
}

}  // namespace

GdbServer::GdbServer(const ServerInput& input)
    : view_(input),
      files_(input.session, [this] { return KernelFiles(view_); }),
      mode_(input.machine.At(input.machine.current()).instruction.mode),
      registers_(RegistersOf(mode_)),
      general_(input.machine.current()) {}

// The first that fits counts, so longer words stand before their beginnings.
const std::vector<GdbServer::Handler>& GdbServer::Handlers() {
  static const std::vector<Handler> handlers = {
      {"qSupported", &GdbServer::Supported},
      {"QStartNoAckMode", &GdbServer::StopAcknowledging},
      {"QCatchSyscalls:", &GdbServer::CatchCalls},
      {"Qbtrace:", &GdbServer::SetHistory},
      {"Qbtrace-conf:bts:size=", &GdbServer::SizeHistory},
      {"qXfer:", &GdbServer::Transfer},
      {"qfThreadInfo", &GdbServer::FirstThreads},
      {"qsThreadInfo", &GdbServer::MoreThreads},
      {"QThreadSuffixSupported", &GdbServer::MeetLldb},
      {"qHostInfo", &GdbServer::HostInfo},
      {"qProcessInfo", &GdbServer::ProcessInfo},
      {"qThreadExtraInfo,", &GdbServer::ThreadExtra},
      {"qAttached", &GdbServer::Attached},
      {"qSymbol:", &GdbServer::Acknowledge},
      {"qRcmd,", &GdbServer::Monitor},
      {"qFlowbackMonitorOf:", &GdbServer::MonitorOf},
      {"qFlowbackMoment", &GdbServer::MomentText},
      {"qFlowbackFrames:", &GdbServer::Frames},
      {"qFlowbackName:", &GdbServer::NameAt},
      {"qFlowbackNeverRan:", &GdbServer::WhetherNeverRan},
      {"vCont?", &GdbServer::ResumeActions},
      {"vCont;", &GdbServer::Resume},
      {"vCtrlC", &GdbServer::Acknowledge},
      {"vKill;", &GdbServer::Kill},
      {"vFile:", &GdbServer::OpenFile},
      {"bs", &GdbServer::StepBack},
      {"bc", &GdbServer::ContinueBack},
      {"?", &GdbServer::Reason},
      {"H", &GdbServer::SetThread},
      {"T", &GdbServer::ThreadAlive},
      {"D", &GdbServer::Detach},
      {"k", &GdbServer::Kill},
      {"g", &GdbServer::ReadRegisters},
      {"p", &GdbServer::ReadRegister},
      {"m", &GdbServer::ReadMemory},
      {"G", &GdbServer::Refuse},
      {"P", &GdbServer::Refuse},
      {"M", &GdbServer::Refuse},
      {"Z", &GdbServer::SetBreakpoint},
      {"z", &GdbServer::ClearBreakpoint},
      {"s", &GdbServer::StepOnce},
      {"c", &GdbServer::ContinueOn},
  };
  return handlers;
}

Replies GdbServer::Answer(std::string_view packet) {
  if (packet == "qC") return CurrentThread({});
  for (const Handler& handler : Handlers())
    if (packet.starts_with(handler.word))
      return (this->*handler.answer)(packet.substr(handler.word.size()));
  return {""};
}

Replies GdbServer::Reason(std::string_view) {
  general_ = view_.machine().current();
  const bool died = view_.DiesHereOf(general_, view_.machine().At(general_)).has_value();
  death_told_ = false;
  return {StopText({.reason = died ? MachineStop::Reason::kEnd : MachineStop::Reason::kStep,
                    .thread = general_})};
}

std::string GdbServer::IdText(size_t thread) const {
  const ThreadNumber number = view_.NumberOf(thread);
  const std::string tid = HexWord(static_cast<uint64_t>(number.tid));
  return multiprocess_ ? "p" + HexWord(static_cast<uint64_t>(number.pid)) + "." + tid : tid;
}

std::optional<size_t> GdbServer::TakeThread(std::string_view& text, bool& all) const {
  std::optional<uint64_t> pid;
  if (TakeWord(text, "p")) {
    if (TakeWord(text, "-1")) {
      TakeWord(text, ".-1");
      all = true;
      return std::nullopt;
    }
    pid = TakeHex(text);
    if (!pid) return std::nullopt;
    if (!TakeWord(text, ".")) {
      all = true;  // of the process, which is the only one
      return std::nullopt;
    }
  }
  all = TakeWord(text, "-1");
  const auto tid = all ? std::nullopt : TakeHex(text);
  all = all || tid == 0;
  if (all || !tid) return std::nullopt;
  return view_.ThreadOf(static_cast<int64_t>(pid.value_or(0)), static_cast<int64_t>(*tid));
}

Replies GdbServer::SetThread(std::string_view rest) {
  if (rest.empty()) return {kRefused};
  const char what = rest.front();
  rest.remove_prefix(1);
  bool all = false;
  const auto thread = TakeThread(rest, all);
  if (!thread && !all) return {kRefused};
  if (what == 'g' && thread) general_ = *thread;
  if (what == 'c') resumed_ = thread;
  return {"OK"};
}

Replies GdbServer::ThreadAlive(std::string_view rest) {
  bool all = false;
  asked_for_ = TakeThread(rest, all);
  return {asked_for_ ? "OK" : kRefused};
}

Replies GdbServer::Detach(std::string_view) {
  is_over_ = true;
  return {"OK"};
}

Replies GdbServer::Kill(std::string_view) {
  is_over_ = true;
  return {"OK"};
}

Replies GdbServer::Acknowledge(std::string_view) { return {"OK"}; }

Replies GdbServer::StopAcknowledging(std::string_view) {
  no_acknowledgements_ = true;
  return {"OK"};
}

// The recorded past cannot be changed.
Replies GdbServer::Refuse(std::string_view) { return {kRefused}; }

namespace {

// "0,address,kind"; conditions behind it are gdb's own to evaluate. Empty: of another sort.
std::optional<std::pair<char, uint64_t>> BreakpointOf(std::string_view rest) {
  if (rest.size() < 3 || (rest[0] != '0' && rest[0] != '1') || rest[1] != ',') return std::nullopt;
  const char sort = rest[0];
  rest.remove_prefix(2);
  const auto address = TakeHex(rest);
  if (!address) return std::nullopt;
  return std::pair(sort, *address);
}

}  // namespace

// "0", "1" for all, or "1;NUMBER;NUMBER...".
Replies GdbServer::CatchCalls(std::string_view rest) {
  constexpr size_t kMostCalls = 4096;
  if (rest == "0") {
    calls_.reset();
    return {"OK"};
  }
  if (!TakeWord(rest, "1")) return {kRefused};
  std::vector<uint32_t> calls;
  while (!rest.empty()) {
    const auto number = TakeWord(rest, ";") ? TakeHex(rest) : std::nullopt;
    if (!number || *number > UINT32_MAX || calls.size() == kMostCalls) return {kRefused};
    calls.push_back(static_cast<uint32_t>(*number));
  }
  calls_ = std::move(calls);
  return {"OK"};
}

Replies GdbServer::SetBreakpoint(std::string_view rest) {
  constexpr size_t kMostBreakpoints = 4096;
  const auto breakpoint = BreakpointOf(rest);
  if (!breakpoint) return {""};
  if (breakpoints_.size() >= kMostBreakpoints) return {kRefused};
  breakpoints_.insert(*breakpoint);
  return {"OK"};
}

Replies GdbServer::ClearBreakpoint(std::string_view rest) {
  const auto breakpoint = BreakpointOf(rest);
  if (!breakpoint) return {""};
  breakpoints_.erase(*breakpoint);
  return {"OK"};
}

}  // namespace flowback::gdb
