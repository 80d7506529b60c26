// SPDX-License-Identifier: MIT
//
// A raw file does not say which buffer of the kernel it was. The records beside it do in part. AUX
// records carry the CPU and thread of a buffer and how many bytes the kernel wrote to it;
// ITRACE_START carries the CPU on which the trace began. If all of them name one CPU, a single
// stream is that CPU's. Several streams are told apart by their sizes.
#include "capture/formats/raw_stream_owner.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace flowback {
namespace {

constexpr const char* kUnknownOwner =
    "the switch records name several threads, but not which CPU wrote this stream: its trace "
    "belongs to no thread";

// What the records say of the buffers and of the threads that ran.
class Buffers {
 public:
  explicit Buffers(const Recording& recording) {
    for (const SidebandRecord& record : recording.sideband)
      std::visit([this](const auto& one) { On(one); }, record);
  }

  // Whether the trace may be of more than one thread.
  bool SeveralThreads() const { return has_switches_ && (threads_.size() > 1 || unnamed_); }
  // A switch record of the kernel's lacks the thread: the sample type lacks it.
  bool Unnamed() const { return unnamed_; }
  // Returns the one process of all threads; -1: there are several.
  int32_t OneProcess() const { return pids_.size() == 1 && !unnamed_ ? *pids_.begin() : -1; }

  // Returns the only CPU that a buffer, or else a switch, is known of; -1: no CPU is known, or
  // several are.
  int32_t OnlyCpu() const {
    for (const std::set<int32_t>* cpus : {&of_buffers_, &of_switches_})
      if (!cpus->empty()) return cpus->size() == 1 ? *cpus->begin() : -1;
    return -1;
  }
  // Returns the only CPU whose AUX records add up to `size` bytes; -1: there is no such CPU.
  int32_t CpuOfSize(uint64_t size) const { return OfSize(by_cpu_, size); }
  // Returns the only thread whose AUX records add up to that. Its records name several CPUs: a
  // buffer of one CPU may have all its records from one thread, too, though others wrote to it.
  int32_t ThreadOfSize(uint64_t size) const {
    const int32_t tid = OfSize(by_tid_, size);
    return tid >= 0 && cpus_of_.at(tid).size() > 1 ? tid : -1;
  }

 private:
  void On(const SwitchRecord& record) {
    has_switches_ = true;
    unnamed_ |= record.tid < 0;
    Name(record.pid, record.tid);
    Name(record.other_pid, record.other_tid);
    if (record.cpu >= 0) of_switches_.insert(record.cpu);
  }
  void On(const ItraceStartRecord& record) {
    Name(record.pid, record.tid);
    if (record.cpu >= 0) of_buffers_.insert(record.cpu);
  }
  void On(const AuxRecord& record) {
    if (record.cpu < 0 || record.size == 0) return;
    of_buffers_.insert(record.cpu);
    by_cpu_[record.cpu] += record.size;
    by_tid_[record.tid] += record.size;
    cpus_of_[record.tid].insert(record.cpu);
  }
  template <class Other>
  void On(const Other&) {}

  void Name(int32_t pid, int32_t tid) {
    if (tid <= 0) return;  // the idle task, or unknown
    threads_.insert(tid);
    pids_.insert(pid);
  }

  static int32_t OfSize(const std::map<int32_t, uint64_t>& sizes, uint64_t size) {
    const auto fits = [size](const auto& of) { return of.second == size; };
    if (std::ranges::count_if(sizes, fits) != 1) return -1;
    return std::ranges::find_if(sizes, fits)->first;
  }

  bool has_switches_ = false;
  bool unnamed_ = false;
  std::set<int32_t> threads_;
  std::set<int32_t> pids_;
  std::set<int32_t> of_buffers_;        // CPUs
  std::set<int32_t> of_switches_;       // CPUs
  std::map<int32_t, uint64_t> by_cpu_;  // bytes
  std::map<int32_t, uint64_t> by_tid_;
  std::map<int32_t, std::set<int32_t>> cpus_of_;  // threads
};

bool SameSizeAsAnother(const Recording& recording, const Stream& stream) {
  return std::ranges::count_if(recording.streams, [&stream](const Stream& other) {
           return other.bytes.size() == stream.bytes.size();
         }) > 1;
}

// Sets the stream's CPU or thread if the records name it.
void Assign(const Buffers& buffers, const Recording& recording, Stream& stream) {
  stream.pid = buffers.OneProcess();
  stream.cpu = stream.tid = -1;
  if (buffers.Unnamed()) return;
  const bool alone = recording.streams.size() == 1;
  const uint64_t size = stream.bytes.size();
  if (alone || !SameSizeAsAnother(recording, stream)) {
    stream.cpu = buffers.CpuOfSize(size);
    if (stream.cpu < 0) stream.tid = buffers.ThreadOfSize(size);
  }
  if (alone && stream.cpu < 0 && stream.tid < 0) stream.cpu = buffers.OnlyCpu();
}

}  // namespace

void AssignRawStreams(Recording& recording) {
  const Buffers buffers(recording);
  if (!buffers.SeveralThreads()) return;
  for (Stream& stream : recording.streams) {
    Assign(buffers, recording, stream);
    if (stream.tid >= 0 || (stream.cpu >= 0 && recording.time.known())) continue;
    if (stream.cpu >= 0) {
      recording.warnings.push_back(
          {stream.file + ": the switch records name several threads, but the time conversion is "
                         "unknown: the trace is nobody's",
           "name the conversion with --time-conv"});
    } else {
      recording.warnings.push_back(
          {stream.file + ": " + kUnknownOwner,
           "give --pevent the records of this stream's CPU alone, and name a --sample-type that "
           "has the thread, the time and the CPU, such as 0x10086"});
    }
  }
}

}  // namespace flowback
