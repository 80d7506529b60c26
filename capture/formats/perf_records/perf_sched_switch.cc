// SPDX-License-Identifier: MIT
#include "capture/formats/perf_records/perf_sched_switch.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace flowback::perf {
namespace {

constexpr std::string_view kName = "sched_switch";

// The number behind `key` in `text`.
std::optional<uint64_t> NumberAfter(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const char* const begin = text.data() + at + key.size();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// A field's line: "field:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;".
std::optional<SchedSwitch::Field> FindField(std::string_view format, std::string_view name) {
  const size_t at = format.find(" " + std::string(name) + ";");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view line = format.substr(at, format.find('\n', at) - at);
  const auto offset = NumberAfter(line, "offset:");
  const auto size = NumberAfter(line, "size:");
  if (!offset || !size || (*size != 4 && *size != 8)) return std::nullopt;
  return SchedSwitch::Field{*offset, static_cast<unsigned>(*size)};
}

// tracefs' file sched/sched_switch/format, which stands in the tracing data as it is.
std::string_view FindFormat(std::string_view text) {
  const size_t begin = text.find("name: sched_switch\nID: ");
  if (begin == std::string_view::npos) return {};
  const size_t end = text.find("\nprint fmt:", begin);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin);
}

std::optional<uint64_t> Load(Bytes raw, const SchedSwitch::Field& field, ByteOrder order) {
  FieldReader reader(Slice(raw, field.offset, field.size), order);
  const uint64_t value = field.size == 8 ? reader.U64() : reader.U32();
  if (!reader.ok()) return std::nullopt;
  return value;
}

}  // namespace

void SchedSwitch::UseFormats(Bytes tracing_data) {
  const std::string_view format =
      FindFormat({reinterpret_cast<const char*>(tracing_data.data()), tracing_data.size()});
  const auto previous = FindField(format, "prev_pid");
  const auto state = FindField(format, "prev_state");
  const auto next = FindField(format, "next_pid");
  if (!previous || !state || !next) return;
  number_ = NumberAfter(format, "ID: ");
  previous_ = *previous;
  state_ = *state;
  next_ = *next;
}

bool SchedSwitch::IsOne(const EventAttr& attr) const {
  if (attr.type != kTypeTracepoint || !(attr.sample_type & kSampleRaw)) return false;
  return number_ ? attr.config == *number_ : attr.name.find(kName) != std::string::npos;
}

// The sample is taken in the thread that goes, so its process is known; the other one's is not.
std::optional<std::pair<SwitchRecord, SwitchRecord>> SchedSwitch::Parse(const Sample& sample,
                                                                        ByteOrder order) const {
  const auto previous = Load(sample.raw, previous_, order);
  const auto state = Load(sample.raw, state_, order);
  const auto next = Load(sample.raw, next_, order);
  if (!previous || !state || !next) return std::nullopt;
  SwitchRecord out;
  out.time = sample.id.time;
  out.cpu = sample.id.cpu;
  out.tid = static_cast<int32_t>(*previous);
  out.pid = out.tid == sample.id.tid ? sample.id.pid : -1;
  out.other_tid = static_cast<int32_t>(*next);
  out.other_pid = out.other_tid == 0 ? 0 : -1;  // 0 is the idle task
  SwitchRecord in = out;
  std::swap(in.tid, in.other_tid);
  std::swap(in.pid, in.other_pid);
  out.out = true;
  // A thread that could go on is "running" (0), or has the bit that says it was preempted.
  constexpr uint64_t kStateBits = 0xff;
  out.preempted = (*state & kStateBits) == 0;
  return std::pair(out, in);
}

}  // namespace flowback::perf
