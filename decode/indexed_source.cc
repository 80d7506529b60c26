// SPDX-License-Identifier: MIT
#include <map>
#include <mutex>
#include <utility>

#include "decode/stream_index.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/trace_source.h"

namespace flowback {
namespace {

class IndexedSource final : public TraceSource {
 public:
  explicit IndexedSource(std::shared_ptr<const TraceSource> source) : source_(std::move(source)) {}

  std::string_view Name() const override { return source_->Name(); }
  TraceUnit Unit() const override { return source_->Unit(); }
  bool samples() const override { return source_->samples(); }
  std::string_view WhyNoFlow() const override { return source_->WhyNoFlow(); }
  void VisitSamples(const Stream& stream, StreamRange range,
                    const std::function<void(const StreamSample&)>& visit) const override {
    source_->VisitSamples(stream, range, visit);
  }
  uint64_t EmptySamples() const override { return source_->EmptySamples(); }
  std::vector<TraceSetting> Settings() const override { return source_->Settings(); }
  std::vector<uint64_t> SettingNumbers() const override { return source_->SettingNumbers(); }

  std::shared_ptr<const StreamIndex> Index(
      const Stream& stream, const std::function<bool(const Pause&)>& visit) const override {
    if (std::shared_ptr<const StreamIndex> index = Find(stream)) {
      if (!visit) return index;
      if (index->pauses.complete()) {
        index->pauses.Visit(visit);
        return index;
      }
    }
    std::shared_ptr<const StreamIndex> index = source_->Index(stream, visit);
    if (stream.bytes.empty()) return index;  // there may be very many of them
    const std::lock_guard lock(mutex_);
    return indexes_.emplace(stream.index, std::move(index)).first->second;
  }

  uint64_t SyncPointBefore(const Stream& stream, uint64_t offset) const override {
    return source_->SyncPointBefore(stream, offset);
  }
  uint64_t FirstTime(const Stream& stream, StreamRange range) const override {
    return source_->FirstTime(stream, range);
  }
  TscInterval Times(const Stream& stream) const override {
    const std::shared_ptr<const StreamIndex> index = Find(stream);
    return index != nullptr ? index->times : source_->Times(stream);
  }

  bool VisitPauses(const Stream& stream, const TimeConversion& time,
                   const std::function<bool(const Pause&)>& visit) const override {
    return Index(stream, [&](const Pause& pause) { return visit(pause.In(time)); })->times.hi != 0;
  }

  std::unique_ptr<PacketReader> Packets(const Stream& stream) const override {
    return source_->Packets(stream);
  }
  Result<std::unique_ptr<Decoder>> MakeDecoder(std::string_view engine) const override {
    return source_->MakeDecoder(engine);
  }

 private:
  std::shared_ptr<const StreamIndex> Find(const Stream& stream) const {
    const std::lock_guard lock(mutex_);
    const auto found = indexes_.find(stream.index);
    return found == indexes_.end() ? nullptr : found->second;
  }

  const std::shared_ptr<const TraceSource> source_;
  mutable std::mutex mutex_;
  mutable std::map<uint32_t, std::shared_ptr<const StreamIndex>> indexes_;  // by Stream::index
};

}  // namespace

std::shared_ptr<const TraceSource> KeepIndexes(std::shared_ptr<const TraceSource> source) {
  return std::make_shared<IndexedSource>(std::move(source));
}

}  // namespace flowback
