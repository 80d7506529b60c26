// SPDX-License-Identifier: MIT
// Each call and each return as events of the Common Trace Format 1.8, which babeltrace2 and Trace
// Compass read: an archive of a folder with `metadata` and the streams of each thread.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "replay/writers/calls/ctf/ctf_stream.h"
#include "replay/writers/calls/exported_calls.h"
#include "replay/writers/calls/function_texts.h"
#include "replay/writers/text/tar.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

constexpr std::string_view kFolder = "flowback-ctf/";

// Braces are doubled for fmt. The arguments are the recording, whether it was emulated, the clock's
// description and its frequency.
constexpr auto kMetadata = FMT_COMPILE(R"(/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 32; align = 8; signed = true; }} := int32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;
typealias integer {{ size = 64; align = 8; signed = false; base = 16; }} := address_t;

trace {{
  major = 1;
  minor = 8;
  byte_order = le;
  packet.header := struct {{
    uint32_t magic;
    uint32_t stream_id;
  }};
}};

env {{
  tracer_name = "flowback";
  recording = "{}";
  emulated = {};
}};

clock {{
  name = recording;
  description = "{}";
  freq = {};
}};
typealias integer {{
  size = 64; align = 8; signed = false;
  map = clock.recording.value;
}} := clock_t;

stream {{
  id = 0;
  packet.context := struct {{
    clock_t timestamp_begin;
    clock_t timestamp_end;
    uint64_t content_size;
    uint64_t packet_size;
    int32_t pid;
    int32_t tid;
    string {{ encoding = UTF8; }} thread;
  }};
  event.header := struct {{
    uint8_t id;
    clock_t timestamp;
  }};
}};

event {{
  name = "call";
  id = 0;
  stream_id = 0;
  fields := struct {{
    address_t address;
    address_t site;
    string {{ encoding = UTF8; }} function;
    string {{ encoding = UTF8; }} object;
  }};
}};

event {{
  name = "return";
  id = 1;
  stream_id = 0;
  fields := struct {{
    address_t address;
    uint64_t instructions;
    uint64_t self_instructions;
    uint8_t goes_on;
    string {{ encoding = UTF8; }} function;
  }};
}};

event {{
  name = "loss";
  id = 2;
  stream_id = 0;
  fields := struct {{
    string {{ encoding = UTF8; }} cause;
  }};
}};

event {{
  name = "no_flow";
  id = 3;
  stream_id = 0;
  fields := struct {{
    uint64_t duration;
    string {{ encoding = UTF8; }} where;
  }};
}};
)");

// In a text of the metadata, which is one of C.
std::string Quoted(std::string_view text) {
  std::string quoted;
  for (const char each : ExportedName(text, 0)) {
    if (each == '"' || each == '\\') quoted += '\\';
    quoted += each;
  }
  return quoted;
}

// The function's name comes first: a return has it alone.
void AppendTexts(const ExportedFunction& function, std::string& out) {
  out.append(function.name).push_back('\0');
  out.append(function.object).push_back('\0');
}

class CtfCalls final : public CallsTeller {
 public:
  explicit CtfCalls(TextSink& sink) : sink_(sink) {}
  void Use(ExportedCalls& calls) { calls_ = &calls; }
  // What kept it from being written whole.
  Status status() const { return status_; }

  void OnThread(const ExportedThread& thread) override {
    const std::string name = ExportedName(thread.name, 0);
    for (CtfStream* stream : {&events_, &absences_})
      stream->SetThread(thread.pid, thread.tid, name);
    number_ = thread.number;
  }
  void OnEnter(const ExportedEntry& entry) override {
    const uint64_t address = calls_->functions()[entry.function].entry_ip;
    events_.Add(CtfEvent::kCall, entry.time, texts_.Of(entry.function, calls_->functions()),
                address, entry.site);
  }
  void OnExit(const ExportedExit& exit) override {
    const ExportedFunction& function = calls_->functions()[exit.function];
    const std::string_view texts = texts_.Of(exit.function, calls_->functions());
    events_.Add(CtfEvent::kReturn, exit.time, texts.substr(0, function.name.size() + 1),
                function.entry_ip, exit.goes_on ? uint64_t{0} : exit.instructions,
                exit.goes_on ? uint64_t{0} : exit.self, static_cast<uint8_t>(exit.goes_on));
  }
  void OnLoss(std::string_view cause, uint64_t time) override {
    events_.Add(CtfEvent::kLoss, time, std::string(cause) + '\0');
  }
  void OnAbsence(const Absence& absence) override {
    constexpr std::string_view kOffCpu("off CPU", sizeof "off CPU");
    constexpr std::string_view kUntraced("untraced code", sizeof "untraced code");
    absences_.Add(CtfEvent::kNoFlow, absence.begin,
                  absence.kind == Absence::Kind::kOffCpu ? kOffCpu : kUntraced,
                  absence.end - absence.begin);
  }
  void OnThreadEnd(uint64_t) override {
    Move("thread", events_);
    Move("absences", absences_);
  }
  bool Done() const override { return sink_.closed() || !status_; }

 private:
  void Move(std::string_view what, CtfStream& stream) {
    stream.Finish();
    if (stream.empty() || !status_) return;
    status_ = AddToArchive(fmt::format("{}{}-{}", kFolder, what, number_), stream.text(), sink_);
  }

  TextSink& sink_;
  ExportedCalls* calls_ = nullptr;
  Status status_;
  FunctionTexts texts_{AppendTexts};
  // Of the current thread.
  size_t number_ = 0;
  CtfStream events_;
  CtfStream absences_;
};

}  // namespace

Status WriteCtf(const CallsExport& input, TextSink& sink) {
  SpooledText metadata;
  const bool has_nanoseconds = input.session.clock().has_nanoseconds();
  constexpr uint64_t kNanoseconds = 1'000'000'000;
  fmt::format_to(std::back_inserter(metadata.buffer()), kMetadata,
                 Quoted(input.session.options().InputName()),
                 input.session.recording().machine.emulated ? 1 : 0,
                 has_nanoseconds ? "the recording's clock, in nanoseconds"
                                 : "the recording's clock, in ticks of unknown length",
                 kNanoseconds);
  if (Status status = AddToArchive(std::string(kFolder) + "metadata", metadata, sink); !status)
    return status;
  CtfCalls ctf(sink);
  ExportedCalls calls(input, ctf);
  ctf.Use(calls);
  const Status told = calls.Tell();
  EndArchive(sink);
  return told ? ctf.status() : told;
}

}  // namespace flowback
