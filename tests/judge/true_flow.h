// SPDX-License-Identifier: MIT
// What really executed on a stream, instruction by instruction, and which packets prove how much of
// it.
//
// The list is that of an undamaged decode whose digest has been shown to be the generator's own (or
// the published one): two lists of one digest are one list. Each packet of the stream is a stay of
// its own for that decode, so that every piece of flow comes with the packet that proved it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowback/base/flow_digest.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/execution.h"

namespace flowback::judge {

// From instruction `first` on, up to the next run's: what is known of the times of each.
struct TimeRun {
  uint64_t first = 0;
  TscInterval bounds;
};

// Parts of a stream as stays of a decode, each that of the thread that runs there, so that every
// piece of flow comes with the part that proved it. Never moved: the changes point into it.
class Labels {
 public:
  // A part begins at each of `offsets`, which are sorted.
  Labels(const DecodeInput& input, const std::vector<uint64_t>& offsets);
  Labels(const Labels&) = delete;
  Labels& operator=(const Labels&) = delete;

  const std::vector<StayChange>& changes() const { return changes_; }
  // The number of the part, and who ran there.
  size_t PartOf(const ThreadStay* stay) const { return sources_[IndexOf(stay)].part; }
  const ThreadStay* SourceOf(const ThreadStay* stay) const { return sources_[IndexOf(stay)].stay; }

 private:
  struct Source {
    size_t part = 0;
    const ThreadStay* stay = nullptr;  // null: the input does not say
  };
  size_t IndexOf(const ThreadStay* stay) const { return static_cast<size_t>(stay - stays_.data()); }

  std::vector<ThreadStay> stays_;
  std::vector<Source> sources_;
  std::vector<StayChange> changes_;
};

// From instruction `first` on, up to the next run's: who executed it, as the input says.
struct StayRun {
  uint64_t first = 0;
  const ThreadStay* stay = nullptr;
};
void AddStay(const ThreadStay* stay, uint64_t first, std::vector<StayRun>& stays);

// From instruction `first` on, up to the next run's: how they are read.
struct ModeRun {
  uint64_t first = 0;
  CodeMode mode = CodeMode::kX86_64;
};
void AddMode(const BlockRun& run, uint64_t first, std::vector<ModeRun>& modes);
CodeMode ModeAt(const std::vector<ModeRun>& modes, uint64_t index);

// Appends what is known of one more block's times.
void AddTimes(const BlockRun& run, uint64_t first, std::vector<TimeRun>& times);

// Instruction `index` executed at `tsc`.
struct KnownTime {
  uint64_t index = 0;
  uint64_t tsc = 0;
};

struct TrueFlow {
  struct Packet {
    uint64_t offset = 0;
    uint64_t size = 0;
    uint64_t told = 0;  // instructions that it and those before it prove
    bool psb = false;
    bool tsc = false;
    bool fup = false;
    bool tip = false;
    bool header_part = false;  // inside PSB+, behind its PSB
    bool starts = false;       // TNT, TIP, TIP.PGE: no part of a compound that begins before
    uint64_t header = 0;       // of a PSB: where its PSBEND ends
  };

  std::vector<uint64_t> ips;
  std::vector<TimeRun> times;  // as the undamaged stream proves them
  std::vector<ModeRun> modes;
  std::vector<StayRun> stays;
  std::vector<KnownTime> known;  // from elsewhere: by index; may be few, or none
  std::vector<Packet> packets;   // by offset
  std::vector<DataLoss> losses;
  FlowDigest digest;
  uint64_t size = 0;  // of the stream, in bytes
  // Whether TIPs were written behind bits of later branches.
  bool deferred_tips = false;

  // The first packet at `offset` or behind it; packets.size(): none.
  size_t PacketAt(uint64_t offset) const;
  // Whether one begins at `offset`.
  bool IsPacket(uint64_t offset) const;
  // Instructions that the packets before `offset` prove, and those at or before it.
  uint64_t ToldBefore(uint64_t offset) const;
  uint64_t ToldThrough(uint64_t offset) const;
  // How many of the known times the undamaged stream's bounds exclude.
  uint64_t TimesOutOfBounds() const;
  // Behind how many instructions execution may have stood by the packet at `offset`: as many as
  // come with it, except for a FUP. That may name the instruction that its compound is about and
  // proves, a PTWRITE, or one that comes with the compound's last packet only.
  std::vector<uint64_t> PlacesAt(uint64_t offset) const;
};

// Fails the running test where the stream can't be decoded. `input` is that of the whole stream.
TrueFlow TrueFlowOf(Decoder& decoder, DecodeInput input);

// The packets of the stream from its first PSB on; none of them has been delivered by then.
std::vector<TrueFlow::Packet> PacketsOf(Bytes bytes, const CpuId& cpu = {});

}  // namespace flowback::judge
