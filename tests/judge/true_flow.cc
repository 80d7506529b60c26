// SPDX-License-Identifier: MIT
#include "tests/judge/true_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/recorded/pt_config.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/packets/psb.h"
#include "decode/pt/stream/errata.h"
#include "tests/support/flow_consumers.h"
#include "tests/support/flow_of.h"

namespace flowback::judge {
namespace {

bool IsTime(const pt::Packet& packet) {
  return std::visit([]<class P>(const P&) { return pt::kIsTiming<P> || pt::kIsOneOf<P, pt::Pad>; },
                    packet);
}

}  // namespace

std::vector<TrueFlow::Packet> PacketsOf(Bytes bytes, const CpuId& cpu) {
  std::vector<TrueFlow::Packet> packets;
  const pt::Errata errata = pt::ErrataOf(cpu);
  pt::PebsState pebs;
  pt::Packet packet;
  size_t psb = ~size_t{0};
  bool in_header = false;
  bool after_mode = false;
  for (size_t at = pt::FindPsb(bytes, 0); at < bytes.size();) {
    const pt::ReadResult size = pt::ReadPacket(bytes.subspan(at), pebs, packet, errata);
    if (!size) {
      at = pt::FindPsb(bytes, at + 1);
      pebs = {};
      continue;
    }
    packets.push_back({.offset = at, .size = *size});
    packets.back().psb = std::holds_alternative<pt::Psb>(packet);
    packets.back().tsc = std::holds_alternative<pt::Tsc>(packet);
    packets.back().fup = std::holds_alternative<pt::Fup>(packet);
    packets.back().tip = std::holds_alternative<pt::Tip>(packet);
    packets.back().starts = std::holds_alternative<pt::ShortTnt>(packet) ||
                            std::holds_alternative<pt::LongTnt>(packet) ||
                            (std::holds_alternative<pt::TipPge>(packet) && !after_mode);
    if (!IsTime(packet)) after_mode = std::holds_alternative<pt::ModeExec>(packet);
    packets.back().header_part = in_header;
    in_header |= packets.back().psb;
    if (std::holds_alternative<pt::PsbEnd>(packet)) in_header = false;
    if (packets.back().psb) psb = packets.size() - 1;
    at += *size;
    if (std::holds_alternative<pt::PsbEnd>(packet) && psb < packets.size())
      packets[psb].header = at;
  }
  return packets;
}

void AddTimes(const BlockRun& run, uint64_t first, std::vector<TimeRun>& times) {
  const auto add = [&times](uint64_t index, const TscInterval& bounds) {
    if (times.empty() || times.back().bounds.lo != bounds.lo || times.back().bounds.hi != bounds.hi)
      times.push_back({.first = index, .bounds = bounds});
  };
  if (run.lengths.empty()) return;
  if (run.lengths.size() > 1) add(first, run.bounds);
  const size_t last = run.lengths.size() - 1;
  add(first + last, run.BoundsOf(last));
}

Labels::Labels(const DecodeInput& input, const std::vector<uint64_t>& offsets) {
  const std::shared_ptr<const AddressSpaceHistory> code(input.code, [](const auto*) {});
  size_t part = 0;
  size_t change = 0;
  const auto& given = input.changes;
  while (part < offsets.size() || change < given.size()) {
    const uint64_t next_part = part < offsets.size() ? offsets[part] : ~uint64_t{0};
    const uint64_t next_change = change < given.size() ? given[change].offset : ~uint64_t{0};
    const uint64_t at = std::min(next_part, next_change);
    part += next_part == at;
    while (change < given.size() && given[change].offset == at) ++change;
    const ThreadStay* stay = change == 0 ? nullptr : given[change - 1].stay;
    sources_.push_back({.part = part == 0 ? 0 : part - 1, .stay = stay});
    stays_.push_back(stay == nullptr ? ThreadStay{.code = code} : *stay);
    changes_.push_back({.offset = at, .stay = nullptr});
  }
  for (size_t i = 0; i < stays_.size(); ++i) changes_[i].stay = &stays_[i];
}

void AddStay(const ThreadStay* stay, uint64_t first, std::vector<StayRun>& stays) {
  if (stays.empty() || stays.back().stay != stay) stays.push_back({.first = first, .stay = stay});
}

void AddMode(const BlockRun& run, uint64_t first, std::vector<ModeRun>& modes) {
  if (modes.empty() || modes.back().mode != run.mode)
    modes.push_back({.first = first, .mode = run.mode});
}

CodeMode ModeAt(const std::vector<ModeRun>& modes, uint64_t index) {
  const auto next = std::ranges::upper_bound(modes, index, {}, &ModeRun::first);
  return next == modes.begin() ? CodeMode::kX86_64 : std::prev(next)->mode;
}

size_t TrueFlow::PacketAt(uint64_t offset) const {
  return static_cast<size_t>(std::ranges::lower_bound(packets, offset, {}, &Packet::offset) -
                             packets.begin());
}

bool TrueFlow::IsPacket(uint64_t offset) const {
  const size_t at = PacketAt(offset);
  return at < packets.size() ? packets[at].offset == offset : offset == size;
}

uint64_t TrueFlow::ToldBefore(uint64_t offset) const {
  const size_t at = PacketAt(offset);
  return at == 0 ? 0 : packets[at - 1].told;
}

uint64_t TrueFlow::ToldThrough(uint64_t offset) const { return ToldBefore(offset + 1); }

uint64_t TrueFlow::TimesOutOfBounds() const {
  uint64_t out = 0;
  size_t run = 0;
  for (const KnownTime& time : known) {
    while (run + 1 < times.size() && times[run + 1].first <= time.index) ++run;
    const TscInterval& bounds = times[run].bounds;
    out += (bounds.lo != 0 && time.tsc < bounds.lo) || (bounds.hi != 0 && time.tsc > bounds.hi);
  }
  return out;
}

std::vector<uint64_t> TrueFlow::PlacesAt(uint64_t offset) const {
  size_t at = PacketAt(offset);
  if (at == packets.size()) return {ips.size()};
  std::vector<uint64_t> places = {packets[at].told};
  if (!packets[at].fup) return places;
  constexpr size_t kMostBetween = 12;  // no more than timing, a mode and the like
  const size_t end = std::min(packets.size(), at + kMostBetween);
  for (size_t next = at; next < end; ++next) {
    if (packets[next].told == packets[at].told) continue;
    places.push_back(packets[next].told);
    break;
  }
  if (places[0] != 0) places.push_back(places[0] - 1);
  return places;
}

TrueFlow TrueFlowOf(Decoder& decoder, DecodeInput input) {
  TrueFlow flow;
  flow.size = input.bytes.size();
  flow.packets = PacketsOf(input.bytes, PtConfigOf(input.config).cpu);
  std::vector<uint64_t> offsets;
  for (const TrueFlow::Packet& packet : flow.packets) offsets.push_back(packet.offset);
  const Labels labels(input, offsets);
  input.changes = labels.changes();
  input.times = true;
  ForEachItem(
      FlowOf(decoder, input),
      [&](const BlockRun& run) {
        AddTimes(run, flow.ips.size(), flow.times);
        AddMode(run, flow.ips.size(), flow.modes);
        AddStay(labels.SourceOf(run.stay), flow.ips.size(), flow.stays);
        AppendRun(run, flow.digest);
        flow.packets[labels.PartOf(run.stay)].told += run.lengths.size();
        uint64_t ip = run.address;
        for (const uint8_t length : run.lengths) flow.ips.push_back(std::exchange(ip, ip + length));
      },
      [&](const DataLoss& loss) { flow.losses.push_back(loss); });
  uint64_t told = 0;
  for (TrueFlow::Packet& packet : flow.packets) packet.told = told += packet.told;
  for (DataLoss& loss : flow.losses) loss.stay = nullptr;
  return flow;
}

}  // namespace flowback::judge
