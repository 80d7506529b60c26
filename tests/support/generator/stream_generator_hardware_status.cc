// SPDX-License-Identifier: MIT
// The packets that say nothing of the flow: time, power, PEBS, padding.
#include <algorithm>

#include "tests/support/generator/stream_generator_hardware.h"

namespace flowback::testing {
namespace {

uint64_t MtcPeriod() {
  return (uint64_t{kTscPerCtcNumerator} << kMtcShift) / kTscPerCtcDenominator;
}

}  // namespace

// --- packets that do not bind
// ---------------------------------------------------------------------

void TracingHardware::MaybePad() {
  if (!options_.padding || !random_.Chance(200)) return;
  for (uint64_t count = random_.Between(1, 7); count > 0; --count) writer_.TimePacket(pt::Pad{});
}

void TracingHardware::PebsBlock(const Node& at) {
  const bool narrow = random_.Chance(300);
  const bool with_ip = tracing() && random_.Chance(500);
  writer_.Write(pt::Bbp{.type = static_cast<uint8_t>(random_.Between(1, 6)), .four_byte = narrow});
  const uint64_t items = random_.Between(0, 12);
  for (uint64_t i = 0; i < items; ++i) {
    const uint64_t payload = narrow ? random_.Next() & 0xffffffff : random_.Next();
    writer_.Write(pt::Bip{.id = static_cast<uint8_t>(random_.Below(32)),
                          .payload = payload,
                          .bytes = static_cast<uint8_t>(narrow ? 4 : 8)});
  }
  writer_.Write(pt::Bep{.ip = with_ip});
  if (with_ip) FupHere(at.address);
  ++truth_.events;
}

void TracingHardware::Power(const Node& at) {
  if (tracing()) {
    if (random_.Chance(500)) {
      writer_.Write(
          pt::Mwait{.hints = static_cast<uint32_t>(random_.Below(0x60)), .extensions = 1});
    }
    writer_.Write(pt::ExStop{.ip = true});
    FupHere(at.address);
  } else {
    writer_.Write(pt::ExStop{});
  }
  writer_.Write(pt::Pwre{.state = 3, .sub_state = 1, .hardware = random_.Chance(300)});
  Sleep(5000);
  if (options_.tsc) {
    Timestamp();
    writer_.Write(pt::Cbr{ratio_});
  }
  writer_.Write(pt::Pwrx{.last = 3, .deepest = 3, .interrupt = true});
}

// The instruction before `at` was a CLI, STI or POPF, for all that a decoder can know.
void TracingHardware::ChangeFlag(const Node& at) {
  iflag_ = !iflag_;
  ModeExec();
  FupHere(at.address);
  ++truth_.flag_changes;
}

void TracingHardware::Extra(const Node& at) {
  if (losing_) return;
  const uint64_t which = random_.Below(5);
  if (which == 0 && options_.pebs) {
    FlushBranches();
    PebsBlock(at);
  } else if (which == 1 && options_.power) {
    FlushBranches();
    Power(at);
  } else if (which == 2 && options_.maintenance) {
    FlushBranches();
    writer_.Write(pt::Mnt{random_.Next()});
  } else if (which == 4 && options_.event_trace && tracing()) {
    FlushBranches();
    if (options_.kernel && random_.Chance(500)) return ChangeFlag(at);
    writer_.Write(pt::Trig{.triggers = 1, .ip = true});
    FupHere(at.address);
    ++truth_.events;
  } else if (which == 3 && options_.tsc) {  // a change of frequency
    ratio_ = static_cast<uint8_t>(random_.Between(10, 36));
    tsc_per_cycle_ = (uint64_t{kNominalRatio} << 16) / ratio_;
    writer_.TimePacket(pt::Cbr{ratio_});
  } else {
    MaybePad();
  }
}

// --- time
// -----------------------------------------------------------------------------------------

void TracingHardware::ScheduleMtc() {
  if (options_.mtc) next_mtc_ = (tsc() / MtcPeriod() + 1) * MtcPeriod();
}

// Cycles pass; the MTC packets that fall into them are written, each at the cycle in which its time
// comes. Without CYC packets they may stand before branches that are older than they are.
void TracingHardware::Tick(uint64_t cycles) {
  const auto pass = [this](uint64_t count) {
    cycles_ += count;
    tsc_ += count * tsc_per_cycle_;
  };
  while (options_.mtc) {
    const uint64_t until = (next_mtc_ << 16) - std::min(tsc_, next_mtc_ << 16);
    const uint64_t before = (until + tsc_per_cycle_ - 1) / tsc_per_cycle_;
    if (before > cycles) break;
    pass(before);
    cycles -= before;
    SendMtc();
  }
  pass(cycles);
}

void TracingHardware::SendMtc() {
  const uint64_t ctc = next_mtc_ * kTscPerCtcDenominator / kTscPerCtcNumerator;
  next_mtc_ += MtcPeriod();
  if (losing_) return;
  if (options_.cyc) {
    FlushBranches();
    CycIfDue();
  }
  writer_.TimePacket(pt::Mtc{static_cast<uint8_t>(ctc >> kMtcShift)});
}

void TracingHardware::CycIfDue() {
  if (!options_.cyc || cycles_ == told_cycles_) return;
  writer_.TimePacket(pt::Cyc{cycles_ - told_cycles_});
  told_cycles_ = cycles_;
}

// A CYC packet comes ahead of a TSC packet as it does ahead of an MTC packet.
void TracingHardware::Timestamp() {
  CycIfDue();
  writer_.Write(pt::Tsc{tsc()});
  if (!options_.mtc) return;
  const uint64_t per_ctc = kTscPerCtcNumerator / kTscPerCtcDenominator;
  writer_.Write(pt::Tma{.ctc = static_cast<uint16_t>(tsc() / per_ctc),
                        .fast = static_cast<uint16_t>(tsc() % per_ctc)});
}

}  // namespace flowback::testing
