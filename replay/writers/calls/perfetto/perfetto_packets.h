// SPDX-License-Identifier: MIT
// Packets of a Perfetto trace, one after the other: only the current one is in memory.
//
// Each thread's packets are a sequence of their own. A name is given once in a sequence, and its
// number stands for it from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "flowback/writers.h"
#include "perfetto.pb.h"
#include "replay/writers/calls/exported_calls.h"

namespace flowback {

// The tracks of a thread; its process has one, too.
enum class PerfettoTrack : uint8_t { kProcess, kCalls, kState, kInstructions, kWaits, kHolds };

class PerfettoPackets {
 public:
  using Event = perfetto::TrackEvent;

  // The sink must outlive it.
  explicit PerfettoPackets(TextSink& sink) : sink_(sink) {}

  // Describes the thread, and its process if it is the first one of that. What follows is about it.
  void BeginThread(const ExportedThread& thread);
  // What follows is about that thread, which has begun before.
  void GoBackTo(size_t thread) { thread_ = thread; }
  // Describes another track of the thread, unless that was done.
  void NeedTrack(PerfettoTrack track, std::string_view name);
  // Begins an event on the thread's calls. Add to it, then call End.
  Event& Begin(Event::Type type, uint64_t time);
  // As above, on another track of the thread.
  Event& Begin(Event::Type type, uint64_t time, PerfettoTrack track);
  // The names of the event that has begun.
  void NameFunction(uint32_t number, const ExportedFunction& function);
  void Annotate(std::string_view name, uint64_t value);
  // Writes the event.
  void End();
  // Write the same bytes as Begin, NameFunction or Annotate, and End, in a sixth of the time.
  void EnterCall(uint64_t time, uint32_t number, const ExportedFunction& function);
  void ExitCall(uint64_t time, uint64_t instructions, uint64_t self);

 private:
  // Names of annotations by their numbers, which begin at 1.
  static constexpr std::string_view kAnnotations[] = {"object", "instructions", "self instructions",
                                                      "continued"};
  static uint64_t NumberOf(std::string_view annotation);

  uint64_t Uuid(PerfettoTrack track, size_t number) const {
    return (uint64_t{static_cast<uint8_t>(track)} + 1) << 40 | number;
  }
  perfetto::TracePacket& NewPacket();
  // Writes a packet of the thread: `rest` holds its fields behind the time and the sequence.
  void AppendPacket(uint64_t time, std::string_view rest);
  void DescribeProcess(const ExportedThread& thread);
  void DescribeThread(const ExportedThread& thread);

  TextSink& sink_;
  perfetto::TracePacket packet_;
  std::unordered_set<int32_t> processes_;  // that are described
  std::unordered_set<uint64_t> tracks_;    // the same, beside those of calls
  std::vector<std::string> enters_;        // by function: the rest of a packet that enters it
  // State of the current thread.
  size_t thread_ = 0;
  std::vector<bool> known_;         // functions whose names were given
  std::vector<bool> known_object_;  // the same for their files
  std::string sequence_;            // the field of its packets with its number
};

}  // namespace flowback
