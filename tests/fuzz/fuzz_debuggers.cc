// SPDX-License-Identifier: MIT
// What gdb and editors may send: packets, messages, and requests with any arguments. Each is
// answered or refused, and the machine still stands at a place of the recording.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "flowback/session.h"
#include "replay/dap/dap_server.h"
#include "replay/gdb/gdb_server.h"
#include "tests/support/places.h"

namespace {

using namespace flowback;

// A small recording that is opened once.
struct Replayed {
  Replayed()
      : session(*Session::Open(SourceFolder() + "/tests/recordings/branches.data")),
        index(**session.Index()),
        machine(index, {0}),
        stacks(session, index, IndexCache()),
        input{.session = session,
              .machine = machine,
              .stacks = stacks,
              .images = images,
              .core = nullptr,
              .go_to = [this](const std::string& word, size_t thread) -> Status {
                if (machine.ToInstruction(thread, word.size())) return {};
                return Fail(ErrorCode::kUsage, "no such instruction");
              },
              .keep_on = [] { return true; }} {}

  Session session;
  FlowIndex& index;
  ReplayedMachine machine;
  ReplayedStacks stacks;
  ImageMemory images;
  gdb::ServerInput input;
};

void AskAsGdb(Replayed& replayed, std::string_view bytes) {
  gdb::GdbServer server(replayed.input);
  gdb::GdbPacketReader reader;
  reader.set_checks(false);
  reader.Add(bytes);
  while (const auto received = reader.Next())
    if (received->kind == gdb::Received::Kind::kPacket) server.Answer(received->packet);
  // Packets without their frames, one a line: frames are hard to come upon.
  for (size_t begin = 0; begin < bytes.size() && !server.is_over();) {
    const size_t end = std::min(bytes.find('\n', begin), bytes.size());
    for (const std::string& reply : server.Answer(bytes.substr(begin, end - begin)))
      if (gdb::Framed(reply).empty()) std::abort();
    begin = end + 1;
  }
}

void AskAsEditor(Replayed& replayed, std::string_view bytes) {
  constexpr std::array<const char*, 34> kCommands = {"initialize",
                                                     "launch",
                                                     "configurationDone",
                                                     "evaluate",
                                                     "continue",
                                                     "reverseContinue",
                                                     "next",
                                                     "stepIn",
                                                     "stepOut",
                                                     "stepBack",
                                                     "pause",
                                                     "goto",
                                                     "gotoTargets",
                                                     "setBreakpoints",
                                                     "setFunctionBreakpoints",
                                                     "setInstructionBreakpoints",
                                                     "setExceptionBreakpoints",
                                                     "threads",
                                                     "stackTrace",
                                                     "scopes",
                                                     "variables",
                                                     "disassemble",
                                                     "source",
                                                     "exceptionInfo",
                                                     "loadedSources",
                                                     "attach",
                                                     "cancel",
                                                     "disconnect",
                                                     "terminate",
                                                     "restart",
                                                     "completions",
                                                     "breakpointLocations",
                                                     "modules",
                                                     "readMemory"};
  size_t sent = 0;
  dap::DapServer server(
      [&](const dap::Wanted&) -> Result<const gdb::ServerInput*> { return &replayed.input; },
      [&](const dap::Json& message) { sent += dap::Framed(message).size(); }, [] { return true; });
  server.Handle({{"type", "request"}, {"command", "launch"}});
  dap::MessageReader reader;
  reader.Add(bytes);
  while (const auto received = reader.Next())
    if (received->kind == dap::ReceivedMessage::Kind::kMessage) server.Handle(received->message);
  // One request a line: its number, then its arguments.
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', begin), bytes.size());
    const std::string_view line = bytes.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    const char* command = kCommands[static_cast<uint8_t>(line[0]) % kCommands.size()];
    const size_t before = sent;
    server.Handle({{"type", "request"},
                   {"command", command},
                   {"arguments", dap::Json::parse(line.substr(1), nullptr, false)}});
    if (sent == before) std::abort();  // every request has an answer
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Replayed& replayed = *new Replayed;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.empty()) return 0;
  replayed.machine.ToBegin();
  if (bytes[0] % 2 == 0)
    AskAsGdb(replayed, bytes.substr(1));
  else
    AskAsEditor(replayed, bytes.substr(1));
  if (replayed.machine.At(0).pc == 0) std::abort();
  return 0;
}
