// SPDX-License-Identifier: MIT
// Intel PT as a source of trace. What each question needs is in a file of its own.
#include <utility>

#include "base/recorded/pt_config.h"
#include "decode/pt/source/index_stream.h"
#include "decode/pt/source/packet_batches.h"
#include "decode/pt/source/settings.h"
#include "decode/pt/source/sync_points.h"
#include "decode/stream_index.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/trace_source.h"

namespace flowback {
namespace {

class PtSource final : public TraceSource {
 public:
  explicit PtSource(const PtConfig& config) : config_(config) {}

  std::string_view Name() const override { return "Intel PT"; }
  std::vector<TraceSetting> Settings() const override { return pt::SettingsOf(config_); }
  std::vector<uint64_t> SettingNumbers() const override { return pt::SettingNumbers(config_); }

  std::shared_ptr<const StreamIndex> Index(
      const Stream& stream, const std::function<bool(const Pause&)>& visit) const override {
    return pt::IndexStream(stream, config_, visit);
  }
  uint64_t SyncPointBefore(const Stream& stream, uint64_t offset) const override {
    return pt::SyncPointBefore(stream, config_.cpu, offset);
  }
  uint64_t FirstTime(const Stream& stream, StreamRange range) const override {
    return pt::FirstTime(stream, config_, range);
  }
  TscInterval Times(const Stream& stream) const override { return pt::Times(stream, config_); }

  bool VisitPauses(const Stream& stream, const TimeConversion& time,
                   const std::function<bool(const Pause&)>& visit) const override {
    return pt::VisitPauses(stream, config_,
                           [&](const Pause& pause) { return visit(pause.In(time)); });
  }

  std::unique_ptr<PacketReader> Packets(const Stream& stream) const override {
    return pt::ReadPackets(stream, config_);
  }

  Result<std::unique_ptr<Decoder>> MakeDecoder(std::string_view engine) const override {
    return flowback::MakeDecoder(engine.empty() ? "native" : engine);
  }

 private:
  PtConfig config_;
};

}  // namespace

std::shared_ptr<const TraceSource> OpenPtSource(const Recording& recording) {
  return std::make_shared<PtSource>(PtConfigOf(recording.config));
}

}  // namespace flowback
