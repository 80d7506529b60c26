// SPDX-License-Identifier: MIT
//
// The kernel writes the trace of one CPU or one thread into a ring buffer and counts all bytes it
// ever wrote there: the AUX offset. perf empties the buffer now and then; each time it writes one
// AUXTRACE record, which holds the bytes [offset, offset + size). So the parts of one buffer,
// sorted by offset, are its stream:
//
//      AUXTRACE 0..0x3f748          AUXTRACE 0x3f742..0x7f292
//     |=====================00|    |=======================|        00: padding
//      AUX 0..0x3f742               AUX 0x3f742..0x7f292
//
// perf pads each part with zeros to a multiple of eight; the next part's offset, or for the last
// one the sum of the kernel's AUX records, shows where the padding begins. A hole between two parts
// and a "truncated" flag are gaps: bytes are missing there, and the decoder has to start anew.
//
// In snapshot mode (`perf record -S`) the buffer is written round and round and each part is a
// copy of what it held at one moment. Its offsets are places in the buffer and say nothing of the
// order, which is the file's; what consecutive parts have in common is found by content.
//
// Samples with AUX data (`perf record --aux-sample`) are such copies, too, of the buffer's end.
#include "capture/formats/perf_data/perf_auxtrace.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "base/recorded/pt_config.h"
#include "base/saturated.h"
#include "capture/formats/input/field_reader.h"
#include "capture/formats/input/text.h"
#include "capture/formats/perf_data/snapshot_overlap.h"
#include "capture/formats/perf_records/perf_layout.h"

namespace flowback::perf {
namespace {

// Sorted by offset, one gap per offset.
void Normalize(std::vector<StreamGap>& gaps) {
  const auto before = [](const StreamGap& a, const StreamGap& b) { return a.offset < b.offset; };
  const auto same = [](const StreamGap& a, const StreamGap& b) { return a.offset == b.offset; };
  std::stable_sort(gaps.begin(), gaps.end(), before);
  gaps.erase(std::unique(gaps.begin(), gaps.end(), same), gaps.end());
}

}  // namespace

void StreamCollector::BeginFile(const std::string& name) { files_.push_back(name); }

AuxPlace StreamCollector::At(uint64_t offset) const {
  return {offset, files_.empty() ? nullptr : &files_.back()};
}

void StreamCollector::AddRecord(const AuxRecord& record, uint64_t file_offset) {
  pending_.push_back({record, At(file_offset)});
}

void StreamCollector::AddData(const Record& record) {
  FieldReader fields = record.Fields();
  const uint64_t size = fields.U64();
  AuxPart part;
  part.aux_offset = fields.U64();
  if (const uint64_t reference = fields.U64(); reference != 0) references_.push_back(reference);
  const uint32_t index = fields.U32();
  const int32_t tid = fields.I32();
  const int32_t cpu = fields.I32();
  AuxBuffer& buffer = BufferOf(index, tid, cpu, At(record.offset));
  part.bytes = record.aux;
  part.file_offset = record.aux_offset;
  part.place = At(record.offset);
  part.told_offset = part.aux_offset;
  part.zeros = record.aux_zeros;
  part.cut = size > part.bytes.size();
  part.snapshot = part.bytes;
  buffer.parts.push_back(part);
  auto& known = buffer.cpu < 0 && EndsPart(pending_, part) ? buffer.records : unplaced_;
  known.insert(known.end(), pending_.begin(), pending_.end());
  pending_.clear();
}

// A buffer is of one CPU or of one thread. A record that says otherwise lies about one of them:
// whose trace its data is, is not known.
AuxBuffer& StreamCollector::BufferOf(uint32_t index, int32_t tid, int32_t cpu,
                                     const AuxPlace& place) {
  AuxBuffer& buffer = buffers_[index];
  if (buffer.parts.empty()) {
    buffer.tid = tid;
    buffer.cpu = cpu;
  }
  if (buffer.cpu == cpu && (cpu >= 0 || buffer.tid == tid)) return buffer;
  constexpr uint32_t kFirst = uint32_t{3} << 30;  // behind any index of perf's, and of samples
  const auto next = kFirst + static_cast<uint32_t>(doubtful_.size());
  const auto [found, is_new] = doubtful_.emplace(std::tuple(index, tid, cpu), next);
  const auto owner = [](int32_t of_cpu, int32_t of_tid) {
    return of_cpu >= 0 ? "CPU " + Dec(static_cast<uint64_t>(of_cpu))
                       : "thread " + std::to_string(of_tid);
  };
  owners_.Add("the AUXTRACE record at offset " + place.Text() + " says that buffer " + Dec(index) +
              " is of " + owner(cpu, tid) + ", the earlier ones declared " +
              owner(buffer.cpu, buffer.tid) + ": its data is nobody's");
  return buffers_[found->second];
}

void StreamCollector::AddSample(const SampleOwner& owner, Bytes data, uint64_t record_offset,
                                uint64_t file_offset) {
  constexpr uint32_t kFirst = uint32_t{1} << 31;  // behind any index of perf's
  const std::pair key(owner.cpu, owner.cpu < 0 ? owner.tid : -1);
  const auto next = kFirst + static_cast<uint32_t>(sample_buffers_.size());
  AuxBuffer& buffer = buffers_[sample_buffers_.emplace(key, next).first->second];
  buffer.sampled = true;
  buffer.cpu = key.first;
  buffer.tid = key.second;
  AuxPart part;
  part.bytes = data;
  part.snapshot = data;
  part.file_offset = file_offset;
  part.place = At(record_offset);
  part.time = owner.time;
  buffer.parts.push_back(part);
}

// perf writes what a buffer's kernel records say and then the buffer's data: records that add up to
// just this part are the part's. A per-thread buffer has no better sign: the thread that an AUX
// record names is the one that ran when it was written, which may be the traced one's parent.
bool StreamCollector::EndsPart(const std::vector<AuxEntry>& records, const AuxPart& part) {
  if (records.empty()) return false;
  const uint64_t end = records.back().end();
  return records.front().told.offset >= part.aux_offset && end <= part.aux_end() &&
         part.aux_end() - end < kAuxtraceAlignment;
}

// A per-CPU buffer's records name its CPU; a per-thread buffer's, mostly, its thread.
void StreamCollector::PlaceRemainingRecords() {
  std::unordered_map<int32_t, AuxBuffer*> by_cpu;
  std::unordered_map<int32_t, AuxBuffer*> by_tid;
  for (auto& [index, buffer] : buffers_) {
    if (buffer.cpu >= 0) by_cpu.emplace(buffer.cpu, &buffer);
    if (buffer.cpu < 0) by_tid.emplace(buffer.tid, &buffer);
  }
  unplaced_.insert(unplaced_.end(), pending_.begin(), pending_.end());
  for (const AuxEntry& record : unplaced_) {
    const auto cpu = by_cpu.find(record.told.cpu);
    const auto tid = by_tid.find(record.told.tid);
    if (cpu != by_cpu.end()) {
      cpu->second->records.push_back(record);
    } else if (tid != by_tid.end()) {
      tid->second->records.push_back(record);
    } else if (buffers_.size() == 1 && record.told.cpu < 0) {
      buffers_.begin()->second.records.push_back(record);
    }
  }
}

void StreamCollector::TrimPadding(AuxBuffer& buffer) {
  for (size_t i = 0; i < buffer.parts.size(); ++i) {
    AuxPart& part = buffer.parts[i];
    const bool last = i + 1 == buffer.parts.size();
    const uint64_t end = last ? buffer.RecordedEnd() : buffer.parts[i + 1].aux_offset;
    if (end < part.aux_offset || end >= part.aux_end()) continue;
    const uint64_t padding = part.aux_end() - end;
    if (padding < kAuxtraceAlignment && padding <= part.zeros) {
      part.bytes = part.bytes.first(part.bytes.size() - padding);
    }
  }
}

// Data that two records hold alike is read once; where they differ, one of them lies about its
// place, and both are kept. REQUIRES: the parts are sorted.
void StreamCollector::RemoveSaidTwice(AuxBuffer& buffer) {
  const auto overlaps = [](const AuxPart& a, const AuxPart& b) {
    return b.aux_offset < a.aux_end();
  };
  if (std::ranges::adjacent_find(buffer.parts, overlaps) == buffer.parts.end()) return;
  std::vector<AuxPart> kept;
  for (AuxPart& part : buffer.parts) {
    const uint64_t end = kept.empty() ? 0 : kept.back().aux_end();
    if (!kept.empty() && part.aux_offset < end && !part.misplaced) {
      const uint64_t size = std::min<uint64_t>(end - part.aux_offset, part.bytes.size());
      const AuxPart& before = kept.back();
      const Bytes same = before.bytes.subspan(part.aux_offset - before.aux_offset, size);
      if (std::ranges::equal(same, part.bytes.first(size))) {
        buffer.repeated_bytes += size;
        part.bytes = part.bytes.subspan(size);
        part.aux_offset += size;
        part.file_offset += size;
        if (part.bytes.empty()) continue;
      }
    }
    kept.push_back(part);
  }
  buffer.parts = std::move(kept);
}

Stream StreamCollector::Join(AuxBuffer& buffer, Recording& recording) {
  Stream stream;
  stream.index = static_cast<uint32_t>(recording.streams.size());
  stream.cpu = buffer.cpu;
  // perf also names a thread for a per-CPU buffer: the first traced one, not the only one.
  stream.tid = buffer.cpu < 0 ? buffer.tid : -1;
  // A thread's number may be used again, by another process.
  for (const AuxEntry& record : buffer.records)
    if (stream.tid > 0 && record.told.tid == stream.tid) stream.pid = record.told.pid;
  stream.file = recording.path;
  if (buffer.parts.size() == 1) {
    stream.bytes = buffer.parts.front().bytes;
    stream.file_offset = buffer.parts.front().file_offset;
    return stream;
  }
  uint64_t size = 0;
  std::vector<Bytes> parts;
  for (AuxPart& part : buffer.parts) {
    part.stream_offset = size;
    size += part.bytes.size();
    parts.push_back(part.bytes);
  }
  stream.joined = std::make_shared<JoinedBytes>(std::move(parts));
  stream.bytes = stream.joined->bytes();
  return stream;
}

void StreamCollector::AddSeamGaps(const AuxBuffer& buffer, Stream& stream) {
  for (size_t i = 1; i < buffer.parts.size(); ++i) {
    const uint64_t end = buffer.parts[i - 1].aux_end();
    const AuxPart& next = buffer.parts[i];
    if (next.misplaced) {
      stream.gaps.push_back({next.stream_offset, "the AUXTRACE record at offset " +
                                                     next.place.Text() +
                                                     " does not say how it goes on here"});
    } else if (next.aux_offset > end) {
      AddSaturated(stream.missing_bytes, next.aux_offset - end);
      stream.gaps.push_back({next.stream_offset, ByteCount(next.aux_offset - end) +
                                                     " of AUX data missing: offsets " + Hex(end) +
                                                     " to " + Hex(next.aux_offset)});
    } else if (next.aux_offset < end) {
      stream.gaps.push_back({next.stream_offset, "AUX data overlaps what came before by " +
                                                     ByteCount(end - next.aux_offset)});
    }
  }
}

// Where the byte at an AUX position stands, or would stand if it were there.
uint64_t StreamCollector::StreamPosition(const AuxBuffer& buffer, uint64_t aux_position) {
  const auto after = std::upper_bound(
      buffer.parts.begin(), buffer.parts.end(), aux_position,
      [](uint64_t position, const AuxPart& part) { return position < part.aux_offset; });
  if (after == buffer.parts.begin()) return 0;
  const AuxPart& part = *std::prev(after);
  return part.stream_offset + std::min<uint64_t>(aux_position - part.aux_offset, part.bytes.size());
}

void StreamCollector::AddRecordGaps(const AuxBuffer& buffer, Stream& stream) {
  for (const AuxEntry& record : buffer.records) {
    if (!(record.told.flags & kAuxTruncated)) continue;
    stream.gaps.push_back({StreamPosition(buffer, record.end()),
                           "AUX data truncated: the recorder did not empty the buffer in time"});
  }
  const uint64_t held = buffer.parts.back().aux_end();
  const uint64_t recorded = buffer.RecordedEnd();
  if (recorded > held) {
    AddSaturated(stream.missing_bytes, recorded - held);
    stream.gaps.push_back({stream.bytes.size(), ByteCount(recorded - held) +
                                                    " of AUX data at the end are not in the file"});
  }
}

bool StreamCollector::IsSnapshots(const AuxBuffer& buffer) const {
  return snapshots_ || buffer.sampled ||
         std::any_of(buffer.records.begin(), buffer.records.end(),
                     [](const AuxEntry& record) { return record.told.flags & kAuxOverwrite; });
}

void StreamCollector::RemoveRepeated(AuxBuffer& buffer) {
  if (buffer.sampled) std::ranges::stable_sort(buffer.parts, {}, &AuxPart::time);
  std::vector<AuxPart> kept;
  for (AuxPart& part : buffer.parts) {
    while (!kept.empty()) {
      AuxPart& before = kept.back();
      const auto overlap = FindSnapshotOverlap(before.snapshot, part.snapshot);
      part.continues = overlap.has_value();
      if (!overlap) break;
      if (overlap->earlier_is_inside) {
        buffer.repeated_bytes += before.bytes.size();
        part.continues = before.continues;
        kept.pop_back();
        continue;
      }
      before.bytes = before.bytes.first(before.bytes.size() -
                                        std::min<uint64_t>(overlap->padding, before.bytes.size()));
      part.bytes = part.bytes.subspan(overlap->repeated);
      part.file_offset += overlap->repeated;
      buffer.repeated_bytes += overlap->repeated;
      break;
    }
    kept.push_back(part);
  }
  buffer.parts = std::move(kept);
}

void StreamCollector::AddSnapshotGaps(const AuxBuffer& buffer, Stream& stream) {
  for (const AuxPart& part : buffer.parts) {
    if (part.continues) continue;
    stream.gaps.push_back(
        {part.stream_offset, buffer.sampled ? "between two samples: nothing was recorded"
                                            : "between two snapshots: the buffer was overwritten "
                                              "before the later one was taken"});
  }
}

// perf reads the time-stamp counter when it writes an AUXTRACE record. One that is damaged does not
// count among several.
uint64_t StreamCollector::MiddleReference() {
  if (references_.empty()) return 0;
  const auto middle = references_.begin() + references_.size() / 2;
  std::ranges::nth_element(references_, middle);
  return *middle;
}

void StreamCollector::Finish(Recording& recording) && {
  PlaceRemainingRecords();
  uint64_t repeated = 0;
  AuxBufferCheck check;
  for (auto& [index, buffer] : buffers_) {
    const bool snapshots = IsSnapshots(buffer);
    if (snapshots) {
      RemoveRepeated(buffer);
    } else {
      check.Check(buffer);
      // Sorting takes memory for half of them, also where they are sorted, as nearly always.
      if (!std::ranges::is_sorted(buffer.parts, {}, &AuxPart::aux_offset))
        std::ranges::stable_sort(buffer.parts, {}, &AuxPart::aux_offset);
      TrimPadding(buffer);
      RemoveSaidTwice(buffer);
    }
    Stream stream = Join(buffer, recording);
    stream.repeated_bytes = buffer.repeated_bytes;
    repeated += buffer.repeated_bytes;
    if (snapshots) {
      AddSnapshotGaps(buffer, stream);
    } else {
      AddSeamGaps(buffer, stream);
      AddRecordGaps(buffer, stream);
    }
    Normalize(stream.gaps);
    recording.streams.push_back(std::move(stream));
  }
  recording.config.Make<PtConfig>().tsc_reference = MiddleReference();
  check.Report(recording);
  owners_.Report(recording);
  if (repeated != 0) {
    recording.warnings.push_back({"pieces of the trace overlap: " + ByteCount(repeated) +
                                      " that an earlier one has, too, were read once",
                                  ""});
  }
}

}  // namespace flowback::perf
