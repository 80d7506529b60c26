// SPDX-License-Identifier: MIT
// One pass over a stream's packets, without code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decode/pt/packets/packet.h"
#include "decode/pt/stream/errata.h"
#include "flowback/base/joined_bytes.h"
#include "flowback/model/execution.h"
#include "flowback/model/recording.h"

namespace flowback::pt {

// Visits every packet, and every unreadable range, in stream order; together they cover the stream.
// After bytes that are no packet it goes on at the next PSB; into that a packet that damage made
// may reach.
class PacketWalk {
 public:
  enum class Step : uint8_t { kPacket, kUnread, kEnd };

  // Begins at `from`, a PSB or 0. The stream must outlive it.
  PacketWalk(const Stream& stream, const CpuId& cpu, uint64_t from = 0);

  Step Next();

  // Counts of the packets that SkipFlow has skipped, and the bytes of the TIPs, whose sizes vary.
  struct Flow {
    uint64_t tnts = 0;  // short ones
    uint64_t pads = 0;
    uint64_t tips = 0;
    uint64_t tip_bytes = 0;
  };
  // Goes over the short TNTs, TIPs and padding that come next, if any do, and counts them. All of
  // them need not be one call's.
  void SkipFlow(Flow& flow);

  // Offset and size of the last visited packet.
  size_t offset() const { return offset_; }
  size_t size() const { return size_; }
  const Packet& packet() const { return packet_; }  // REQUIRES: kPacket
  LossCause cause() const { return cause_; }        // REQUIRES: kUnread
  // Returns how many bytes so far belong both to a PSB and to a false packet, made by damage, that
  // reaches into it.
  uint64_t told_twice() const { return told_twice_; }

 private:
  bool NextPart();
  bool ReadOne();
  bool FindSync();

  const Stream& stream_;
  StreamWindow window_;
  Errata errata_;
  size_t gap_ = 0;              // the next one
  size_t at_ = 0;               // all before it has been visited
  size_t end_ = 0;              // of the part between two gaps, which is a stream of its own
  bool synced_ = false;         // a packet begins at at_
  size_t behind_last_psb_ = 0;  // where it begins, and one
  LossCause cause_ = LossCause::kNoSync;
  PebsState pebs_;
  uint64_t told_twice_ = 0;
  size_t offset_ = 0;
  size_t size_ = 0;
  Packet packet_;
};

}  // namespace flowback::pt
