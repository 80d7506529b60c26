// SPDX-License-Identifier: MIT
#include "decode/pt/source/pauses.h"

#include <algorithm>
#include <vector>

#include "decode/pt/clock.h"
#include "decode/pt/errata.h"
#include "decode/pt/packets/ip_packets.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/packets/psb.h"
#include "decode/pt/packets/wire.h"

namespace flowback::pt {
namespace {

class PauseFinder {
 public:
  PauseFinder(StreamWindow& stream, const std::vector<StreamGap>& gaps, const PtConfig& config,
              const std::function<bool(const Pause&)>& visit)
      : window_(stream),
        stream_(stream.bytes()),
        gaps_(gaps),
        config_(config),
        errata_(ErrataOf(config.cpu)),
        clock_(config),
        visit_(visit) {}

  bool Run() {
    for (const StreamGap& gap : gaps_) {
      Part(std::min<size_t>(gap.offset, stream_.size()));
      Lose();
    }
    Part(stream_.size());
    Add({.offset = stream_.size(),
         .earliest = state_ == State::kOn ? Now() : earliest_,
         .at_end = true});
    // Nothing tells how late the last ones are.
    TellAll(~uint64_t{0});
    return time_ != 0;
  }

 private:
  enum class State : uint8_t { kOn, kOff, kLost };

  // The bytes up to `end`, which are whole.
  void Part(size_t end) {
    const Bytes part = stream_.first(end);
    at_ = FindPsb(window_, end, std::min(at_, end));
    pebs_ = {};
    Packet packet;
    while (at_ < end && going_on_) {
      window_.MoveTo(at_);
      SkipFlow(part);
      if (at_ == end) break;
      window_.MoveTo(at_);
      const ReadResult size = ReadPacket(part.subspan(at_), pebs_, packet, errata_);
      if (!size) {
        Lose();
        at_ = FindPsb(window_, end, at_ + 1);
        pebs_ = {};
        continue;
      }
      std::visit([this](const auto& p) { On(p); }, packet);
      at_ += *size;
    }
    at_ = end;
  }

  // Over what moves neither time nor state: most of a stream.
  void SkipFlow(Bytes part) {
    if (state_ != State::kOn || pebs_.item_bytes != 0) return;
    const size_t end = std::min(part.size(), window_.reach());
    for (; at_ < end; ++at_) {
      const uint8_t byte = part[at_];
      if ((byte & 1) != 0 || byte == kExtendedPrefix) {
        if (!Tip::kOpcode.Matches(byte)) return;
        Tip tip;
        const ReadResult size = Tip::Parse(part.subspan(at_), tip);
        if (!size) return;
        at_ += *size - 1;
      }
    }
  }

  template <class P>
  void On(const P& packet) {
    if constexpr (kIsOneOf<P, Tsc, Tma, Mtc, Cyc, Cbr>) {
      clock_.On(packet);
      if (clock_.tsc() != time_) TimeMoved();
    } else if constexpr (kIsOneOf<P, TipPgd>) {
      if (state_ == State::kOn) Begin(State::kOff);
    } else if constexpr (kIsOneOf<P, Ovf>) {
      Lose();
    } else if constexpr (kIsOneOf<P, ExStop>) {
      clock_.OnGap();
    } else if constexpr (kIsOneOf<P, Psb>) {
      psb_ = at_;
      in_header_ = true;
    } else if constexpr (kIsOneOf<P, PsbEnd>) {
      in_header_ = false;
    } else if constexpr (kIsOneOf<P, TipPge>) {
      End(at_);
    } else if constexpr (kIsOneOf<P, Fup, Tip, ShortTnt, LongTnt>) {
      // Elsewhere a FUP may belong to an event while tracing is off.
      if (state_ == State::kLost) End(in_header_ ? psb_ : at_);
    } else if constexpr (kIsOneOf<P, Pip>) {
      if (state_ == State::kOn && !in_header_) AddressSpaceChanged();
    }
  }

  void Begin(State state) {
    state_ = state;
    earliest_ = Now();
  }
  void Lose() {
    clock_.OnGap();
    in_header_ = false;
    if (state_ == State::kOn) earliest_ = Now();
    state_ = State::kLost;
  }
  void End(size_t offset) {
    if (state_ != State::kOn) Add({.offset = offset, .earliest = earliest_, .resumed = Now()});
    state_ = State::kOn;
  }
  void AddressSpaceChanged() { Add({.offset = at_, .earliest = Now(), .inside = true}); }
  void Add(const Pause& pause) {
    pending_.push_back(pause);
    constexpr size_t kMaxPending = 1 << 16;  // of a trace whose clock stands still
    if (pending_.size() == kMaxPending) TellAll(~uint64_t{0});
  }

  uint64_t Now() const { return clock_.lo() == 0 ? 0 : config_.time.ToNanoseconds(clock_.lo()); }
  void TimeMoved() {
    time_ = clock_.tsc();
    // It may be later than the clock says; the next TSC packet tells.
    if (!clock_.in_doubt()) TellAll(config_.time.ToNanoseconds(time_));
  }
  void TellAll(uint64_t latest) {
    for (Pause& pause : pending_) {
      pause.latest = latest;
      if (going_on_) going_on_ = visit_(pause);
    }
    pending_.clear();
  }

  StreamWindow& window_;
  const Bytes stream_;
  const std::vector<StreamGap>& gaps_;
  const PtConfig& config_;
  const Errata errata_;
  Clock clock_;
  const std::function<bool(const Pause&)>& visit_;
  PebsState pebs_;
  size_t at_ = 0;
  size_t psb_ = 0;
  uint64_t time_ = 0;
  State state_ = State::kLost;
  bool in_header_ = false;
  bool going_on_ = true;
  uint64_t earliest_ = 0;
  std::vector<Pause> pending_;
};

}  // namespace

bool VisitPauses(StreamWindow stream, const std::vector<StreamGap>& gaps, const PtConfig& config,
                 const std::function<bool(const Pause&)>& visit) {
  return PauseFinder(stream, gaps, config, visit).Run();
}

}  // namespace flowback::pt
