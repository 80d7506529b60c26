// SPDX-License-Identifier: MIT
#include "replay/gdb/machine_view.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/hex.h"
#include "replay/session/ended_thread.h"
#include "replay/writers/text/printable.h"

namespace flowback::gdb {

ThreadNumber MachineView::NumberOf(size_t thread) const {
  const IndexedThread& of = machine().thread(thread);
  if (of.tid <= 0) return {.pid = 1, .tid = static_cast<int64_t>(thread) + 1};
  return {.pid = of.pid > 0 ? of.pid : 1, .tid = of.tid};
}

std::optional<size_t> MachineView::ThreadOf(int64_t pid, int64_t tid) const {
  for (size_t thread = 0; thread < machine().size(); ++thread) {
    const ThreadNumber number = NumberOf(thread);
    if (number.tid == tid && (pid <= 0 || number.pid == pid)) return thread;
  }
  return std::nullopt;
}

namespace {

const ProcessEnd* EndOf(const Recording& recording, int32_t tid) {
  for (const ProcessEnd& end : recording.process_ends) {
    const bool may_be = end.tid == tid || (end.tid < 0 && end.pid == tid);
    if (may_be && WIFSIGNALED(end.wait_status) && EndedThread(recording, end) == tid) return &end;
  }
  return nullptr;
}

}  // namespace

std::optional<int> MachineView::KilledBy(size_t thread) const {
  const ProcessEnd* end = EndOf(session().recording(), machine().thread(thread).tid);
  return end == nullptr ? std::nullopt : std::optional(WTERMSIG(end->wait_status));
}

std::optional<size_t> MachineView::KilledThread() const {
  for (size_t thread = 0; thread < machine().size(); ++thread)
    if (KilledBy(thread)) return thread;
  return std::nullopt;
}

std::optional<int> MachineView::DiesHereOf(size_t thread, const MachineThread& at) const {
  const ProcessEnd* end = EndOf(session().recording(), at.tid);
  if (end == nullptr || at.number + 1 < machine().thread(thread).instructions) return std::nullopt;
  // A system call that raises the signal has executed.
  const uint64_t after = at.never_executed ? at.pc : at.pc + at.instruction.length;
  if (end->ip && *end->ip != after) return std::nullopt;
  return WTERMSIG(end->wait_status);
}

bool MachineView::HasExited(int32_t tid) const {
  const uint64_t now = machine().At(machine().current()).tsc;
  return exits_.IsBefore(tid, now == 0 ? UINT64_MAX : session().clock().Value(now));
}

std::string MachineView::NameOf(size_t thread, const MachineThread& at) const {
  const RecordingClock& clock = session().clock();
  const uint64_t time = at.tsc == 0 || !clock.has_nanoseconds() ? 0 : clock.Value(at.tsc);
  return Printable(session().threads().CommAt(machine().thread(thread).tid, time).comm);
}

std::string MachineView::PlaceText(const MachineThread& at) const {
  const AddressSpace* space = at.instruction.space;
  const auto symbol = space == nullptr ? std::nullopt : session().symbols().Find(*space, at.pc);
  if (!symbol) return Hex(at.pc);
  return fmt::format("{}+{:#x}", Printable(symbol->name), symbol->offset);
}

std::string MachineView::TimeText(const MachineThread& at) const {
  std::string text;
  session().clock().AppendText(text, at.tsc);
  return session().clock().has_nanoseconds() && at.tsc != 0 ? text + " s" : text;
}

std::string MachineView::WhenText(size_t thread) const {
  const MachineThread at = machine().At(thread);
  const std::string name = NameOf(thread, at);
  std::string text = fmt::format("thread {}", NumberOf(thread).tid);
  if (!name.empty()) text += fmt::format(" ({})", name);
  text += fmt::format(" before instruction #{} of {}, time {}, in {}", at.number,
                      machine().thread(thread).instructions, TimeText(at), PlaceText(at));
  if (at.never_executed) text += "; the recording ends here, the instruction never executed";
  if (at.state == ThreadState::kEnded)
    text += HasExited(at.tid) ? "; the thread has ended"
                              : "; it executes no more, and no exit of it is recorded";
  if (at.state == ThreadState::kNotBegun) text += "; the thread has not begun";
  return text;
}

std::string MachineView::LossText(const DataLoss& loss) const {
  std::string text = fmt::format("the trace has no record here: {}", Name(loss.cause));
  if (loss.tsc != 0 && loss.end_tsc > loss.tsc && session().clock().has_nanoseconds())
    text += fmt::format(", for {} ns",
                        session().clock().Value(loss.end_tsc) - session().clock().Value(loss.tsc));
  if (loss.bytes() != 0) text += fmt::format(", {} bytes of the trace", loss.bytes());
  return text + fmt::format(". To record more: {}", Remedy(loss.cause));
}

std::string MachineView::EventText(const TraceEvent& event) const {
  std::string text = Name(event.kind);
  if (event.has_ip && event.ip != 0) text += " at " + Hex(event.ip);
  if (event.target != 0) text += ", on at " + Hex(event.target);
  if (event.value != 0) text += ", value " + Hex(event.value);
  return text;
}

std::vector<LoadedImage> MachineView::Images() const {
  const MachineThread at = machine().At(machine().current());
  if (at.instruction.space == nullptr) return {};
  std::vector<LoadedImage> images = this->images().ImagesOf(*at.instruction.space);
  const CursorInstruction last = machine().LastOf(machine().current());
  if (last.space == nullptr || last.space == at.instruction.space) return images;
  const auto is_there = [](const std::vector<LoadedImage>& list, const LoadedImage& image) {
    return std::ranges::any_of(list, [&](const LoadedImage& other) {
      return other.file == image.file && other.bias == image.bias;
    });
  };
  const std::vector<LoadedImage> later = this->images().ImagesOf(*last.space);
  // Another program took the place of this one.
  for (const LoadedImage& image : images)
    if (image.layout->is_program && !is_there(later, image)) return images;
  for (const LoadedImage& image : later)
    if (!is_there(images, image)) images.push_back(image);
  return images;
}

std::string MachineView::ProgramFile() const {
  for (const LoadedImage& image : Images())
    if (image.layout->is_program) return std::string(session().RecordedPath(image.file));
  return {};
}

}  // namespace flowback::gdb
