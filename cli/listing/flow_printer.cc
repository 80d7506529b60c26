// SPDX-License-Identifier: MIT
#include "cli/listing/flow_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/listing/instruction_text.h"
#include "cli/listing/line_text.h"
#include "cli/reading/losses.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {

ThreadColumns::ThreadColumns(const PrintSettings& settings, std::string_view json_type)
    : settings_(settings),
      json_type_(json_type),
      timeless_(!settings.layout.fields.Has(Field::kComm) &&
                !settings.layout.fields.Has(Field::kTime)) {}

void ThreadColumns::Begin(const StreamOwner& owner) {
  owner_ = &owner;
  BeginPiece(*owner.stream);
}

void ThreadColumns::BeginPiece(const Stream& stream) {
  stream_ = &stream;
  ShowStreamCpu();
}

void ThreadColumns::ShowCpu(int32_t cpu) {
  cpu_ = stream_->cpu < 0 ? -1 : cpu;
  rendered_ = false;
  head_ = 0;
}

void ThreadColumns::Render(const Instant& instant) {
  rendered_ = true;
  instant_ = instant;
  value_ = instant.tsc == 0 ? 0 : settings_.trace.clock->Value(instant.tsc);
  const bool shows_comm = settings_.layout.fields.Has(Field::kComm);
  if (head_ == 0 || (shows_comm && !comm_.Holds(value_))) {
    if (shows_comm) comm_ = settings_.trace.threads->CommAt(owner_->tid, value_);
    text_.clear();
    if (settings_.layout.json)
      RenderJsonHead(comm_.comm);
    else
      RenderHead(comm_.comm);
    head_ = text_.size();
  }
  text_.resize(head_);
  if (!settings_.layout.fields.Has(Field::kTime)) return;
  if (settings_.layout.json) return RenderJsonTime(instant);
  settings_.trace.clock->AppendText(text_, instant.tsc);
  text_ += settings_.layout.usual ? ": " : " ";
}

void ThreadColumns::RenderHead(std::string_view comm) {
  const Fields& fields = settings_.layout.fields;
  const auto number = [](int32_t value) {
    return value < 0 ? std::string("-") : std::to_string(value);
  };
  if (fields.Has(Field::kComm)) {
    AppendPrintable(text_, comm.empty() ? "-" : comm);
    text_ += ' ';
  }
  if (fields.Has(Field::kPid)) text_ += number(owner_->pid) + ' ';
  if (fields.Has(Field::kTid)) text_ += owner_->label + ' ';
  if (fields.Has(Field::kCpu)) {
    if (!settings_.layout.usual)
      text_ += number(cpu_) + ' ';
    else
      text_ += cpu_ < 0 ? "[-] " : fmt::format("[{:03}] ", cpu_);
  }
}

void ThreadColumns::RenderJsonHead(std::string_view comm) {
  const Fields& fields = settings_.layout.fields;
  JsonLine line(text_);
  const auto number = [&](std::string_view key, int32_t value) {
    if (value < 0)
      line.Null(key);
    else
      line.Number(key, value);
  };
  line.Text("type", json_type_).Number("stream", stream_->index);
  if (fields.Has(Field::kComm)) line.TextOrNull("comm", comm);
  // Without its thread a line says little to a program: each is read by itself.
  if (fields.Has(Field::kPid)) number("pid", owner_->pid);
  if (fields.Has(Field::kTid) || owner_->tid >= 0) number("tid", owner_->tid);
  if (fields.Has(Field::kCpu)) number("cpu", cpu_);
}

void ThreadColumns::RenderJsonTime(const Instant& instant) {
  JsonLine line = JsonLine::Continue(text_);
  const auto number = [&line](std::string_view key, bool known, uint64_t value) {
    if (known)
      line.Number(key, value);
    else
      line.Null(key);
  };
  const RecordingClock& clock = *settings_.trace.clock;
  const auto& [tsc, bounds] = instant;
  const bool ns = clock.has_nanoseconds();
  number("time", ns && tsc != 0, value_);
  number("time_lo", ns && bounds.lo != 0, clock.Value(bounds.lo));
  number("time_hi", ns && bounds.hi != 0, clock.UpperValue(bounds.hi));
  number("tsc", tsc != 0, tsc);
  if (ns) return;
  number("tsc_lo", bounds.lo != 0, bounds.lo);
  number("tsc_hi", bounds.hi != 0, bounds.hi);
}

PrintTools::PrintTools(const PrintSettings& settings, size_t cache_bytes)
    : settings_(settings), cache_bytes_(cache_bytes) {}

PrintTools::~PrintTools() = default;

InstructionText& PrintTools::instructions() {
  if (!instructions_) instructions_ = std::make_unique<InstructionText>(settings_, cache_bytes_);
  return *instructions_;
}

LineText& PrintTools::lines() {
  if (!lines_) lines_ = std::make_unique<LineText>(settings_, cache_bytes_);
  return *lines_;
}

void FlowPrinter::Begin(const StreamOwner& owner) {
  Resume(owner, *owner.stream);
  PrintBegin(owner);
  const PrintSettings& s = settings_;
  if (s.layout.json || !s.layout.thread_headers) return;
  const std::string_view comm = s.trace.threads->CommAt(owner.tid, 0).comm;
  const bool one_cpu =
      owner.stream->cpu >= 0 && std::ranges::all_of(owner.pieces, [&](const FlowPiece& piece) {
        return piece.stream->cpu == owner.stream->cpu;
      });
  out() += fmt::format("# {} {}{}{}\n", owner.tid >= 0 ? "thread" : "stream", owner.label,
                       comm.empty() ? "" : fmt::format(" ({})", Printable(comm)),
                       one_cpu ? fmt::format(", cpu {}", owner.stream->cpu) : "");
}

void FlowPrinter::BeginPiece(const Stream& stream) {
  columns_.BeginPiece(stream);
  stream_ = stream.index;
}

void FlowPrinter::Resume(const StreamOwner& owner, const Stream& stream) {
  owner_ = &owner;
  columns_.Begin(owner);
  BeginPiece(stream);
}

void FlowPrinter::OnLoss(const DataLoss& loss) {
  BeforeLoss(loss);
  if (!settings_.ContainsLoss(loss)) return;
  if (!settings_.layout.json) {
    out() += "# " + LossText(loss) + '\n';
    return;
  }
  JsonLine line(out());
  line.Text("type", "loss").Number("stream", stream_);
  if (owner_->tid >= 0) line.Number("tid", owner_->tid);
  line.Text("cause", Name(loss.cause)).Number("offset", loss.begin);
  line.Number("bytes", loss.bytes()).Text("detail", loss.detail);
  if (loss.last_ip != 0) line.Hex("last_ip", loss.last_ip);
  line.Text("remedy", Remedy(loss.cause)).End();
}

void FlowPrinter::OnUnknown(const UnknownFlow& unknown) {
  BeforeUnknown(unknown);
  if (!settings_.layout.json) {
    out() += unknown.to == 0 ? "# unknown between\n"
                             : fmt::format("# unknown between: goes on at {:x}\n", unknown.to);
    return;
  }
  JsonLine line(out());
  line.Text("type", "unknown").Number("stream", stream_);
  if (owner_->tid >= 0) line.Number("tid", owner_->tid);
  line.Number("offset", unknown.offset);
  if (unknown.from != 0) line.Hex("from", unknown.from);
  if (unknown.to != 0) line.Hex("to", unknown.to);
  line.End();
}

void PrintListingHeader(Output& output, const PrintSettings& settings, std::string_view kind,
                        bool shows_times) {
  const Recording& recording = *settings.trace.recording;
  const bool json = settings.layout.json;
  const bool samples = settings.trace.source->samples();
  const bool emulated = recording.machine.emulated;
  if (json) {
    JsonLine line(output.buffer());
    line.Text("schema", fmt::format("flowback.decode.{}/1", kind)).Text("input", recording.path);
    line.Text("clock", recording.time.known() ? "ns" : "tsc").Bool("emulated", emulated);
    if (samples) line.Bool("samples", true);
    line.End();
    return;
  }
  if (emulated && shows_times)
    output.Write("# emulated: the times are the emulation's, not the hardware's\n");
  const bool sums = kind == "digest" || kind == "summary";
  if (samples && !sums) output.Write("# samples: what executed between two of them is not known\n");
}

std::string_view BranchWord(InstructionClass kind) {
  switch (kind) {
    case InstructionClass::kOther:
      return "-";
    case InstructionClass::kConditional:
      return "jcc";
    case InstructionClass::kJump:
      return "jmp";
    case InstructionClass::kCall:
      return "call";
    case InstructionClass::kIndirectJump:
      return "jmp-ind";
    case InstructionClass::kIndirectCall:
      return "call-ind";
    case InstructionClass::kReturn:
      return "ret";
    case InstructionClass::kFarCall:
      return "far-call";
    case InstructionClass::kFarJump:
      return "far-jmp";
    case InstructionClass::kFarReturn:
      return "far-ret";
  }
  return "-";
}

}  // namespace flowback::cli
