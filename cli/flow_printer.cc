// SPDX-License-Identifier: MIT
#include "cli/flow_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/json.h"

namespace flowback::cli {

void ThreadColumns::Begin(const StreamOwner& owner) {
  owner_ = &owner;
  BeginPiece(*owner.stream);
}

void ThreadColumns::BeginPiece(const Stream& stream) {
  stream_ = &stream;
  rendered_ = false;
}

// Text shows nanoseconds, several ticks each.
bool ThreadColumns::IsRendered(const Instant& instant) const {
  if (!rendered_) return false;
  if (!settings_.json)
    return (instant.tsc == 0) == (instant_.tsc == 0) &&
           settings_.clock->Value(instant.tsc) == settings_.clock->Value(instant_.tsc);
  return instant.tsc == instant_.tsc && instant.bounds.lo == instant_.bounds.lo &&
         instant.bounds.hi == instant_.bounds.hi;
}

const std::string& ThreadColumns::At(const Instant& instant) {
  if (IsRendered(instant)) return text_;
  rendered_ = true;
  instant_ = instant;
  text_.clear();
  if (settings_.json)
    RenderJson(instant);
  else
    RenderText(instant.tsc);
  return text_;
}

void ThreadColumns::RenderText(uint64_t tsc) {
  const Fields& fields = settings_.fields;
  const bool decorated = settings_.default_layout;
  const auto number = [](int32_t value) {
    return value < 0 ? std::string("-") : std::to_string(value);
  };
  if (fields.Has(Field::kComm)) {
    const uint64_t time = tsc == 0 ? 0 : settings_.clock->Value(tsc);
    const std::string_view comm = settings_.threads->CommAt(owner_->tid, time);
    text_ += comm.empty() ? "-" : comm;
    text_ += ' ';
  }
  if (fields.Has(Field::kPid)) text_ += number(owner_->pid) + ' ';
  if (fields.Has(Field::kTid)) text_ += owner_->label + ' ';
  if (fields.Has(Field::kCpu)) {
    const int32_t cpu = stream_->cpu;
    if (!decorated)
      text_ += number(cpu) + ' ';
    else
      text_ += cpu < 0 ? "[-] " : fmt::format("[{:03}] ", cpu);
  }
  if (fields.Has(Field::kTime)) {
    settings_.clock->AppendText(text_, tsc);
    text_ += decorated ? ": " : " ";
  }
}

void ThreadColumns::RenderJson(const Instant& instant) {
  const uint64_t tsc = instant.tsc;
  const Fields& fields = settings_.fields;
  JsonLine line(text_);
  const auto number = [&](std::string_view key, int32_t value) {
    if (value < 0)
      line.Null(key);
    else
      line.Number(key, value);
  };
  line.Text("type", json_type_).Number("stream", stream_->index);
  if (fields.Has(Field::kComm)) {
    const uint64_t time = tsc == 0 ? 0 : settings_.clock->Value(tsc);
    const std::string_view comm = settings_.threads->CommAt(owner_->tid, time);
    if (comm.empty())
      line.Null("comm");
    else
      line.Text("comm", comm);
  }
  if (fields.Has(Field::kPid)) number("pid", owner_->pid);
  if (fields.Has(Field::kTid)) number("tid", owner_->tid);
  if (fields.Has(Field::kCpu)) number("cpu", stream_->cpu);
  if (fields.Has(Field::kTime)) RenderJsonTime(line, instant);
}

void ThreadColumns::RenderJsonTime(JsonLine& line, const Instant& instant) const {
  const auto number = [&line](std::string_view key, bool known, uint64_t value) {
    if (known)
      line.Number(key, value);
    else
      line.Null(key);
  };
  const TraceClock& clock = *settings_.clock;
  const auto& [tsc, bounds] = instant;
  const bool ns = clock.has_nanoseconds();
  number("time", ns && tsc != 0, clock.Value(tsc));
  number("time_lo", ns && bounds.lo != 0, clock.Value(bounds.lo));
  number("time_hi", ns && bounds.hi != 0, clock.UpperValue(bounds.hi));
  number("tsc", tsc != 0, tsc);
  if (ns) return;
  number("tsc_lo", bounds.lo != 0, bounds.lo);
  number("tsc_hi", bounds.hi != 0, bounds.hi);
}

void FlowPrinter::Begin(const StreamOwner& owner) {
  columns_.Begin(owner);
  stream_ = owner.stream->index;
  PrintBegin(owner);
  const PrintSettings& s = settings_;
  if (s.json || !s.thread_headers) return;
  const std::string_view comm = s.threads->CommAt(owner.tid, 0);
  const bool one_cpu =
      owner.stream->cpu >= 0 && std::ranges::all_of(owner.pieces, [&](const FlowPiece& piece) {
        return piece.stream->cpu == owner.stream->cpu;
      });
  out() += fmt::format("# {} {}{}{}\n", owner.tid >= 0 ? "thread" : "stream", owner.label,
                       comm.empty() ? "" : fmt::format(" ({})", comm),
                       one_cpu ? fmt::format(", cpu {}", owner.stream->cpu) : "");
}

void FlowPrinter::BeginPiece(const Stream& stream) {
  columns_.BeginPiece(stream);
  stream_ = stream.index;
}

void FlowPrinter::OnBlock(const BlockRun& run) {
  PrintBlock(run);
  output_.Commit();
}

void FlowPrinter::OnEvent(const TraceEvent& event) {
  PrintEvent(event);
  output_.Commit();
}

void FlowPrinter::End() {
  PrintEnd();
  output_.Commit();
}

void FlowPrinter::OnLoss(const DataLoss& loss) {
  BeforeLoss(loss);
  settings_.losses->Add(loss);
  if (!settings_.json) {
    out() += "# " + LossText(loss) + '\n';
  } else {
    JsonLine line(out());
    line.Text("type", "loss")
        .Number("stream", stream_)
        .Text("cause", Name(loss.cause))
        .Number("offset", loss.begin);
    line.Number("bytes", loss.end - loss.begin).Text("detail", loss.detail);
    if (loss.last_ip != 0) line.Hex("last_ip", loss.last_ip);
    line.Text("remedy", Remedy(loss.cause)).End();
  }
  output_.Commit();
}

void PrintListingHeader(Output& output, const Recording& recording, std::string_view kind,
                        bool json, bool shows_times) {
  const bool emulated = recording.machine.emulated;
  if (json) {
    JsonLine line(output.buffer());
    line.Text("schema", fmt::format("flowback.decode.{}/1", kind)).Text("input", recording.path);
    line.Text("clock", recording.pt.time.known() ? "ns" : "tsc").Bool("emulated", emulated).End();
  } else if (emulated && shows_times) {
    output.Write("# emulated: the times are the emulation's, not the hardware's\n");
  }
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
