// SPDX-License-Identifier: MIT
// Records a program by running it in QEMU with our plugin, which writes the packets; this side
// starts it, takes the packets out of the shared memory while it runs, and hands them on.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "capture/record/emulate/shared_area.h"
#include "capture/record/generate/trace_clock.h"
#include "capture/record/output/recording_sink.h"
#include "capture/record/target/launch.h"
#include "capture/record/watch/region_log.h"
#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback::record {

// The shared area, as its owner holds it. Other processes open it by `path`.
class OwnedArea {
 public:
  static Result<std::unique_ptr<OwnedArea>> Create(const RecordOptions& options);
  ~OwnedArea();
  OwnedArea(const OwnedArea&) = delete;
  OwnedArea& operator=(const OwnedArea&) = delete;

  SharedArea& area() { return *area_; }
  // The recording's clock.
  const TraceClock& clock() const { return clock_; }
  std::string path() const;
  // Frees the slot for another thread, and gives its memory back.
  void Free(uint32_t slot);
  // How many processes of the recording there are, the command's own aside as long as it has not
  // begun. Once it returns 0, no process joins any more.
  uint64_t CountProcesses();

 private:
  OwnedArea(Descriptor fd, SharedArea* area, const TraceClock& clock)
      : fd_(std::move(fd)), area_(area), clock_(clock), presence_(area->presence) {}

  Descriptor fd_;
  SharedArea* area_;
  TraceClock clock_;
  PresencePage presence_;
};

// The emulator, and what the program needs to run in it. Errors: kNoHardware when no emulator or no
// plugin is found, kCommandMissing and kCommandRefused.
struct EmulatedCommand {
  std::vector<std::string> words;
  std::vector<std::string> environment;
  std::vector<std::string> notes;
  int plugin_interface = 0;        // the version that the plugin will state
  bool wants_same_places = false;  // addresses must not be chosen at random
};
Result<EmulatedCommand> MakeEmulatedCommand(const RecordOptions& options, const std::string& area);

// One recording. RequestStop may be called by any thread.
class EmulateEngine {
 public:
  EmulateEngine(const RecordOptions& options, int plugin_interface, OwnedArea& area,
                RecordingSink& sink)
      : options_(options),
        plugin_interface_(plugin_interface),
        clock_(area.clock()),
        owned_(area),
        area_(area.area()),
        sink_(sink) {}

  // Takes everything the program and the processes that it starts write until all have ended, or
  // until it is stopped: then the sink is finished first and the program waited for afterwards.
  // Where the output can't be written the same, and the summary says so.
  Result<RecordSummary> Run(pid_t pid);
  void RequestStop();
  void RequestSnapshot() { snapshot_requested_.store(true); }
  void AddNote(const std::string& text);

 private:
  // One piece of sideband, from a thread.
  struct Message {
    MessageHeader header;
    int32_t pid;
    int32_t tid;
    std::string text;
  };

  void TellThreadsLeftOut();
  void TellUntraced();
  void NoteUnlikeNative(const Message& message);
  void CountUnlikeNative();
  void TellLost(uint64_t tsc, int32_t pid, int32_t tid, uint64_t count);
  void Drain(uint64_t least);
  std::vector<uint32_t> SlotsInOrder();
  void DrainSlot(uint32_t index, uint64_t least, std::vector<Message>& messages);
  void TakeTrace(uint32_t index);
  std::vector<uint8_t> RestOfPackets(const ThreadProgress& flow) const;
  std::vector<uint8_t> RestOfBranches(const ThreadProgress& flow) const;
  void FinishSlot(uint32_t index);
  void EndDeadThreads();
  void ReadMessages(uint32_t index, std::vector<Message>& messages);
  void Tell(const Message& message);
  void NoteRegion(const Message& message);
  void TellSideband(const Message& message);
  void TakeImage(const Message& message, const std::string& text, MmapRecord& map);
  const RecordedStream& StreamOf(uint32_t index);
  // Streams of virtual CPUs.
  bool per_cpu() const { return options_.streams.per_cpu; }
  void TakeCpuTraces(uint64_t least);
  void TakeCpuTrace(uint32_t cpu);
  const RecordedStream& CpuStream(uint32_t cpu);
  std::optional<uint32_t> CpuOf(const Slot& slot) const;
  void FreeCpu(const Slot& slot, Bytes rest);
  int32_t CpuFor(const Message& message) const;
  void TellSwitch(const Message& message);
  bool HasEnded(pid_t pid);
  bool AllEnded(pid_t pid, unsigned round);
  void WaitForProgram(pid_t pid);
  void TakeLast();
  bool StopIsDone();
  void CountFlow();
  void Summarize();
  Error NothingRan() const;
  void OnFailure();
  void Break();
  void Check(Status status);

  const RecordOptions& options_;
  const int plugin_interface_;
  const TraceClock& clock_;
  OwnedArea& owned_;
  SharedArea& area_;
  RecordingSink& sink_;
  std::map<std::pair<int32_t, int32_t>, RecordedStream> streams_;  // by pid and tid: threads
  std::map<uint32_t, RecordedStream> cpu_streams_;                 // by virtual CPU
  std::map<int32_t, int32_t> on_cpu_;  // thread by virtual CPU, by the records so far
  std::vector<uint8_t> buffer_;
  RegionLog regions_;
  RecordSummary summary_;
  Status status_;
  std::set<std::pair<int32_t, uint64_t>> code_pages_;  // code in no file, by pid and address
  bool broken_ = false;                                // status_ is not the output's
  bool code_changed_ = false;
  std::array<bool, kSlots> exits_{};  // the slot's thread said that it ends
  std::atomic<bool> snapshot_requested_ = false;
  pid_t command_ = -1;
  uint64_t told_left_out_ = 0;
  std::map<std::pair<int32_t, int32_t>, std::string> untraced_;  // by pid and tid: why
  bool ended_ = false;                                           // the command
  uint64_t left_running_ = 0;                                    // processes, when it had ended
  bool stopped_ = false;                                         // before all ended
  unsigned stop_rounds_ = 0;                                     // since it was asked to stop
};

}  // namespace flowback::record
