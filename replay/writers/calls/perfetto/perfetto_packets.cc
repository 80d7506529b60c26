// SPDX-License-Identifier: MIT
#include "replay/writers/calls/perfetto/perfetto_packets.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "replay/writers/calls/message_field.h"
#include "replay/writers/text/quick_text.h"

namespace flowback {
namespace {

std::vector<bool>::reference At(std::vector<bool>& known, size_t number) {
  if (known.size() <= number) known.resize(number + 1);
  return known[number];
}

}  // namespace

uint64_t PerfettoPackets::NumberOf(std::string_view annotation) {
  return static_cast<uint64_t>(std::ranges::find(kAnnotations, annotation) - kAnnotations) + 1;
}

perfetto::TracePacket& PerfettoPackets::NewPacket() {
  packet_.Clear();
  packet_.set_trusted_packet_sequence_id(static_cast<uint32_t>(thread_ + 1));
  packet_.set_sequence_flags(perfetto::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  return packet_;
}

void PerfettoPackets::BeginThread(const ExportedThread& thread) {
  thread_ = thread.number;
  sequence_.clear();
  AppendField(perfetto::TracePacket::kTrustedPacketSequenceIdFieldNumber, thread_ + 1, sequence_);
  known_.assign(known_.size(), false);
  known_object_.assign(known_object_.size(), false);
  perfetto::TracePacket& packet = NewPacket();
  packet.set_sequence_flags(perfetto::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED |
                            perfetto::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  packet.mutable_trace_packet_defaults()->mutable_track_event_defaults()->set_track_uuid(
      Uuid(PerfettoTrack::kCalls, thread_));
  for (const std::string_view name : kAnnotations) {
    perfetto::Named& named = *packet.mutable_interned_data()->add_debug_annotation_names();
    named.set_iid(NumberOf(name));
    named.set_name(std::string(name));
  }
  End();
  if (thread.pid >= 0 && processes_.insert(thread.pid).second) DescribeProcess(thread);
  DescribeThread(thread);
}

void PerfettoPackets::DescribeProcess(const ExportedThread& thread) {
  perfetto::TrackDescriptor& track = *NewPacket().mutable_track_descriptor();
  track.set_uuid(Uuid(PerfettoTrack::kProcess, static_cast<size_t>(thread.pid)));
  track.mutable_process()->set_pid(thread.pid);
  if (!thread.process.empty()) track.mutable_process()->set_process_name(thread.process);
  End();
}

// A stream whose threads are unknown is a track with a name alone.
void PerfettoPackets::DescribeThread(const ExportedThread& thread) {
  perfetto::TrackDescriptor& track = *NewPacket().mutable_track_descriptor();
  track.set_uuid(Uuid(PerfettoTrack::kCalls, thread_));
  if (thread.pid < 0 || thread.tid < 0) {
    track.set_name("stream " + std::to_string(thread_) + ", thread not known");
  } else {
    track.set_parent_uuid(Uuid(PerfettoTrack::kProcess, static_cast<size_t>(thread.pid)));
    track.mutable_thread()->set_pid(thread.pid);
    track.mutable_thread()->set_tid(thread.tid);
    if (!thread.name.empty()) track.mutable_thread()->set_thread_name(thread.name);
  }
  End();
}

void PerfettoPackets::NeedTrack(PerfettoTrack kind, std::string_view name) {
  if (!tracks_.insert(Uuid(kind, thread_)).second) return;
  perfetto::TrackDescriptor& track = *NewPacket().mutable_track_descriptor();
  track.set_uuid(Uuid(kind, thread_));
  track.set_parent_uuid(Uuid(PerfettoTrack::kCalls, thread_));
  track.set_name(std::string(name));
  if (kind == PerfettoTrack::kInstructions)
    track.mutable_counter()->set_unit(perfetto::CounterDescriptor::UNIT_COUNT);
  End();
}

PerfettoPackets::Event& PerfettoPackets::Begin(Event::Type type, uint64_t time) {
  NewPacket().set_timestamp(time);
  packet_.mutable_track_event()->set_type(type);
  return *packet_.mutable_track_event();
}

PerfettoPackets::Event& PerfettoPackets::Begin(Event::Type type, uint64_t time,
                                               PerfettoTrack track) {
  Event& event = Begin(type, time);
  event.set_track_uuid(Uuid(track, thread_));
  return event;
}

void PerfettoPackets::NameFunction(uint32_t number, const ExportedFunction& function) {
  packet_.mutable_track_event()->set_name_iid(uint64_t{number} + 1);
  if (!At(known_, number)) {
    At(known_, number) = true;
    perfetto::Named& name = *packet_.mutable_interned_data()->add_event_names();
    name.set_iid(uint64_t{number} + 1);
    name.set_name(function.name);
  }
  if (function.object.empty()) return;
  if (!At(known_object_, number)) {
    At(known_object_, number) = true;
    perfetto::InternedText& text =
        *packet_.mutable_interned_data()->add_debug_annotation_string_values();
    text.set_iid(uint64_t{number} + 1);
    text.set_str(function.object);
  }
  perfetto::DebugAnnotation& object = *packet_.mutable_track_event()->add_debug_annotations();
  object.set_name_iid(NumberOf("object"));
  object.set_string_value_iid(uint64_t{number} + 1);
}

void PerfettoPackets::Annotate(std::string_view name, uint64_t value) {
  perfetto::DebugAnnotation& annotation = *packet_.mutable_track_event()->add_debug_annotations();
  annotation.set_name_iid(NumberOf(name));
  annotation.set_uint_value(value);
}

// Fields may be written one after the other: a message is the sum of its parts.
void PerfettoPackets::AppendPacket(uint64_t time, std::string_view rest) {
  constexpr size_t kMostNumber = 10;
  char stamp[1 + kMostNumber];
  char* const end = PutField(perfetto::TracePacket::kTimestampFieldNumber, time, stamp);
  const auto size = static_cast<size_t>(end - stamp);
  AppendUpTo(1 + kMostNumber + size + sequence_.size() + rest.size(), sink_.buffer(),
             [&](char* at) {
               *at++ = static_cast<char>(TagOfLength(perfetto::Trace::kPacketFieldNumber));
               at = PutVarint(size + sequence_.size() + rest.size(), at);
               return PutText(rest, PutText(sequence_, PutText({stamp, size}, at)));
             });
  sink_.Commit();
}

void PerfettoPackets::EnterCall(uint64_t time, uint32_t number, const ExportedFunction& function) {
  const bool is_named =
      At(known_, number) && (function.object.empty() || At(known_object_, number));
  if (!is_named) {
    Begin(Event::TYPE_SLICE_BEGIN, time);
    NameFunction(number, function);
    return End();
  }
  if (enters_.size() <= number) enters_.resize(number + 1);
  std::string& rest = enters_[number];
  if (rest.empty()) {
    Begin(Event::TYPE_SLICE_BEGIN, time);
    NameFunction(number, function);
    packet_.clear_timestamp();
    packet_.clear_trusted_packet_sequence_id();
    packet_.AppendToString(&rest);
  }
  AppendPacket(time, rest);
}

void PerfettoPackets::ExitCall(uint64_t time, uint64_t instructions, uint64_t self) {
  using Packet = perfetto::TracePacket;
  using Annotation = perfetto::DebugAnnotation;
  static const uint64_t kInstructions = NumberOf("instructions");
  static const uint64_t kSelf = NumberOf("self instructions");
  constexpr size_t kMostField = 11;
  char event[4 * kMostField + 4 + kMostField];
  char* end = event;
  for (const auto& [name, value] :
       {std::pair(kInstructions, instructions), std::pair(kSelf, self)}) {
    char annotation[2 * kMostField];
    char* at = PutField(Annotation::kNameIidFieldNumber, name, annotation);
    at = PutField(Annotation::kUintValueFieldNumber, value, at);
    end = PutMessage(Event::kDebugAnnotationsFieldNumber, std::string_view(annotation, at), end);
  }
  end = PutField(Event::kTypeFieldNumber, Event::TYPE_SLICE_END, end);
  char rest[sizeof event + 2 * kMostField];
  char* at = PutMessage(Packet::kTrackEventFieldNumber, std::string_view(event, end), rest);
  at = PutField(Packet::kSequenceFlagsFieldNumber, Packet::SEQ_NEEDS_INCREMENTAL_STATE, at);
  AppendPacket(time, std::string_view(rest, at));
}

void PerfettoPackets::End() {
  AppendMessage(perfetto::Trace::kPacketFieldNumber, packet_, sink_.buffer());
  sink_.Commit();
}

}  // namespace flowback
