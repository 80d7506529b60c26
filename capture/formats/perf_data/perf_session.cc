// SPDX-License-Identifier: MIT
//
// Reading is one pass over the records, in which AUX data is only pointed at. Kernel records become
// sideband and go through TimeOrder; AUXTRACE records are collected and joined at the end.
// Compressed records are unpacked piece by piece and their records go the same way.
#include "capture/formats/perf_data/perf_session.h"

#include <algorithm>

#include "capture/formats/input/stream_owner.h"
#include "capture/formats/input/text.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "capture/formats/perf_records/perf_losses.h"
#include "capture/formats/perf_records/perf_sideband.h"

namespace flowback::perf {
namespace {

std::string_view NameOfType(uint32_t type) {
  switch (type) {
#define FLOWBACK_PERF_RECORD(constant, number, name) \
  case number:                                       \
    return name;
#include "capture/formats/perf_records/perf_records.def"
#undef FLOWBACK_PERF_RECORD
    default:
      return "unknown";
  }
}

bool IsOfGuest(const Record& record) {
  const uint16_t mode = record.misc & kMiscCpuModeMask;
  return mode == kMiscGuestKernel || mode == kMiscGuestUser;
}

bool IsCompressed(uint32_t type) { return type == kRecordCompressed || type == kRecordCompressed2; }

// The newer form pads the data to eight bytes, so it says how long it is.
Bytes CompressedData(const Record& record) {
  if (record.type == kRecordCompressed) return record.body;
  FieldReader fields = record.Fields();
  const uint64_t size = fields.U64();
  return fields.Take(std::min(size, fields.remaining()));
}

// The events' names come in the attributes' order.
void NameEvents(const std::vector<std::string>& names, std::vector<EventAttr>& attrs) {
  if (names.size() != attrs.size()) return;
  for (size_t i = 0; i < names.size(); ++i) attrs[i].name = names[i];
}

std::vector<EventAttr> Named(std::vector<EventAttr> attrs, const Recording& recording) {
  NameEvents(recording.events, attrs);
  return attrs;
}

}  // namespace

RecordingReader::RecordingReader(std::vector<EventAttr> attrs, ByteOrder order,
                                 Recording& recording)
    : attrs_(Named(std::move(attrs), recording)),
      order_(order),
      recording_(recording),
      ids_(attrs_, recording.warnings),
      call_samples_(attrs_),
      counters_(attrs_),
      event_samples_(attrs_, recording) {
  has_aux_samples_ = std::ranges::any_of(
      attrs_, [](const EventAttr& attr) { return attr.sample_type & kSampleAux; });
  has_branch_stacks_ = std::ranges::any_of(
      attrs_, [](const EventAttr& attr) { return attr.sample_type & kSampleBranchStack; });
  has_call_samples_ = std::ranges::any_of(attrs_, TellsOfCalls);
  LookForSwitchEvents();
}

void RecordingReader::UseTracingData(Bytes data) {
  sched_switch_.UseFormats(data);
  LookForSwitchEvents();
}

void RecordingReader::LookForSwitchEvents() {
  has_switch_events_ = std::any_of(attrs_.begin(), attrs_.end(), [&](const EventAttr& attr) {
    return sched_switch_.IsOne(attr);
  });
}

Status RecordingReader::Read(const RecordSection& section) {
  file_ = section.file;
  if (section.file != recording_.path) streams_.BeginFile(section.file);
  RecordReader reader = section.Records(order_);
  for (Record record; reader.Next(record);) {
    Take(record);
    if (!IsCompressed(record.type) || compression_broken_) continue;
    if (!Unpack(record, section)) break;
  }
  const std::string where = section.file == recording_.path ? "" : section.file + ": ";
  if (!reader.damage().empty()) Warn(where + reader.damage(), kDamageRemedy);
  EndCompression();
  return {};
}

void RecordingReader::Take(const Record& record) {
  if (visit_samples_ != nullptr && record.type != kRecordSample) return;
  ++counts_[NameOfType(record.type)];
  switch (record.type) {
    case kRecordAuxtraceInfo:
      if (!info_) info_ = ParseAuxtraceInfo(record);
      break;
    case kRecordAuxtrace:
      sideband_only_ ? CountUnexpected(record) : streams_.AddData(record);
      break;
    case kRecordTimeConv:
      ApplyTimeConv(record, recording_);
      break;
    case kRecordIdIndex:
      ids_.AddIdIndex(record);
      break;
    case kRecordThreadMap:
      for (ThreadMapRecord& thread : ParseThreadMap(record)) Add(std::move(thread));
      break;
    case kRecordFinishedRound:
      if (!ignore_rounds_) sideband_.FinishRound();
      break;
    case kRecordSample:
      TakeSample(record);
      break;
    case kRecordRead:
    case kRecordStat:
    case kRecordStatRound:
      TakeCounters(record);
      break;
    default:
      if (IsSideband(record.type)) TakeSideband(record);
  }
}

void RecordingReader::TakeSideband(const Record& record) {
  SampleId id = ids_.Parse(record);
  if (id.trailer_size != 0 && id.cpu < 0) id.cpu = default_cpu_;
  auto sideband = ToSideband(record, id);
  if (!sideband) return CountMalformed(record);
  if (const auto* aux = std::get_if<AuxRecord>(&*sideband)) streams_.AddRecord(*aux, record.offset);
  CountLost(*sideband);
  // A switch of eight bytes is of no thread, no CPU and no time: it is counted and not kept.
  if (!record.body.empty()) Add(*std::move(sideband));
}

void RecordingReader::TakeCounters(const Record& record) {
  if (record.type == kRecordStatRound) return counters_.AddRound();
  const bool whole = record.type == kRecordRead ? counters_.AddRead(record, ids_.EventOf(record))
                                                : counters_.AddStat(record);
  if (!whole) CountMalformed(record);
}

void RecordingReader::TakeSample(const Record& record) {
  const bool others =
      has_switch_events_ || has_aux_samples_ || has_branch_stacks_ || has_call_samples_;
  if (!event_samples_.any() && !others) return;
  const auto sample = ids_.ParseSample(record);
  if (!sample) return CountMalformed(record);
  if (IsOfGuest(record))
    CountOfGuest(*sample);
  else
    TakePlace(*sample, record);
  if (visit_samples_ != nullptr || (!has_switch_events_ && !has_aux_samples_)) return;
  if (!sample->aux.empty())
    sideband_only_ ? CountUnexpected(record) : TakeAuxSample(*sample, record);
  if (!sched_switch_.IsOne(*sample->attr)) return;
  const auto change = sched_switch_.Parse(*sample, record.order);
  if (!change) return CountMalformed(record);
  Add(change->first);
  Add(change->second);
}

// Where a thread stood, and how it came there.
void RecordingReader::TakePlace(const Sample& sample, const Record& record) {
  if (event_samples_.any()) TakeAccess(sample, record);
  if (visit_samples_ != nullptr) return;
  if (sample.has_branches) branch_stacks_.Add(record, sample, !unpacking_);
  if (TellsOfCalls(*sample.attr)) call_samples_.Add(sample, record.order, !unpacking_);
}

// What a virtual machine executed is in none of the files that this machine's processes map.
void RecordingReader::CountOfGuest(const Sample& sample) {
  guest_samples_ +=
      event_samples_.any() || sample.has_branches || TellsOfCalls(*sample.attr) ? 1 : 0;
}

void RecordingReader::TakeAccess(const Sample& sample, const Record& record) {
  bool whole = true;
  const auto told = event_samples_.Read(sample, record, whole);
  if (!told) return;
  if (visit_samples_ != nullptr) return (*visit_samples_)(*told);
  bad_ibs_ += !whole;
  accesses_ += told->access.address.has_value();
}

// `perf record --aux-sample`: the end of what its CPU, or its thread, had traced.
void RecordingReader::TakeAuxSample(const Sample& sample, const Record& record) {
  const bool per_cpu = !info_ || info_->At(kPtPerCpuMmaps) != 0;
  const int32_t cpu = per_cpu ? sample.id.cpu : -1;
  Bytes data = sample.aux;
  if (unpacking_) {
    auto copy = std::make_shared<std::vector<uint8_t>>(data.begin(), data.end());
    data = *copy;
    recording_.storage.push_back(std::move(copy));
  }
  const auto into = static_cast<uint64_t>(sample.aux.data() - record.body.data());
  const uint64_t offset = unpacking_ ? 0 : record.offset + kRecordHeaderSize + into;
  streams_.AddSample({.time = sample.id.time, .tid = sample.id.tid, .cpu = cpu}, data,
                     record.offset, offset);
}

void RecordingReader::CountUnexpected(const Record& record) {
  if (unexpected_++ == 0) first_unexpected_ = Hex(record.offset) + " of " + file_;
}

void RecordingReader::CountMalformed(const Record& record) {
  if (malformed_++ == 0) first_malformed_ = record.offset;
}

void RecordingReader::CountLost(const SidebandRecord& record) {
  const auto* lost = std::get_if<LostRecord>(&record);
  if (lost && lost->samples) lost_samples_ += std::min(lost->count, ~uint64_t{0} - lost_samples_);
  const auto* error = std::get_if<AuxtraceErrorRecord>(&record);
  if (error && first_decoder_error_.empty()) first_decoder_error_ = error->message;
}

bool RecordingReader::Unpack(const Record& record, const RecordSection& section) {
  if (!decompressor_) decompressor_.emplace();
  last_compressed_ = record.offset;
  unpacking_ = true;
  Status status = decompressor_->Feed(CompressedData(record), [&](Bytes unpacked) {
    return TakeUnpacked(unpacked, record.offset);
  });
  unpacking_ = false;
  if (status) return true;
  compression_broken_ = true;
  if (status.error().code() == ErrorCode::kUnreadable) {
    Warn("the compressed record at offset " + Hex(record.offset) + " " + status.error().message() +
             ": no compressed record from there on is read",
         kDamageRemedy);
    return true;
  }
  const char* const remedy = "do not trust this file; record again without -z";
  const std::string what =
      "the compressed record at offset " + Hex(record.offset) + " " + status.error().message();
  Warn(what + ": nothing is read from there on", remedy);
  if (!recording_.refusal)
    recording_.refusal =
        Error(ErrorCode::kUnreadable,
              section.file + ": " + what +
                  ", more than records ever shrink: it is made to fill the memory, and nothing was "
                  "read from there on")
            .At(record.offset)
            .Remedy(remedy);
  return false;
}

std::optional<uint64_t> RecordingReader::TakeUnpacked(Bytes unpacked, uint64_t offset) {
  for (uint64_t at = 0;;) {
    Record record;
    const RecordHead head = ParseRecord(unpacked, at, order_, record);
    if (head == RecordHead::kCut) return at;
    record.offset = offset;
    // Data behind a record is never compressed, and nothing is compressed twice.
    const bool has_data = record.type == kRecordAuxtrace || record.type == kRecordTracingData;
    if (head == RecordHead::kTooSmall || has_data || IsCompressed(record.type)) {
      compression_broken_ = true;
      Warn("the compressed record at offset " + Hex(offset) + " holds " +
               (head == RecordHead::kTooSmall ? "one smaller than its own header"
                                              : "one of type " + Dec(record.type)) +
               ", which can't be: no compressed record from there on is read",
           kDamageRemedy);
      return std::nullopt;
    }
    Take(record);
    at += record.size();
  }
}

void RecordingReader::EndCompression() {
  if (decompressor_ && decompressor_->unfinished() != 0 && !compression_broken_) {
    Warn("the compressed records end at offset " + Hex(last_compressed_) +
             " inside a record, which is lost: the file was cut",
         kDamageRemedy);
  }
  decompressor_.reset();
  compression_broken_ = false;
}

// Other hardware's AUX data is not ours to decode. Without an AUXTRACE_INFO, which stands first in
// every recording, the data is taken for Intel PT, and said so.
bool RecordingReader::HasPtStreams() {
  if (streams_.empty()) return false;
  if (!info_) {
    Warn(
        "there is AUX data but no AUXTRACE_INFO record that says of which hardware: taken for "
        "Intel PT with unknown settings",
        "copy the file again, record again, or name the settings (--cpu, --mtc-freq, ...)");
    return true;
  }
  if (info_->is_intel_pt()) return true;
  Warn(
      "the AUX data is of hardware type " + Dec(info_->type) + ", not of Intel PT (1): not decoded",
      "record with `perf record -e intel_pt//u`");
  return false;
}

// Beside Recording::losses, which has the other records' numbers.
void RecordingReader::ReportLost() {
  if (bad_ibs_ != 0)
    Warn(Dec(bad_ibs_) + (bad_ibs_ == 1 ? " sample of IBS has" : " samples of IBS have") +
             " registers that are cut or hold no sample: only perf's own fields are known",
         kDamageRemedy);
  if (guest_samples_ != 0)
    Warn(Dec(guest_samples_) +
             (guest_samples_ == 1 ? " sample is of a guest" : " samples are of guests") +
             " of this machine (virtual machines) and left out: its code is not to be had here",
         "record inside the guest");
  if (lost_samples_ != 0) {
    Warn("the kernel lost " + Dec(lost_samples_) + (lost_samples_ == 1 ? " sample" : " samples"),
         "record with larger buffers (-m PAGES), or fewer events");
  }
  if (!first_decoder_error_.empty())
    Warn("another decoder's first error (AUXTRACE_ERROR): \"" + first_decoder_error_ + '"', "");
}

void RecordingReader::ReportCounts() {
  ReportLost();
  if (malformed_ != 0) {
    Warn(Dec(malformed_) +
             " records are too short for their fields and left out; the first is at offset " +
             Hex(first_malformed_),
         kDamageRemedy);
  }
  if (unexpected_ != 0) {
    Warn("the record at offset " + first_unexpected_ +
             (unexpected_ == 1 ? "" : ", and " + Dec(unexpected_ - 1) + " more,") +
             " carries trace, in a file that is given for its sideband only: that trace is not "
             "decoded",
         "name the trace itself (--raw-pt, iptTrace), or read the perf.data file that this was "
         "cut from");
  }
  if (sideband_.late() != 0) {
    Warn(Dec(sideband_.late()) +
             " records are older than what the end of a round promised; sorted in by their time",
         "record again where the order of mappings or switches matters");
  }
  for (const auto& [name, count] : counts_) recording_.record_counts.emplace_back(name, count);
  if (branch_stacks_.samples() != 0)
    recording_.record_counts.emplace_back(kBranchStackSamples, branch_stacks_.samples());
  if (accesses_ != 0) recording_.record_counts.emplace_back(kAccessSamples, accesses_);
  const auto throttled = counts_.find(NameOfType(kRecordThrottle));
  if (throttled != counts_.end())
    recording_.losses.push_back({LossCause::kThrottled, throttled->second});
}

// Without clock data the events may still name their clock.
void RecordingReader::ReadClock() {
  for (const EventAttr& attr : attrs_) {
    if (attr.flags & kAttrUseClockId && !recording_.clock.clock_id) {
      recording_.clock.clock_id = attr.clock_id;
    }
  }
}

void RecordingReader::Finish() {
  if (visit_samples_ != nullptr) return;
  ReportCounts();
  ReadClock();
  if (info_ && info_->is_intel_pt()) {
    ApplyPtInfo(*info_, attrs_, recording_);
    if (info_->At(kPtSnapshotMode) != 0) streams_.SetSnapshots();
  }
  // From here on the sideband is complete and in time order.
  recording_.sideband = std::move(sideband_).Take();
  AddRecorderLosses(recording_);
  recording_.counters = std::move(counters_).Take();
  // A recording has one kind of trace: Intel PT's contains all branches.
  if (HasPtStreams()) {
    std::move(streams_).Finish(recording_);
  } else if (!sideband_only_) {
    std::move(branch_stacks_).Finish(attrs_, recording_);
    std::move(call_samples_).Finish(recording_);
  }
  AssignOwners(recording_);
}

}  // namespace flowback::perf
