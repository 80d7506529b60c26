// SPDX-License-Identifier: MIT
// A window of the flow for gdb's own `record instruction-history` and `record
// function-call-history`.
//
// gdb takes it for the branch trace of a live program: the blocks that led to where the thread
// stands. It asks for no more bytes than its setting `record btrace bts buffer-size`, which this
// server understands as that many bytes of the hardware's records.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "replay/gdb/gdb_server.h"

namespace flowback::gdb {
namespace {

constexpr uint64_t kRecordBytes = 24;  // of one branch, in a branch trace store
constexpr uint64_t kMostBytes = uint64_t{1} << 20;

std::string BlocksText(const std::vector<InstructionBlock>& blocks) {
  std::string text =
      "<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n"
      "<btrace version=\"1.0\">\n";
  for (const InstructionBlock& block : blocks)
    text += fmt::format("<block begin=\"{:#x}\" end=\"{:#x}\"/>\n", block.first, block.last);
  return text + "</btrace>\n";
}

}  // namespace

// "bts" or "off", for the thread that gdb looks at. The flow of all threads is there, so that
// nothing is to be done for one.
Replies GdbServer::SetHistory(std::string_view rest) {
  if (rest != "bts" && rest != "off") return {kRefused};
  has_history_ = rest == "bts";
  history_told_.clear();
  return {"OK"};
}

Replies GdbServer::SizeHistory(std::string_view rest) {
  TakeWord(rest, "0x");
  const auto bytes = TakeHex(rest);
  if (!bytes || !rest.empty()) return {kRefused};
  history_bytes_ = std::clamp(*bytes, kRecordBytes, kMostBytes);
  return {"OK"};
}

// While gdb has not asked for a history, the document names no format: a gdb that connects would
// else begin to show one.
std::optional<std::string> GdbServer::HistorySettings(std::string_view) {
  const std::string format =
      has_history_ ? fmt::format("<bts size=\"{:#x}\"/>\n", history_bytes_) : "";
  return "<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\">\n<btrace-conf version=\"1.0\">\n" +
         format + "</btrace-conf>\n";
}

// A request for the changes ("delta") gets nothing, or is refused: the thread may stand before that
// place. gdb then takes the whole window, and forgets how far the user had listed it.
std::optional<std::string> GdbServer::History(std::string_view annex) {
  if (!has_history_) return std::nullopt;
  ReplayedMachine& machine = view_.machine();
  if (!(machine.moment() == history_moment_)) history_told_.clear();
  history_moment_ = machine.moment();
  if (annex == "delta")
    return history_told_.contains(general()) ? std::optional(BlocksText({})) : std::nullopt;
  history_told_.insert(general());
  return BlocksText(machine.Recent(general(), {.blocks = history_bytes_ / kRecordBytes}));
}

}  // namespace flowback::gdb
