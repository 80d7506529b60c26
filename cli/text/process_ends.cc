// SPDX-License-Identifier: MIT
#include "cli/text/process_ends.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/text/json_value.h"
#include "decode/code/space_at.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"

namespace flowback::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<EndPlace> Find(const std::vector<ProcessEnd>& ends, const RecordingCode& code,
                           const ImageSearch& search) {
  Symbolizer symbolizer(search);
  SourceLines lines(search);
  std::vector<EndPlace> places(ends.size());
  for (size_t i = 0; i < ends.size(); ++i) {
    if (!ends[i].ip) continue;
    const RecordingCode::History history = code.OfProcess(ends[i].pid);
    const AddressSpace& space = SpaceAt(*history, ends[i].time);
    if (const auto symbol = symbolizer.Find(space, *ends[i].ip)) places[i].function = symbol->name;
    const SourcePlace source = lines.Find(space, *ends[i].ip);
    if (!source.known()) continue;
    places[i].source = source.frames.front().file;
    places[i].line = source.frames.front().line;
  }
  return places;
}

Json HexOrNull(const std::optional<uint64_t>& value) {
  return value ? Json(fmt::format("{:x}", *value)) : Json(nullptr);
}

}  // namespace

// A recording of nothing but the pages that they died in.
std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::vector<EndPlace> FindPlaces(const std::vector<ProcessEnd>& ends) {
  constexpr uint64_t kPage = 4096;
  Recording recording;
  for (const ProcessEnd& end : ends) {
    if (!end.ip || end.file.empty()) continue;
    MmapRecord page;
    page.pid = page.tid = end.pid;
    page.address = *end.ip / kPage * kPage;
    page.size = kPage;
    page.file_offset = end.file_offset / kPage * kPage;
    page.path = end.file;
    recording.sideband.emplace_back(page);
  }
  if (recording.sideband.empty()) return std::vector<EndPlace>(ends.size());
  const Result<RecordingCode> code = RecordingCode::Load(recording, {});
  return code ? Find(ends, *code, {}) : std::vector<EndPlace>(ends.size());
}

std::vector<EndPlace> FindPlaces(const Recording& recording, const RecordingCode& code,
                                 const ImageSearch& search) {
  return Find(recording.process_ends, code, search);
}

bool WasKilled(const ProcessEnd& end) { return WIFSIGNALED(end.wait_status); }

std::string EndText(const ProcessEnd& end, const EndPlace& place) {
  if (!WasKilled(end)) return fmt::format("exited with {}", WEXITSTATUS(end.wait_status));
  std::string text = "killed by " + SignalName(WTERMSIG(end.wait_status));
  if (end.ip) text += fmt::format(" at 0x{:x}", *end.ip);
  if (!place.function.empty()) text += " in " + place.function;
  if (!place.source.empty()) text += fmt::format(" ({}:{})", place.source, place.line);
  if (place.function.empty() && !end.file.empty())
    text += fmt::format(" in {} at 0x{:x}", end.file, end.file_offset);
  if (end.fault_address) text += fmt::format(", accessing 0x{:x}", *end.fault_address);
  if (!end.core.empty()) text += "; core dump: " + end.core;
  return text;
}

Json EndJson(const ProcessEnd& end, const EndPlace& place) {
  const bool killed = WasKilled(end);
  const int signal = WTERMSIG(end.wait_status);
  Json json;
  json["pid"] = end.pid;
  json["tid"] = end.tid < 0 ? Json(nullptr) : Json(end.tid);
  json["comm"] = TextOrNull(end.comm);
  json["exit_status"] = killed ? Json(nullptr) : Json(WEXITSTATUS(end.wait_status));
  json["signal"] = killed ? Json(signal) : Json(nullptr);
  json["signal_name"] = killed ? Json(SignalName(signal)) : Json(nullptr);
  json["ip"] = HexOrNull(end.ip);
  json["sym"] = TextOrNull(place.function);
  json["file"] = TextOrNull(place.source);
  json["line"] = place.source.empty() ? Json(nullptr) : Json(place.line);
  json["dso"] = TextOrNull(end.file);
  json["fault_address"] = HexOrNull(end.fault_address);
  json["core"] = TextOrNull(end.core);
  return json;
}

}  // namespace flowback::cli
