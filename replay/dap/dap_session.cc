// SPDX-License-Identifier: MIT
// Requests about the session, and what an editor asks to help its user type.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/hex.h"
#include "replay/dap/dap_server.h"

namespace flowback::dap {
namespace {

constexpr size_t kMostCompletions = 100;

std::string Base64(const std::vector<uint8_t>& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t byte = 0; byte < 3; ++byte)
      group = (group << 8) | (i + byte < bytes.size() ? bytes[i + byte] : 0U);
    for (size_t digit = 0; digit < 4; ++digit)
      text += i + digit > bytes.size() ? '=' : kDigits[(group >> (18 - 6 * digit)) & 63];
  }
  return text;
}

}  // namespace

// The client disconnects once it has heard that the session has ended.
Result<DapServer::Answer> DapServer::Terminate(const Json& /*arguments*/) {
  return Answer{.then = [this] { SendEvent("terminated", Json::object()); }};
}

Result<DapServer::Answer> DapServer::Disconnect(const Json& /*arguments*/) {
  is_over_ = true;
  return Answer{.then = [this] { SendEvent("terminated", Json::object()); }};
}

// Back to where the launch stood first. Breakpoints stay; their visits count from there.
Result<DapServer::Answer> DapServer::Restart(const Json& /*arguments*/) {
  opened_->view.machine().To(opened_->first);
  opened_->steps.HideNothing();
  breakpoints_.CountAnew();
  Forget();
  return Answer{.then = [this] { StoppedFirst(); }};
}

void DapServer::StoppedFirst() {
  ReplayedMachine& machine = opened_->view.machine();
  const size_t thread = machine.current();
  const bool is_last = machine.At(thread).number + 1 >= machine.thread(thread).instructions;
  const bool died = is_last && opened_->view.KilledBy(thread);
  Stopped(died ? "exception" : "entry", thread, opened_->view.WhenText(thread));
}

bool DapServer::EndsRun(const Json& message) const {
  constexpr std::array<std::string_view, 4> kCommands = {"pause", "disconnect", "terminate",
                                                         "restart"};
  const std::string command = TextIn(message, "command");
  if (std::ranges::find(kCommands, command) != kCommands.end()) return true;
  if (command != "cancel") return false;
  const Json& arguments = MemberOf(message, "arguments");
  const bool is_progress = !progress_.empty() && TextIn(arguments, "progressId") == progress_;
  return is_progress || NumberIn(arguments, "requestId", -1) == current_;
}

void DapServer::HandleCancelled(const Json& message) {
  Refuse(message, Error(ErrorCode::kUsage, "cancelled"));
}

// The request to cancel has ended by the time of this answer.
Result<DapServer::Answer> DapServer::Cancel(const Json& /*arguments*/) {
  was_interrupted_ = false;
  return Answer();
}

Result<DapServer::Answer> DapServer::BreakpointLocations(const Json& arguments) {
  const Json& source = MemberOf(arguments, "source");
  const AddressSpace* space = Space();
  const uint32_t first = LineIn(arguments);
  const Json end = {{"line", NumberIn(arguments, "endLine", NumberIn(arguments, "line"))}};
  const uint32_t last = LineIn(end);
  Json told = Json::array();
  const auto tell = [&](uint32_t line) {
    told.push_back({{"line", static_cast<int64_t>(line) - (lines_from_1_ ? 0 : 1)}});
  };
  const GivenSource* given = GivenOf(NumberIn(source, "sourceReference"));
  if (given != nullptr && given->file.empty()) {
    for (uint32_t line = first; line <= last && given->listed.AddressOf(line); ++line) tell(line);
  } else if (space != nullptr) {
    for (const uint32_t line :
         opened_->places.LinesWithCode(*space, TextIn(source, "path"), first, last))
      tell(line);
  }
  return Answer{.body = {{"breakpoints", std::move(told)}}};
}

// The console's commands, by their first word.
Result<DapServer::Answer> DapServer::Completions(const Json& arguments) {
  const std::string text = TextIn(arguments, "text");
  const int64_t column = NumberIn(arguments, "column", 1) - (columns_from_1_ ? 1 : 0);
  const std::string typed = text.substr(
      0, static_cast<size_t>(std::clamp<int64_t>(column, 0, static_cast<int64_t>(text.size()))));
  Json targets = Json::array();
  if (typed.find(' ') == std::string::npos) {
    for (const std::string& word : ConsoleWords())
      if (word.starts_with(typed) && targets.size() < kMostCompletions)
        targets.push_back({{"label", word},
                           {"start", 0},
                           {"length", static_cast<int64_t>(typed.size())},
                           {"type", "keyword"}});
  }
  return Answer{.body = {{"targets", std::move(targets)}}};
}

// The files of the process' code.
Result<DapServer::Answer> DapServer::Modules(const Json& arguments) {
  const auto first = static_cast<size_t>(std::max<int64_t>(NumberIn(arguments, "startModule"), 0));
  const int64_t count = NumberIn(arguments, "moduleCount");
  const std::vector<LoadedImage> images = opened_->view.Images();
  const size_t end =
      count > 0 ? std::min(images.size(), first + static_cast<size_t>(count)) : images.size();
  Json modules = Json::array();
  for (size_t i = first; i < end; ++i) {
    const std::string path(opened_->view.session().RecordedPath(images[i].file));
    modules.push_back({{"id", Hex(images[i].bias) + " " + path},
                       {"name", path.substr(path.rfind('/') + 1)},
                       {"path", path},
                       {"symbolFilePath", images[i].file},
                       {"addressRange", Hex(images[i].bias)}});
  }
  return Answer{.body = {{"modules", std::move(modules)}, {"totalModules", images.size()}}};
}

// As much as is proven of the current thread's memory, from the address on.
Result<DapServer::Answer> DapServer::ReadMemory(const Json& arguments) {
  constexpr int64_t kMostBytes = int64_t{1} << 16;
  const std::string reference = TextIn(arguments, "memoryReference");
  const auto given = AddressIn(reference);
  if (!given) return Fail(ErrorCode::kUsage, fmt::format("'{}' is no address", reference));
  const uint64_t address = *given + static_cast<uint64_t>(NumberIn(arguments, "offset"));
  const int64_t count = std::clamp<int64_t>(NumberIn(arguments, "count"), 0, kMostBytes);
  ReplayedMachine& machine = opened_->view.machine();
  const std::vector<uint8_t> bytes = opened_->view.values().Memory(
      machine.At(machine.current()), address, static_cast<size_t>(count));
  Json body = {{"address", Hex(address)},
               {"unreadableBytes", count - static_cast<int64_t>(bytes.size())}};
  if (!bytes.empty()) body["data"] = Base64(bytes);
  return Answer{.body = std::move(body)};
}

}  // namespace flowback::dap
