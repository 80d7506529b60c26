// SPDX-License-Identifier: MIT
#include "tests/support/cpu_mover.h"

#include <random>
#include <variant>

#include "base/recorded/pt_config.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/packets/packet_writer.h"
#include "decode/pt/time/clock.h"

namespace flowback::support {
namespace {

using pt::kIsOneOf;

class Mover {
 public:
  Mover(Bytes stream, const PtConfig& config, const MoveOptions& options)
      : stream_(stream), options_(options), clock_(config), random_(options.seed) {
    trace_.streams.resize(options.cpus);
    trace_.moves.push_back({0, cpu_});
  }

  MovedTrace Run() {
    pt::PebsState pebs;
    for (size_t at = 0; at < stream_.size();) {
      pt::Packet packet;
      const pt::ReadResult size = pt::ReadPacket(stream_.subspan(at), pebs, packet);
      if (!size) break;
      clock_.OnAny(packet);
      std::visit([&](const auto& p) { On(p, stream_.subspan(at, *size)); }, packet);
      at += *size;
    }
    return std::move(trace_);
  }

 private:
  template <class P>
  void On(const P& packet, Bytes bytes) {
    if constexpr (requires { packet.ip.ip_bytes; }) {
      const auto ip = last_ip_.Apply(packet.ip);
      if constexpr (kIsOneOf<P, pt::TipPge>) return Start(*ip);
    }
    if constexpr (kIsOneOf<P, pt::Psb>) last_ip_.Reset();
    if constexpr (kIsOneOf<P, pt::Tsc, pt::Tma, pt::Mtc, pt::Cyc, pt::Cbr>)
      if (options_.told == TimeTold::kNever) return;
    // It counts what was before the move, too.
    if constexpr (kIsOneOf<P, pt::Cyc>)
      if (std::exchange(moved_, false)) return;
    Here().insert(Here().end(), bytes.begin(), bytes.end());
  }

  // The first stays where the stream's own PSB+ is.
  void Start(uint64_t ip) {
    const bool moves = started_ && clock_.lo() != 0 && random_() % options_.stay == 0;
    started_ = true;
    // No two moves at once, though the trace may not have the time between them.
    if (moves) time_ = std::max(clock_.lo(), time_) + 1;
    if (moves) Move();
    moved_ |= moves;
    const pt::ByteSink sink(Here());
    if (moves && options_.told == TimeTold::kAhead) WriteTime();
    pt::TipPge{{.ip_bytes = pt::IpPayload::kFull, .payload = ip}}.Encode(sink);
    if (moves && options_.told == TimeTold::kBehind) WriteTime();
  }

  void Move() {
    const unsigned before = cpu_;
    cpu_ = static_cast<unsigned>(random_() % options_.cpus);
    if (cpu_ != before) trace_.moves.push_back({time_, cpu_});
    if (!Here().empty()) return;
    pt::Psb{}.Encode(pt::ByteSink(Here()));
    // A CPU's first time; else its flow is known not to begin before, and no more.
    if (options_.told == TimeTold::kAhead) WriteTime();
    pt::ModeExec{.cs_l = true}.Encode(pt::ByteSink(Here()));
    pt::PsbEnd{}.Encode(pt::ByteSink(Here()));
  }

  void WriteTime() {
    constexpr uint64_t kMask = (uint64_t{1} << 56) - 1;
    pt::Tsc{.tsc = time_ & kMask}.Encode(pt::ByteSink(Here()));
  }
  std::vector<uint8_t>& Here() { return trace_.streams[cpu_]; }

  const Bytes stream_;
  const MoveOptions options_;
  pt::Clock clock_;
  pt::LastIp last_ip_;
  std::mt19937_64 random_;
  MovedTrace trace_;
  uint64_t time_ = 0;  // of the last move
  unsigned cpu_ = 1;   // so that streams and flow differ in order
  bool started_ = false;
  bool moved_ = false;
};

}  // namespace

MovedTrace MoveOverCpus(Bytes stream, const PtConfig& config, const MoveOptions& options) {
  return Mover(stream, config, options).Run();
}

}  // namespace flowback::support
