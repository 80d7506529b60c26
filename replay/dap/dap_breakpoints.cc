// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/hex.h"
#include "replay/dap/dap_server.h"
#include "replay/debug/machine/never_ran.h"

namespace flowback::dap {
namespace {

// As many as gdb may set.
constexpr size_t kMostBreakpoints = 4096;
constexpr size_t kMostLogBytes = 4096;

Status CheckNumber(const Json& arguments) {
  const Json& wanted = MemberOf(arguments, "breakpoints");
  if (wanted.size() > kMostBreakpoints)
    return Fail(ErrorCode::kUsage,
                fmt::format("{} breakpoints are more than {}", wanted.size(), kMostBreakpoints));
  for (const Json& each : wanted)
    if (TextIn(each, "logMessage").size() > kMostLogBytes)
      return Fail(ErrorCode::kUsage,
                  fmt::format("a log message has more than {} bytes", kMostLogBytes));
  return {};
}

std::string SeveralFilesText(const std::vector<std::string>& files) {
  constexpr size_t kNamed = 3;
  std::string text = fmt::format("the path fits {} files, and stops in each:", files.size());
  for (size_t i = 0; i < std::min(files.size(), kNamed); ++i) text += " " + files[i];
  return files.size() > kNamed ? text + " ..." : text;
}

}  // namespace

// Where the process' files lie once all are loaded.
const AddressSpace* DapServer::Space() {
  ReplayedMachine& machine = opened_->view.machine();
  const AddressSpace* space = machine.LastOf(machine.current()).space;
  return space != nullptr ? space : machine.At(machine.current()).instruction.space;
}

// What a loss hides may have run.
std::string DapServer::NeverRanText(const std::string& place) const {
  if (opened_->view.MayHideMore())
    return fmt::format("{} did not run where the flow was recorded; parts of it are missing",
                       place);
  return fmt::format("{} never ran in this process", place);
}

// Fills in what the client wants of the breakpoint, and returns the reply.
Json DapServer::Told(const Json& wanted, Breakpoint& breakpoint, const std::string& place,
                     uint64_t& budget) {
  breakpoint.id = breakpoints_.NewId();
  breakpoint.log = TextIn(wanted, "logMessage");
  Json told = {{"id", breakpoint.id}, {"verified", !breakpoint.addresses.empty()}};
  const auto refuse = [&](std::string why) {
    breakpoint.addresses.clear();
    told["verified"] = false;
    told["message"] = std::move(why);
    return told;
  };
  if (breakpoint.addresses.empty())
    return refuse(fmt::format("The recording has no code for {}", place));
  if (const std::string condition = TextIn(wanted, "condition"); !condition.empty())
    return refuse(fmt::format(
        "The condition '{}' has no value: a replay knows hit counts only, such as 3, > 3, % 3",
        condition));
  told["instructionReference"] = Hex(breakpoint.addresses.front());
  const std::string condition = TextIn(wanted, "hitCondition");
  breakpoint.condition = HitCondition::Of(condition);
  if (!condition.empty() && !breakpoint.condition)
    return refuse(fmt::format("'{}' is not a hit count, such as 3, > 3, % 3", condition));
  if (NeverRan(opened_->view.machine(), breakpoint.addresses, budget))
    told["message"] = NeverRanText(place);
  return told;
}

Result<DapServer::Answer> DapServer::SetBreakpoints(const Json& arguments) {
  if (Status status = CheckNumber(arguments); !status) return Fail(status.error());
  const Json& source = MemberOf(arguments, "source");
  const int64_t reference = NumberIn(source, "sourceReference");
  const GivenSource* given = GivenOf(reference);
  if (given != nullptr && given->file.empty())
    return SetInListing(arguments, given->listed, fmt::format("#{}", reference));
  const std::string path =
      given != nullptr ? given->file : TextIn(source, "path", TextIn(source, "name"));
  const AddressSpace* space = Space();
  uint64_t budget = kMostDecodedForNever;
  std::vector<Breakpoint> breakpoints;
  Json told = Json::array();
  const int64_t less = lines_from_1_ ? 0 : 1;
  for (const Json& wanted : MemberOf(arguments, "breakpoints")) {
    const uint32_t line = LineIn(wanted);
    const auto code = space == nullptr ? std::nullopt : opened_->places.OfLine(*space, path, line);
    Breakpoint breakpoint;
    if (code) breakpoint.addresses = code->addresses;
    if (code) breakpoint.inlined = code->inlined;
    Json each = Told(wanted, breakpoint,
                     fmt::format("line {} of {}", code ? code->line : line, path), budget);
    if (code) each["line"] = code->line - less;
    if (code) each["source"] = {{"path", path}};
    if (code && code->files.size() > 1) each["message"] = SeveralFilesText(code->files);
    told.push_back(std::move(each));
    breakpoints.push_back(std::move(breakpoint));
  }
  breakpoints_.Replace(Breakpoints::Sort::kLines, path, std::move(breakpoints));
  return Answer{.body = {{"breakpoints", std::move(told)}}};
}

// In a function's instructions, which take the place of a source.
Result<DapServer::Answer> DapServer::SetInListing(const Json& arguments,
                                                  const ListedFunction& listed,
                                                  const std::string& key) {
  uint64_t budget = kMostDecodedForNever;
  std::vector<Breakpoint> breakpoints;
  Json told = Json::array();
  for (const Json& wanted : MemberOf(arguments, "breakpoints")) {
    const uint32_t line = LineIn(wanted);
    Breakpoint breakpoint;
    if (const auto address = listed.AddressOf(line)) breakpoint.addresses = {*address};
    told.push_back(
        Told(wanted, breakpoint, fmt::format("line {} of {}", line, listed.name()), budget));
    told.back()["line"] = static_cast<int64_t>(line) - (lines_from_1_ ? 0 : 1);
    breakpoints.push_back(std::move(breakpoint));
  }
  breakpoints_.Replace(Breakpoints::Sort::kLines, key, std::move(breakpoints));
  return Answer{.body = {{"breakpoints", std::move(told)}}};
}

std::string DapServer::NoFunctionText(const AddressSpace& space, const std::string& name) {
  constexpr size_t kNamed = 3;
  std::string text = fmt::format("No function of the recorded files is called '{}'", name);
  const std::vector<std::string> unnamed = opened_->places.FilesWithoutNames(space);
  if (unnamed.empty()) return text;
  text += ". These have no names:";
  for (size_t i = 0; i < std::min(unnamed.size(), kNamed); ++i) text += " " + unnamed[i];
  return unnamed.size() > kNamed ? text + " ..." : text;
}

Result<DapServer::Answer> DapServer::SetFunctionBreakpoints(const Json& arguments) {
  if (Status status = CheckNumber(arguments); !status) return Fail(status.error());
  const AddressSpace* space = Space();
  uint64_t budget = kMostDecodedForNever;
  std::vector<Breakpoint> breakpoints;
  Json told = Json::array();
  for (const Json& wanted : MemberOf(arguments, "breakpoints")) {
    const std::string name = TextIn(wanted, "name");
    Breakpoint breakpoint;
    if (space != nullptr) breakpoint.addresses = opened_->places.OfFunction(*space, name);
    told.push_back(Told(wanted, breakpoint, fmt::format("a function '{}'", name), budget));
    if (space != nullptr && opened_->places.OfFunction(*space, name).empty())
      told.back()["message"] = NoFunctionText(*space, name);
    breakpoints.push_back(std::move(breakpoint));
  }
  breakpoints_.Replace(Breakpoints::Sort::kFunctions, {}, std::move(breakpoints));
  return Answer{.body = {{"breakpoints", std::move(told)}}};
}

Result<DapServer::Answer> DapServer::SetInstructionBreakpoints(const Json& arguments) {
  if (Status status = CheckNumber(arguments); !status) return Fail(status.error());
  uint64_t budget = kMostDecodedForNever;
  std::vector<Breakpoint> breakpoints;
  Json told = Json::array();
  for (const Json& wanted : MemberOf(arguments, "breakpoints")) {
    const std::string reference = TextIn(wanted, "instructionReference");
    const auto address = AddressIn(reference);
    Breakpoint breakpoint;
    if (address)
      breakpoint.addresses = {*address + static_cast<uint64_t>(NumberIn(wanted, "offset"))};
    told.push_back(Told(wanted, breakpoint, fmt::format("the address '{}'", reference), budget));
    breakpoints.push_back(std::move(breakpoint));
  }
  breakpoints_.Replace(Breakpoints::Sort::kInstructions, {}, std::move(breakpoints));
  return Answer{.body = {{"breakpoints", std::move(told)}}};
}

Result<DapServer::Answer> DapServer::SetExceptionBreakpoints(const Json& arguments) {
  const Json& filters = MemberOf(arguments, "filters");
  stops_at_losses_ = std::ranges::find(filters, Json("loss")) != filters.end();
  stops_at_calls_ = std::ranges::find(filters, Json("syscall")) != filters.end();
  return Answer();
}

}  // namespace flowback::dap
