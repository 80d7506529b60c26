// SPDX-License-Identifier: MIT
#include "tests/source/imaginary_source.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

#include "flowback/decode/decoder.h"
#include "flowback/decode/trace_source.h"

namespace flowback::testing {
namespace {

using Record = ImaginaryRecord;
constexpr uint64_t kRecord = sizeof(Record);
constexpr uint64_t kSync = 4 * kRecord;  // decoding begins at every fourth record only

Record RecordAt(Bytes bytes, uint64_t offset) {
  Record record;
  std::memcpy(&record, bytes.data() + offset, kRecord);
  return record;
}

class ImaginaryDecoder final : public Decoder {
 public:
  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    bool on = false;
    uint64_t at = input.from;
    for (; at < input.bytes.size() && !consumer.Done(); at += kRecord) {
      const Record record = RecordAt(input.bytes, at);
      const bool turns = (record.address != 0) != on;
      on = record.address != 0;
      if (turns) TellTurn(input, at, record, consumer);
      if (on && input.blocks) TellBlock(input, at, record, consumer);
    }
    return ByteAccount{.decoded = (at - input.from) / kRecord};
  }

 private:
  static const ThreadStay* StayAt(const DecodeInput& input, uint64_t offset) {
    const ThreadStay* stay = nullptr;
    for (const StayChange& change : input.changes)
      if (change.offset <= offset) stay = change.stay;
    return stay;
  }
  static void TellTurn(const DecodeInput& input, uint64_t at, const Record& record,
                       ExecutionConsumer& consumer) {
    TraceEvent event;
    event.kind = record.address != 0 ? EventKind::kStarted : EventKind::kStopped;
    event.offset = at;
    event.tsc = record.time;
    event.bounds = {record.time, record.time};
    event.stay = StayAt(input, at);
    consumer.OnEvent(event);
  }
  static void TellBlock(const DecodeInput& input, uint64_t at, const Record& record,
                        ExecutionConsumer& consumer) {
    static constexpr std::array<uint8_t, 1> kOne = {1};
    BlockRun run;
    run.address = record.address;
    run.lengths = kOne;
    run.tsc = record.time;
    run.bounds = {record.time, record.time};
    run.stay = StayAt(input, at);
    consumer.OnBlock(run);
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
  std::string_view Name() const override { return "imaginary trace"; }
  TraceUnit Unit() const override { return {.plural = "records", .bytes = kRecord}; }
  std::vector<TraceSetting> Settings() const override {
    return {{"pace", "pace", "brisk", uint64_t{3}}};
  }
  std::vector<uint64_t> SettingNumbers() const override { return {3}; }
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
    for (uint64_t at = 0; at < stream.bytes.size(); at += kSync)
      index->sync_points.push_back({.offset = at, .first_tsc = RecordAt(stream.bytes, at).time});
    index->packet_bytes = stream.bytes.size();
    index->times = Times(stream);
    return index;
  }
  uint64_t SyncPointBefore(const Stream&, uint64_t offset) const override {
    return offset == 0 ? 0 : (offset - 1) / kSync * kSync;
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
};

}  // namespace

std::vector<uint8_t> ImaginaryTrace(const std::vector<ImaginaryRecord>& records) {
  std::vector<uint8_t> bytes(records.size() * kRecord);
  if (!records.empty()) std::memcpy(bytes.data(), records.data(), bytes.size());
  return bytes;
}

}  // namespace flowback::testing

namespace flowback {

std::shared_ptr<const TraceSource> OpenImaginarySource(const Recording&) {
  return std::make_shared<testing::ImaginarySource>();
}

}  // namespace flowback
