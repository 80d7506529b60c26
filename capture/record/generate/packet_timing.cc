// SPDX-License-Identifier: MIT
// Timing packets.
//
// Without CYC packets the clock is looked at where a packet is about to be written, and an MTC that
// is due by then stands before it: branches held back may be older than the MTC.
//
// With CYC packets it is looked at for each branch, too, and as on hardware every packet about the
// flow has its time: before it stands a CYC, before a TNT the time of its first branch; an MTC
// first sends off the branches held back, and stands at its line of the crystal clock's grid:
//
//   CYC  TNT    CYC  MTC    CYC  TIP        each CYC: cycles since the one, or the TSC, before it
//
// A cycle is a tick of the time-stamp counter, because the written core:bus ratio is the nominal
// one.
#include <algorithm>

#include "capture/record/generate/packet_generator.h"

namespace flowback::record {
namespace {

// An MTC carries eight bits of the crystal clock, but the TMA before it has only the lower 16 bits
// of that clock, so of a long period fewer than eight are known. More periods without an MTC than
// half of what they can count, and the next one could be misread: then the time is written anew.
uint64_t MaxMissedMtc(uint8_t mtc_shift) {
  constexpr unsigned kTmaBits = 16;
  const unsigned known_bits = std::min(8u, kTmaBits - mtc_shift);
  return uint64_t{1} << (known_bits - 1);
}

}  // namespace

void PacketGenerator::WriteTime() {
  if (settings_.timestamps || counts_cycles()) WriteTimeAt(thread_clock_.Now());
}

void PacketGenerator::WriteTimeAt(uint64_t tsc) {
  if (counts_cycles()) WriteCyc(tsc);
  if (!settings_.timestamps) return;
  if (counts_cycles()) cycles_from_ = tsc;
  writer_.TimePacket(pt::Tsc{tsc});
  if (!settings_.mtc_shift) return;
  const uint64_t ticks = clock_.CrystalTicks(tsc);
  writer_.TimePacket(pt::Tma{static_cast<uint16_t>(ticks), clock_.FastCounter(tsc)});
  TellMtc(ticks >> *settings_.mtc_shift);
}

// Writes `periods` of the crystal clock.
void PacketGenerator::TellMtc(uint64_t periods) {
  last_mtc_ = periods;
  next_mtc_ = ((periods + 1) << *settings_.mtc_shift) * clock_.tsc_per_crystal_tick();
}

void PacketGenerator::WriteMtc() {
  if (!settings_.mtc_shift || !settings_.timestamps || counts_cycles()) return;
  const uint64_t tsc = thread_clock_.Now();
  if (tsc < next_mtc_) return;
  const uint64_t now = clock_.CrystalTicks(tsc) >> *settings_.mtc_shift;
  if (now - last_mtc_ > MaxMissedMtc(*settings_.mtc_shift)) return WriteTimeAt(tsc);
  writer_.TimePacket(pt::Mtc{static_cast<uint8_t>(now)});
  TellMtc(now);
}

// ---- with CYC packets ----

// The packets about to be written, which belong together, are of now.
void PacketGenerator::TimePacketGroup() {
  if (!counts_cycles()) return;
  const uint64_t now = thread_clock_.Now();
  FlushTnt();
  WriteTimedMtc(now);
  WriteCyc(now);
}

void PacketGenerator::TntBit(bool taken) {
  if (!counts_cycles()) return writer_.TntBit(taken);
  const uint64_t now = thread_clock_.Now();
  WriteTimedMtc(now);
  if (writer_.pending_tnt() == 0) first_held_ = now;
  const bool full = writer_.NextTntFlushes();
  writer_.HoldTnt(taken);
  if (full) FlushTnt();
}

void PacketGenerator::FlushTnt() {
  if (counts_cycles() && writer_.pending_tnt() != 0) WriteCyc(first_held_);
  writer_.FlushTnt();
}

void PacketGenerator::WriteTimedMtc(uint64_t now) {
  if (!settings_.mtc_shift || !settings_.timestamps || now < next_mtc_) return;
  FlushTnt();
  const uint64_t periods = clock_.CrystalTicks(now) >> *settings_.mtc_shift;
  if (periods - last_mtc_ > MaxMissedMtc(*settings_.mtc_shift)) return WriteTimeAt(now);
  const uint64_t line = (periods << *settings_.mtc_shift) * clock_.tsc_per_crystal_tick();
  WriteCyc(line);
  // Decoders count anew from here, whether or not a CYC was due.
  cycles_from_ = line;
  writer_.TimePacket(pt::Mtc{static_cast<uint8_t>(periods)});
  TellMtc(periods);
}

void PacketGenerator::WriteCyc(uint64_t tsc) {
  constexpr uint64_t kMostCycles = uint64_t{1} << 40;  // minutes: decoders take more for damage
  const uint64_t cycles = tsc - cycles_from_.value_or(tsc);
  if (!cycles_from_ || cycles >= kMostCycles) cycles_from_ = tsc;
  const unsigned threshold = *settings_.cyc_threshold;
  const uint64_t least = threshold == 0 ? 1 : uint64_t{1} << (threshold - 1);
  if (cycles < least || cycles >= kMostCycles) return;
  writer_.TimePacket(pt::Cyc{cycles});
  cycles_from_ = tsc;
}

}  // namespace flowback::record
