// SPDX-License-Identifier: MIT
// The recorder's loop: every few milliseconds it empties the rings of all slots.
//
// A thread that ends says so. One that dies of a signal, or is killed, does not: now and then the
// recorder asks the kernel whether the slots' threads are there still. A thread publishes whole
// packets only; the outcomes not yet in one and where control stood are in the slot: the recorder
// writes the packets for them.
#include "capture/record/emulate/emulate_engine.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "capture/record/emulate/mapped_file_text.h"
#include "capture/record/emulate/plugin_interface.h"
#include "capture/record/emulate/ring.h"
#include "capture/record/generate/branch_trace.h"
#include "capture/record/image/file_build_id.h"
#include "capture/record/image/mapped_image.h"
#include "capture/record/target/process_ends.h"
#include "capture/record/target/process_maps.h"
#include "capture/record/watch/watched_functions.h"
#include "decode/pt/packets/packet_writer.h"

namespace flowback::record {
namespace {

constexpr long kPauseNanoseconds = 2'000'000;
// A recording of many small pieces takes long to open, so trace waits for more, at most
// kTakeLittleEvery rounds. A killed recorder loses the trace that it has not written.
constexpr uint64_t kWorthTaking = kTraceRingBytes / 4;
constexpr unsigned kTakeLittleEvery = 16;
constexpr unsigned kLookEvery = 100;      // rounds between two looks for dead threads
constexpr unsigned kCountEvery = 50;      // rounds between two counts for the progress
constexpr unsigned kCountLeftEvery = 10;  // the same for processes that outlive the command
constexpr unsigned kStopRounds = 2500;    // five seconds, for the threads to end their traces

void Pause() {
  const timespec pause{.tv_sec = 0, .tv_nsec = kPauseNanoseconds};
  nanosleep(&pause, nullptr);
}

// Whether its thread would still say something when asked to stop. In the kernel it has said all,
// and on its way back it finds that nobody wants more.
bool HasMoreToTell(Slot& slot) {
  const SlotState state = slot.state.load(std::memory_order_acquire);
  return state == SlotState::kEnded || (state == SlotState::kLive && slot.CurrentFlow().next != 0);
}

}  // namespace

Result<RecordSummary> EmulateEngine::Run(pid_t pid) {
  command_ = pid;
  for (unsigned rounds = 1; !AllEnded(pid, rounds) && !StopIsDone(); ++rounds) {
    const bool snapshot = snapshot_requested_.exchange(false);
    Drain(snapshot || rounds % kTakeLittleEvery == 0 ? 1 : kWorthTaking);
    if (snapshot) Check(sink_.TakeSnapshot(clock_.Now()));
    if (rounds % kLookEvery == 0) EndDeadThreads();
    if (rounds % kCountEvery == 0) {
      CountFlow();
      Check(sink_.Settle());
    }
    if (!status_) OnFailure();
    Pause();
  }
  stopped_ = area_.recording.load() != Recording::kGoesOn;
  TakeLast();
  if (stopped_ && left_running_ != 0) AddNote(kRunOn);
  if (summary_.threads.empty() && !stopped_) return Fail(NothingRan());
  CompleteProcessEnds(summary_, command_,
                      ended_ ? std::optional(summary_.command_status) : std::nullopt,
                      clock_.ToNanoseconds(clock_.Now()));
  Summarize();
  if (!status_) OnFailure();
  if (!ended_) WaitForProgram(pid);
  if (broken_) return Fail(std::move(status_.error()));
  if (!status_) summary_.failure = std::move(status_.error());
  return std::move(summary_);
}

// The output can't be written, or the program overwrote what it shares with the recorder: that can
// be trusted no more, nor then the program's own memory.
void EmulateEngine::OnFailure() {
  if (!broken_) summary_.stop_reason = StopReason::kOutputFailed;
  if ((broken_ || options_.files.kill_on_failure) && !ended_) kill(command_, SIGKILL);
  RequestStop();
}

void EmulateEngine::Break() {
  broken_ = broken_ || status_;
  Check(Fail(ErrorCode::kSystem, "the memory shared with the emulator was overwritten"));
}

// Whether nothing is left to record: not the command, and none of the processes that it started.
bool EmulateEngine::AllEnded(pid_t pid, unsigned round) {
  const bool had_ended = ended_;
  ended_ = ended_ || HasEnded(pid);
  if (!ended_ || (had_ended && round % kCountLeftEvery != 0)) return false;
  EndDeadThreads();
  left_running_ = owned_.CountProcesses();
  sink_.CountLeftRunning(left_running_);
  return left_running_ == 0;
}

void EmulateEngine::RequestStop() {
  Recording expected = Recording::kGoesOn;
  area_.recording.compare_exchange_strong(expected, Recording::kStops);
  for (Slot& slot : area_.slots)
    if (slot.state.load() == SlotState::kLive) slot.attention.fetch_or(kAttentionStop);
}

// Processes may outlive the recording: gives their threads the time to write where they are.
void EmulateEngine::TakeLast() {
  RequestStop();
  Drain(1);
  EndDeadThreads();
  for (unsigned i = 0; i < kStopRounds && std::ranges::any_of(area_.slots, HasMoreToTell); ++i) {
    Pause();
    Drain(1);
    if (i % kLookEvery == 0) EndDeadThreads();
  }
  for (const uint32_t i : SlotsInOrder()) {
    exits_[i] = true;  // as far as the recording goes
    FinishSlot(i);
  }
  area_.recording.store(Recording::kOver);
  TellUntraced();
}

// Reports programs that ran untraced, and forgets programs that did not run after all.
void EmulateEngine::TellUntraced() {
  for (const auto& [thread, text] : untraced_) {
    if (text.empty()) continue;
    area_.losses.fetch_add(1);
    AddNote(text);
    TellLost(clock_.Now(), thread.first, thread.second, 1);
  }
}

// True if the threads have stopped as requested, or had enough time: one may be stopped by a
// signal.
bool EmulateEngine::StopIsDone() {
  if (area_.recording.load() == Recording::kGoesOn) return false;
  return ++stop_rounds_ > kStopRounds || std::ranges::none_of(area_.slots, HasMoreToTell);
}

void EmulateEngine::Summarize() {
  summary_.threads_left_out = area_.threads_left_out.load();
  summary_.losses = area_.losses.load();
  if (summary_.threads_left_out != 0)
    AddNote(std::to_string(summary_.threads_left_out) + " threads were not recorded: more than " +
            std::to_string(kSlots) + " ran at once");
  if (code_changed_ && !options_.files.raw_directory.empty())
    AddNote(
        "the program changed code while it ran: the raw output's command reads it as it was first");
  CountFlow();
  CountUnlikeNative();
  for (const RecordedThread& thread : summary_.threads)
    summary_.instructions += thread.digest.count;
  summary_.regions = regions_.Regions();
  Check(sink_.Finish(summary_));
}

Error EmulateEngine::NothingRan() const {
  const std::string says = "what it says stands above; ";
  const std::string step = "--engine step records without it";
  if (area_.processes.load() != 0)
    return Error(ErrorCode::kSystem,
                 "the emulator ended before the program's first instruction: it could not load the "
                 "program")
        .Remedy(says + step);
  return Error(ErrorCode::kSystem,
               "the emulator ended before the program ran: it could not load the plugin, made for "
               "version " +
                   std::to_string(plugin_interface_) + " of its interface")
      .Remedy(says + "known to work are " + kKnownEmulators + "; " + step);
}

// Whether the command ended; its status goes to the summary.
bool EmulateEngine::HasEnded(pid_t pid) {
  int status = 0;
  const pid_t ended = waitpid(pid, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  if (ended == pid) summary_.command_status = status;
  return true;
}

void EmulateEngine::WaitForProgram(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return;
  summary_.command_status = status;
}

// What the ended threads executed, and the running ones so far.
void EmulateEngine::CountFlow() {
  uint64_t instructions = 0;
  for (const RecordedThread& thread : summary_.threads) instructions += thread.digest.count;
  for (Slot& slot : area_.slots)
    if (slot.state.load(std::memory_order_relaxed) != SlotState::kFree)
      instructions += std::atomic_ref(slot.flow[0].count).load(std::memory_order_relaxed);
  sink_.CountFlow(instructions, area_.losses.load());
}

// Reports them at once, in case the recorder is killed. At least the record of each thread's start
// is missing.
void EmulateEngine::TellThreadsLeftOut() {
  const uint64_t count = area_.threads_left_out.load();
  if (count == told_left_out_) return;
  TellLost(clock_.Now(), command_, command_, count - std::exchange(told_left_out_, count));
}

void EmulateEngine::TellLost(uint64_t tsc, int32_t pid, int32_t tid, uint64_t count) {
  LostRecord lost;
  lost.time = clock_.ToNanoseconds(tsc);
  lost.pid = pid;
  lost.tid = tid;
  lost.count = count;
  summary_.unrecorded += count;
  Check(sink_.AddSideband(lost));
}

// Takes trace from slots that have at least `least` bytes.
void EmulateEngine::Drain(uint64_t least) {
  TellThreadsLeftOut();
  std::vector<Message> messages;
  for (const uint32_t i : SlotsInOrder()) DrainSlot(i, least, messages);
  std::ranges::stable_sort(messages, {}, [](const Message& m) { return m.header.tsc; });
  for (const Message& message : messages) Tell(message);
  if (per_cpu()) TakeCpuTraces(least);
}

// Those in use. A thread that becomes another program leaves one slot and takes another, maybe a
// lower one: what stands in the first comes first in its stream. Whoever sees the second one in use
// sees all of the first.
std::vector<uint32_t> EmulateEngine::SlotsInOrder() {
  std::vector<uint32_t> slots;
  for (uint32_t i = 0; i < kSlots; ++i) {
    const SlotState state = area_.slots[i].state.load(std::memory_order_acquire);
    if (state == SlotState::kLive || state == SlotState::kEnded) slots.push_back(i);
  }
  std::ranges::sort(slots, {}, [this](uint32_t i) { return area_.slots[i].order; });
  return slots;
}

void EmulateEngine::DrainSlot(uint32_t index, uint64_t least, std::vector<Message>& messages) {
  const SlotState state = area_.slots[index].state.load(std::memory_order_acquire);
  if (state != SlotState::kLive && state != SlotState::kEnded) return;
  ReadMessages(index, messages);
  StreamOf(index);  // in the order in which threads begin, though the first one's trace may wait
  if (state == SlotState::kEnded || InRing(area_.slots[index].trace) >= least) TakeTrace(index);
  if (state == SlotState::kEnded) FinishSlot(index);
}

void EmulateEngine::TakeTrace(uint32_t index) {
  Slot& slot = area_.slots[index];
  const RecordedStream& stream = StreamOf(index);
  if (per_cpu()) return;
  if (!TakeAll(slot.trace, area_.TraceRing(index), kTraceRingBytes, buffer_)) return Break();
  if (buffer_.empty()) return;
  summary_.bytes += buffer_.size();
  summary_.threads[stream.index].bytes += buffer_.size();
  Check(sink_.AddTrace(stream, buffer_, clock_.Now()));
}

// Returns packets for the flow that no packet contains yet.
std::vector<uint8_t> EmulateEngine::RestOfPackets(const ThreadProgress& flow) const {
  pt::PacketWriter writer({.long_tnt = options_.packets.long_tnt});
  const uint64_t marked = flow.pending >> kPendingShift;
  for (int i = 62 - std::countl_zero(marked); i >= 0; --i) writer.TntBit((marked >> i & 1) != 0);
  writer.FlushTnt();
  // It was killed: as at a context switch that nothing follows.
  if (flow.next != 0) {
    writer.Write(pt::ExecutedCount{.instructions = flow.count}.AsPacket());
    writer.Write(pt::Fup{pt::LastIp::Uncompressed(flow.next)});
    writer.TipPgd(std::nullopt);
  }
  return writer.Take();
}

// Returns the end of the stack: all branches are written, but not that.
std::vector<uint8_t> EmulateEngine::RestOfBranches(const ThreadProgress& flow) const {
  if (flow.next == 0) return {};
  const BranchEntry last[] = {
      MakeBranchEntry(flow.next, 0, BranchKind::kInterrupt, 0),
      {.from = clock_.Now(), .to = flow.next, .flags = BranchEntry::kStackEnds}};
  const auto* bytes = reinterpret_cast<const uint8_t*>(last);
  return {bytes, bytes + sizeof last};
}

// The slot's thread writes no more, and the rings are empty.
void EmulateEngine::FinishSlot(uint32_t index) {
  Slot& slot = area_.slots[index];
  const RecordedStream& stream = StreamOf(index);
  RecordedThread& thread = summary_.threads[stream.index];
  const std::optional<uint32_t> cpu = CpuOf(slot);
  const ThreadProgress& flow = cpu         ? slot.LastFlow(area_.cpus[*cpu].trace)
                               : per_cpu() ? slot.CurrentFlow()
                                           : slot.LastFlow(slot.trace);
  const std::vector<uint8_t> rest =
      options_.streams.branch_depth ? RestOfBranches(flow) : RestOfPackets(flow);
  const bool ended = std::exchange(exits_[index], false);
  // A thread that ended by itself left its CPU before its message; after a failed execve it may be
  // back by now.
  const bool killed = ended && slot.state.load() == SlotState::kLive;
  if (per_cpu()) {
    if (killed) FreeCpu(slot, rest);
  } else if (!rest.empty()) {
    summary_.bytes += rest.size();
    thread.bytes += rest.size();
    Check(sink_.AddTrace(stream, rest, clock_.Now()));
  }
  thread.digest.Append({flow.count, flow.hash});
  if (ended && !per_cpu()) Check(sink_.EndStream(stream));
  owned_.Free(index);
}

void EmulateEngine::EndDeadThreads() {
  for (uint32_t i = 0; i < kSlots; ++i) {
    Slot& slot = area_.slots[i];
    if (slot.state.load(std::memory_order_acquire) != SlotState::kLive) continue;
    if (ThreadLives(slot.pid, slot.tid)) continue;
    std::vector<Message> messages;
    ReadMessages(i, messages);
    TakeTrace(i);
    messages.push_back(
        {{.kind = MessageKind::kExit, .tsc = clock_.Tick()}, slot.pid, slot.tid, {}});
    for (const Message& message : messages) Tell(message);
    exits_[i] = true;
    FinishSlot(i);
  }
}

void EmulateEngine::ReadMessages(uint32_t index, std::vector<Message>& messages) {
  Slot& slot = area_.slots[index];
  std::vector<uint8_t> bytes;
  if (!TakeAll(slot.sideband, area_.SidebandRing(index), kSidebandRingBytes, bytes)) return Break();
  for (Bytes rest = bytes; rest.size() >= sizeof(MessageHeader);) {
    Message message{.header = {}, .pid = slot.pid, .tid = slot.tid, .text = {}};
    std::memcpy(&message.header, rest.data(), sizeof message.header);
    if (message.header.TotalSize() > rest.size()) return Break();
    message.text.assign(reinterpret_cast<const char*>(rest.data()) + sizeof message.header,
                        message.header.text_size);
    rest = rest.subspan(message.header.TotalSize());
    exits_[index] = exits_[index] || message.header.kind == MessageKind::kExit;
    messages.push_back(std::move(message));
  }
}

void EmulateEngine::Tell(const Message& message) {
  switch (message.header.kind) {
    case MessageKind::kUntraced:
      untraced_[{message.pid, message.tid}] = message.text;
      return;
    case MessageKind::kNote:
      return AddNote(message.text);
    case MessageKind::kUnlikeNative:
      return NoteUnlikeNative(message);
    case MessageKind::kEnd:
      if (auto end = DecodeProcessEnd(message.text)) {
        end->time = clock_.ToNanoseconds(message.header.tsc);
        summary_.process_ends.push_back(std::move(*end));
      }
      return;
    case MessageKind::kFunction:
      return NoteFunction(static_cast<RecordingSwitch>(message.header.offset),
                          message.header.address == 0, message.text, summary_);
    case MessageKind::kRegion:
      return NoteRegion(message);
    case MessageKind::kCode:
      code_changed_ |= !code_pages_.insert({message.pid, message.header.address}).second;
      return Check(sink_.AddCode(
          {.address = message.header.address,
           .name = "//anon",
           .bytes = {reinterpret_cast<const uint8_t*>(message.text.data()), message.text.size()},
           .time = clock_.ToNanoseconds(message.header.tsc),
           .pid = message.pid,
           .tid = message.tid}));
    default:
      return TellSideband(message);
  }
}

void EmulateEngine::NoteRegion(const Message& message) {
  const uint64_t time = clock_.ToNanoseconds(message.header.tsc);
  if (static_cast<RecordingSwitch>(message.header.offset) == RecordingSwitch::kOn)
    regions_.Begin(message.tid, message.text.substr(0, kLongestRegionName), time);
  else
    regions_.End(message.tid, time);
}

void EmulateEngine::TellSideband(const Message& message) {
  const auto add = [&](auto record) {
    record.time = clock_.ToNanoseconds(message.header.tsc);
    record.pid = message.pid;
    record.tid = message.tid;
    record.cpu = CpuFor(message);
    Check(sink_.AddSideband(record));
  };
  switch (message.header.kind) {
    case MessageKind::kStart:
      return add(ItraceStartRecord{});
    case MessageKind::kExit:
      return add(ExitRecord{});
    case MessageKind::kSwitchIn:
    case MessageKind::kSwitchOut:
      return TellSwitch(message);
    case MessageKind::kComm: {
      CommRecord comm;
      comm.comm = message.text;
      comm.exec = message.header.offset != 0;
      return add(comm);
    }
    case MessageKind::kFork: {
      ForkRecord fork;
      fork.parent_pid = static_cast<int32_t>(message.header.address);
      fork.parent_tid = static_cast<int32_t>(message.header.size);
      return add(fork);
    }
    case MessageKind::kMapping: {
      MmapRecord map;
      map.address = message.header.address;
      map.size = message.header.size;
      map.file_offset = message.header.offset;
      const size_t path_end = std::min(message.text.find('\0'), message.text.size());
      map.path = message.text.substr(0, path_end);
      if (path_end != message.text.size())
        TakeImage(message, message.text.substr(path_end + 1), map);
      else if (map.path.starts_with("/") && !map.path.starts_with("//"))
        map.build_id = BuildIdOfFile(map.path);
      return add(map);
    }
    default:
      return;
  }
}

// The process waits until its file is open: after that it may do with it what it likes.
void EmulateEngine::TakeImage(const Message& message, const std::string& text, MmapRecord& map) {
  auto file = MappedFileText::Parse(text);
  if (!file) return;
  file->mapping.path = map.path;
  const auto image = MappedImage::Open(message.pid, file->mapping);
  area_.Opened(file->key) = file->key;
  map.build_id = image->build_id;
  map.time = clock_.ToNanoseconds(message.header.tsc);
  map.pid = message.pid;
  sink_.AddImage(map, *image);
}

void EmulateEngine::NoteUnlikeNative(const Message& message) {
  const uint64_t row = message.header.address;
  if (row >= kUnlikeNativeCalls) return Break();
  const UnlikeNativeRow& known = UnlikeNativeRows()[row];
  auto& told = summary_.unlike_native;
  if (std::ranges::find(told, known.call, &UnlikeNative::call) != told.end()) return;
  told.push_back({.call = known.call,
                  .pid = message.pid,
                  .comm = message.text,
                  .times = 0,
                  .difference = known.emulated,
                  .remedy = known.instead});
}

// How often, now that all is over.
void EmulateEngine::CountUnlikeNative() {
  for (uint32_t row = 0; row < kUnlikeNativeCalls; ++row)
    for (UnlikeNative& told : summary_.unlike_native)
      if (told.call == UnlikeNativeRows()[row].call) told.times = area_.unlike_native[row].load();
}

const RecordedStream& EmulateEngine::StreamOf(uint32_t index) {
  const Slot& slot = area_.slots[index];
  const auto [found, added] = streams_.try_emplace({slot.pid, slot.tid});
  if (added) {
    found->second = {static_cast<uint32_t>(summary_.threads.size()), slot.pid, slot.tid};
    summary_.threads.push_back({.pid = slot.pid, .tid = slot.tid, .bytes = 0, .digest = {}});
    if (!per_cpu()) Check(sink_.AddStream(found->second));
  }
  return found->second;
}

void EmulateEngine::AddNote(const std::string& text) {
  auto& notes = summary_.notes;
  if (std::ranges::find(notes, text) == notes.end()) notes.push_back(text);
}

void EmulateEngine::Check(Status status) {
  if (status_ && !status) status_ = std::move(status);
}

}  // namespace flowback::record
