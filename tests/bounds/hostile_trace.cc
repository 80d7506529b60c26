// SPDX-License-Identifier: MIT
#include "decode/pt/packets/packet_writer.h"
#include "tests/bounds/hostile_files.h"

namespace flowback::test {
namespace {

using Fill = std::function<void(pt::PacketWriter& trace, uint64_t number)>;

constexpr uint64_t kCode = 0x401000;
constexpr uint64_t kLoop = kCode + 4;

// Packets until the trace has `size` bytes, behind a PSB+ and a TIP.PGE.
HostileKind Run(const char* name, size_t size, size_t per_byte, const Fill& fill) {
  const auto make = [=](const ScratchFolder& folder) -> std::vector<std::string> {
    pt::PacketWriter trace;
    trace.Psb();
    trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
    trace.Write(pt::PsbEnd{});
    trace.TipPge(kCode);
    for (uint64_t i = 0; trace.size() < size; ++i) fill(trace, i);
    trace.FlushTnt();
    const std::vector<uint8_t> bytes = trace.Take();
    // At kCode: jz to itself, jmp to it. At kLoop: jmp to itself.
    const std::string code = folder.Write("code", std::string("\x74\xfe\xeb\xfc\xeb\xfe", 6));
    return {"--raw-pt", folder.Write("pt.bin", {bytes.begin(), bytes.end()}), "--section",
            code + ":0:6:0x401000"};
  };
  return {name, make, per_byte};
}

}  // namespace

std::vector<HostileKind> TraceKinds(size_t size) {
  const auto psb = [](pt::PacketWriter& trace, uint64_t) {
    trace.Psb();
    trace.Write(pt::PsbEnd{});
  };
  const auto off_on = [](pt::PacketWriter& trace, uint64_t) {
    trace.TipPgd(std::nullopt);
    trace.TipPge(kCode + 0x100);
  };
  // Counts say that a loop without packets went round `rounds` times before tracing ended in it.
  const auto counts = [](uint64_t rounds) {
    return [rounds](pt::PacketWriter& trace, uint64_t i) {
      trace.TipPgd(std::nullopt);
      trace.TipPge(kLoop);
      if (i == 0) trace.Write(pt::ExecutedCount{.instructions = 0, .begins = true}.AsPacket());
      trace.Write(pt::ExecutedCount{.instructions = (i + 1) * rounds}.AsPacket());
      trace.Fup(kLoop);
    };
  };
  return {
      Run("Pad", size, 2, [](pt::PacketWriter& trace, uint64_t) { trace.Write(pt::Pad{}); }),
      Run("Tnt", size, 2, [](pt::PacketWriter& trace, uint64_t i) { trace.TntBit(i % 3 != 0); }),
      Run("Psb", size, 2, [](pt::PacketWriter& trace, uint64_t) { trace.Psb(); }),
      Run("PsbPlus", size, 2, psb),
      Run("Tsc", size, 2,
          [](pt::PacketWriter& trace, uint64_t i) { trace.Write(pt::Tsc{.tsc = i}); }),
      Run("Cyc", size, 2,
          [](pt::PacketWriter& trace, uint64_t) { trace.Write(pt::Cyc{.cycles = 1}); }),
      // In the flow engine: losses of one kind that follow each other, and look-aheads.
      Run("Ovf", size, 4, [](pt::PacketWriter& trace, uint64_t) { trace.Write(pt::Ovf{}); }),
      Run("PgdPge", size, 4, off_on),
      Run("Pge", size, 4, [](pt::PacketWriter& trace, uint64_t) { trace.TipPge(kCode); }),
      Run("Tip", size, 4, [](pt::PacketWriter& trace, uint64_t) { trace.Tip(kCode); }),
      Run("Fup", size, 4, [](pt::PacketWriter& trace, uint64_t) { trace.Fup(kCode + 0x100); }),
      Run("Pip", size, 4,
          [](pt::PacketWriter& trace, uint64_t i) { trace.Write(pt::Pip{.cr3 = i << 12}); }),
      Run("Vmcs", size, 4,
          [](pt::PacketWriter& trace, uint64_t i) { trace.Write(pt::Vmcs{.base = i << 12}); }),
      Run("Counts", size, 4, counts(20)),
      Run("CountsThatNothingReaches", size, 4, counts(uint64_t{1} << 35)),
  };
}

}  // namespace flowback::test
