// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "replay/gdb/gdb_documents.h"
#include "replay/gdb/gdb_server.h"

namespace flowback::gdb {

Replies GdbServer::Supported(std::string_view rest) {
  const auto says = [&](std::string_view word) { return rest.contains(word); };
  multiprocess_ = says("multiprocess+");
  software_breaks_ = says("swbreak+");
  hardware_breaks_ = says("hwbreak+");
  exec_events_ = says("exec-events+");
  if (exec_events_) milestones_ = {MilestoneKind::kProgram};
  std::string text = fmt::format(
      "PacketSize={:x};QStartNoAckMode+;QCatchSyscalls+;vContSupported+;ReverseStep+;"
      "ReverseContinue+;Qbtrace:bts+;Qbtrace:off+;Qbtrace-conf:bts:size+;no-resumed+",
      kMostPacketBytes);
  for (const Object& object : Objects()) text += fmt::format(";qXfer:{}:read+", object.name);
  if (multiprocess_) text += ";multiprocess+";
  if (software_breaks_) text += ";swbreak+";
  if (hardware_breaks_) text += ";hwbreak+";
  if (exec_events_) text += ";exec-events+";
  return {text};
}

Replies GdbServer::CurrentThread(std::string_view) { return {"QC" + IdText(general())}; }

// Many threads take several packets.
Replies GdbServer::FirstThreads(std::string_view) {
  list_of_threads_.clear();
  for (size_t thread = 0; thread < view_.machine().size(); ++thread) {
    if (thread != 0) list_of_threads_ += ',';
    list_of_threads_ += IdText(thread);
  }
  return MoreThreads({});
}

Replies GdbServer::MoreThreads(std::string_view) {
  constexpr size_t kMost = 4096;
  if (list_of_threads_.empty()) return {"l"};
  size_t end =
      list_of_threads_.size() <= kMost ? std::string::npos : list_of_threads_.find(',', kMost);
  const std::string part = "m" + list_of_threads_.substr(0, end);
  list_of_threads_.erase(0, end == std::string::npos ? end : end + 1);
  return {part};
}

Replies GdbServer::ThreadExtra(std::string_view rest) {
  bool all = false;
  const auto thread = TakeThread(rest, all);
  if (!thread) return {kRefused};
  return {HexOf(ThreadStateText(view_, *thread))};
}

// gdb is to leave the machine alone at its own end.
Replies GdbServer::Attached(std::string_view) { return {"1"}; }

const std::vector<GdbServer::Object>& GdbServer::Objects() {
  static const std::vector<Object> objects = {
      {"features", &GdbServer::Features},     {"libraries-svr4", &GdbServer::Libraries},
      {"exec-file", &GdbServer::ProgramFile}, {"auxv", &GdbServer::Auxiliary},
      {"threads", &GdbServer::Threads},       {"siginfo", &GdbServer::SignalInfo},
      {"btrace", &GdbServer::History},        {"btrace-conf", &GdbServer::HistorySettings},
  };
  return objects;
}

std::optional<std::string> GdbServer::Features(std::string_view annex) {
  if (annex != "target.xml") return std::nullopt;
  TakeMode();
  return TargetDescription(mode_, registers_);
}
std::optional<std::string> GdbServer::Libraries(std::string_view) { return LibraryList(view_); }
std::optional<std::string> GdbServer::ProgramFile(std::string_view) { return view_.ProgramFile(); }
std::optional<std::string> GdbServer::Auxiliary(std::string_view) {
  return AuxiliaryVector(view_, mode_);
}
std::optional<std::string> GdbServer::Threads(std::string_view) {
  return ThreadList(view_, [this](size_t thread) { return IdText(thread); });
}

std::optional<std::string> GdbServer::SignalInfo(std::string_view) {
  const MachineThread at = view_.machine().At(general());
  Bytes signal = view_.values().Signal(at);
  // If a system call raised the signal, the dump shows the place after it.
  const EndCore* const core = view_.input().core;
  const bool is_of_death = core != nullptr && !core->is_living() && core->killed_tid() == at.tid;
  if (signal.empty() && is_of_death && view_.DiesHereOf(general(), at)) signal = core->signal();
  if (signal.empty()) return std::nullopt;
  return std::string(signal.begin(), signal.end());
}

// The parts of one document are of one text. Null: there is no such document.
const std::string* GdbServer::Read(std::string_view object, std::string_view annex, bool anew) {
  const std::string name = fmt::format("{}:{}", object, annex);
  if (!anew && reading_.name == name) return &reading_.text;
  for (const Object& one : Objects()) {
    if (one.name != object) continue;
    auto text = (this->*one.read)(annex);
    if (!text) return nullptr;
    reading_ = {.name = name, .text = *std::move(text)};
    return &reading_.text;
  }
  return nullptr;
}

// "OBJECT:read:ANNEX:OFFSET,SIZE"
Replies GdbServer::Transfer(std::string_view rest) {
  const std::string_view object = rest.substr(0, rest.find(':'));
  rest.remove_prefix(object.size());
  const bool is_known = std::ranges::find(Objects(), object, &Object::name) != Objects().end();
  if (!TakeWord(rest, ":read:") || !is_known) return {""};
  const size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return {"E00"};
  const std::string_view annex = rest.substr(0, colon);
  rest.remove_prefix(colon + 1);
  const auto offset = TakeHex(rest);
  TakeWord(rest, ",");
  const auto size = TakeHex(rest);
  if (!offset || !size) return {"E00"};
  const std::string* document = Read(object, annex, *offset == 0);
  if (document == nullptr) return {"E00"};
  if (*offset >= document->size()) return {"l"};
  const uint64_t most = std::min<uint64_t>(*size, kMostPacketBytes / 2 - 64);
  const std::string part = document->substr(*offset, most);
  const bool more = *offset + part.size() < document->size();
  return {(more ? "m" : "l") + Escaped(part)};
}

}  // namespace flowback::gdb
