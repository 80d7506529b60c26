// SPDX-License-Identifier: MIT
#include "tests/source/imaginary_source.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

#include "decode/stream_index.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/trace_source.h"

namespace flowback::testing {
namespace {

using Record = ImaginaryRecord;
constexpr uint64_t kRecord = sizeof(Record);

ImaginarySettings SettingsOf(const TraceConfig& config) {
  const auto* settings = config.As<ImaginarySettings>();
  return settings != nullptr ? *settings : ImaginarySettings();
}

Record RecordAt(Bytes bytes, uint64_t offset) {
  Record record;
  std::memcpy(&record, bytes.data() + offset, kRecord);
  return record;
}

// Goes through the records; its state is where it stands.
class ImaginaryFlow final : public FlowReader {
 public:
  explicit ImaginaryFlow(const DecodeInput& input)
      : input_(input), settings_(SettingsOf(input.config)), at_(input.from) {}

  void ReadTo(uint64_t offset, ExecutionConsumer& consumer) override {
    for (; !at_end() && at_ <= offset && !consumer.Done(); at_ += kRecord) Tell(consumer);
  }
  uint64_t offset() const override { return at_; }
  bool at_end() const override { return at_ >= input_.bytes.size(); }
  size_t waiting() const override { return 0; }
  std::shared_ptr<const State> Save() override { return std::make_shared<Kept>(at_); }
  void Return(const State& state) override { at_ = static_cast<const Kept&>(state).at; }

 private:
  struct Kept final : State {
    explicit Kept(uint64_t kept) : at(kept) {}
    uint64_t at;
  };

  const ThreadStay* StayAt(uint64_t offset) const {
    const ThreadStay* stay = nullptr;
    for (const StayChange& change : input_.changes)
      if (change.offset <= offset) stay = change.stay;
    return stay;
  }
  Record At(uint64_t offset) const {
    Record record = offset < input_.bytes.size() ? RecordAt(input_.bytes, offset) : Record{};
    if (record.address != 0) record.address += settings_.base;
    return record;
  }
  // Decoding knows nothing of what lies before its begin.
  Record Before() const { return at_ == input_.from ? Record{} : At(at_ - kRecord); }

  void Tell(ExecutionConsumer& consumer) const {
    const Record record = At(at_);
    const Record before = Before();
    if ((record.address != 0) != (before.address != 0)) TellTurn(record, consumer);
    if (record.address == 0) return;
    if (record.unknown_before != 0) TellUnknown(before, record, consumer);
    if (input_.blocks) TellBlock(record, consumer);
  }
  void TellTurn(const Record& record, ExecutionConsumer& consumer) const {
    TraceEvent event;
    event.kind = record.address != 0 ? EventKind::kStarted : EventKind::kStopped;
    event.offset = at_;
    event.tsc = record.time;
    event.bounds = {record.time, record.time};
    if (record.address != 0) event.ip = record.address, event.has_ip = true;
    event.stay = StayAt(at_);
    consumer.OnEvent(event);
  }
  void TellUnknown(const Record& before, const Record& record, ExecutionConsumer& consumer) const {
    UnknownFlow unknown;
    unknown.offset = at_;
    unknown.to = record.address;
    unknown.tsc = before.time;
    unknown.bounds = {before.time, before.time};
    unknown.end_tsc = record.time;
    unknown.end_bounds = {record.time, record.time};
    unknown.stay = StayAt(at_);
    consumer.OnUnknown(unknown);
  }
  void TellBlock(const Record& record, ExecutionConsumer& consumer) const {
    static constexpr std::array<uint8_t, 1> kOne = {1};
    BlockRun run;
    run.address = record.address;
    run.lengths = kOne;
    run.tsc = record.time;
    run.bounds = {record.time, record.time};
    run.branch = record.branch;
    const Record next = At(at_ + kRecord);
    run.exit = next.address == 0 ? BlockExit::kStopped : BlockExit::kTaken;
    run.last = InstructionClass::kIndirectJump;
    if (next.unknown_before == 0) run.next = next.address;
    run.stay = StayAt(at_);
    consumer.OnBlock(run);
  }

  const DecodeInput& input_;
  const ImaginarySettings settings_;
  uint64_t at_;
};

class ImaginaryDecoder final : public Decoder {
 public:
  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    ImaginaryFlow flow(input);
    flow.ReadTo(input.bytes.size(), consumer);
    return ByteAccount{.decoded = (flow.offset() - input.from) / kRecord};
  }
  Result<std::unique_ptr<FlowReader>> Read(const DecodeInput& input) override {
    return std::make_unique<ImaginaryFlow>(input);
  }
};

class ImaginaryPackets final : public PacketBatch {
 public:
  size_t size() const override { return packets_.size(); }
  const TracePacket& operator[](size_t i) const override { return packets_[i]; }
  std::string_view Name(size_t i) const override { return addresses_[i] != 0 ? "STEP" : "STOP"; }
  std::string Payload(size_t i) const override { return std::to_string(addresses_[i]); }
  void Clear() override { packets_.clear(), addresses_.clear(); }
  void Add(uint64_t offset, const Record& record) {
    packets_.push_back({.offset = offset, .size = kRecord, .tsc = record.time});
    addresses_.push_back(record.address);
  }

 private:
  std::vector<TracePacket> packets_;
  std::vector<uint64_t> addresses_;
};

class ImaginaryReader final : public PacketReader {
 public:
  explicit ImaginaryReader(Bytes bytes) : bytes_(bytes) {}
  std::unique_ptr<PacketBatch> NewBatch() const override {
    return std::make_unique<ImaginaryPackets>();
  }
  bool Read(PacketBatch& batch, size_t count) override {
    for (; count > 0 && at_ < bytes_.size(); --count, at_ += kRecord)
      static_cast<ImaginaryPackets&>(batch).Add(at_, RecordAt(bytes_, at_));
    return at_ < bytes_.size();
  }

 private:
  Bytes bytes_;
  uint64_t at_ = 0;
};

class ImaginarySource final : public TraceSource {
 public:
  explicit ImaginarySource(const ImaginarySettings& settings) : settings_(settings) {}

  std::string_view Name() const override { return "imaginary trace"; }
  TraceUnit Unit() const override { return {.plural = "records", .bytes = kRecord}; }
  std::vector<TraceSetting> Settings() const override {
    return {{"sync_every", "records from sync point to sync point",
             std::to_string(settings_.sync_every), settings_.sync_every}};
  }
  std::vector<uint64_t> SettingNumbers() const override {
    return {settings_.base, settings_.sync_every};
  }
  std::shared_ptr<const StreamIndex> Index(
      const Stream& stream, const std::function<bool(const Pause&)>& visit) const override {
    constexpr TimeConversion kTicks{.shift = 0, .mult = 1, .zero = 0};
    auto index = std::make_shared<StreamIndex>();
    index->pauses = PauseList(StreamIndex::MostPauseBytes(stream.bytes.size()));
    bool told = !visit;
    VisitPauses(stream, kTicks, [&](const Pause& pause) {
      index->pauses.Add(pause);
      told = told || !visit(pause);
      return true;
    });
    for (uint64_t at = 0; at < stream.bytes.size(); at += Period())
      index->sync_points.push_back({.offset = at, .first_tsc = RecordAt(stream.bytes, at).time});
    index->packet_bytes = stream.bytes.size();
    index->times = Times(stream);
    return index;
  }
  uint64_t SyncPointBefore(const Stream&, uint64_t offset) const override {
    return offset == 0 ? 0 : (offset - 1) / Period() * Period();
  }
  uint64_t FirstTime(const Stream& stream, StreamRange range) const override {
    return range.begin < range.end ? RecordAt(stream.bytes, range.begin).time : 0;
  }
  TscInterval Times(const Stream& stream) const override {
    if (stream.bytes.empty()) return {};
    return {RecordAt(stream.bytes, 0).time,
            RecordAt(stream.bytes, stream.bytes.size() - kRecord).time};
  }
  bool VisitPauses(const Stream& stream, const TimeConversion& time,
                   const std::function<bool(const Pause&)>& visit) const override {
    bool on = false;
    uint64_t since = 0;  // when it was turned on or off
    for (uint64_t at = 0; at < stream.bytes.size(); at += kRecord) {
      const Record record = RecordAt(stream.bytes, at);
      const uint64_t now = time.ToNanoseconds(record.time);
      if ((record.address != 0) == on) continue;
      on = !on;
      if (on && !visit({.offset = at, .earliest = since, .resumed = now, .latest = now}))
        return true;
      since = now;
    }
    visit(
        {.offset = stream.bytes.size(), .earliest = since, .latest = ~uint64_t{0}, .at_end = true});
    return true;
  }
  std::unique_ptr<PacketReader> Packets(const Stream& stream) const override {
    return std::make_unique<ImaginaryReader>(stream.bytes);
  }
  Result<std::unique_ptr<Decoder>> MakeDecoder(std::string_view) const override {
    return std::make_unique<ImaginaryDecoder>();
  }

 private:
  uint64_t Period() const { return settings_.sync_every * kRecord; }

  ImaginarySettings settings_;
};

}  // namespace

std::vector<uint8_t> ImaginaryTrace(const std::vector<ImaginaryRecord>& records) {
  std::vector<uint8_t> bytes(records.size() * kRecord);
  if (!records.empty()) std::memcpy(bytes.data(), records.data(), bytes.size());
  return bytes;
}

}  // namespace flowback::testing

namespace flowback {

std::shared_ptr<const TraceSource> OpenImaginarySource(const Recording& recording) {
  return std::make_shared<testing::ImaginarySource>(testing::SettingsOf(recording.config));
}

}  // namespace flowback
