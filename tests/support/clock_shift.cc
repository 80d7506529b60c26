// SPDX-License-Identifier: MIT
#include "tests/support/clock_shift.h"

#include <algorithm>
#include <span>
#include <variant>

#include "decode/pt/packets/packet.h"
#include "flowback/base/bytes.h"

namespace flowback::support {
namespace {

constexpr uint32_t kTypeAuxtraceInfo = 70;
constexpr uint32_t kTypeAuxtrace = 71;
constexpr size_t kReferenceAt = 24;
constexpr size_t kTimeShiftAt = 24;
constexpr size_t kTimeMultAt = 32;
constexpr size_t kTimeZeroAt = 40;

uint64_t Get64(const FileBytes& bytes, size_t at) { return LoadLittleEndian(&bytes.at(at), 8); }
void Put64(FileBytes& bytes, size_t at, uint64_t value) {
  for (size_t i = 0; i < 8; ++i) bytes.at(at + i) = static_cast<uint8_t>(value >> (8 * i));
}

// Calls `visit(offset, packet)` for each TSC packet.
template <class Visit>
void VisitTscs(Bytes bytes, const Visit& visit) {
  pt::PebsState pebs;
  pt::Packet packet;
  for (size_t at = 0; at < bytes.size();) {
    const pt::ReadResult size = pt::ReadPacket(bytes.subspan(at), pebs, packet);
    if (!size) {
      at = pt::FindPsb(bytes, at + 1);
      continue;
    }
    if (const auto* tsc = std::get_if<pt::Tsc>(&packet)) visit(at, *tsc);
    at += *size;
  }
}

}  // namespace

std::vector<uint64_t> TscsOf(const PerfDataParts& parts) {
  std::vector<uint64_t> tscs;
  for (const PerfDataParts::Record& record : parts.records)
    VisitTscs(record.data_behind, [&](size_t, const pt::Tsc& tsc) { tscs.push_back(tsc.tsc); });
  return tscs;
}

void MoveClock(PerfDataParts& parts, uint64_t ticks) {
  constexpr uint64_t kMask = (uint64_t{1} << 56) - 1;
  for (PerfDataParts::Record& record : parts.records) {
    if (record.type == kTypeAuxtraceInfo) {
      const uint64_t shift = Get64(record.bytes, kTimeShiftAt);
      const uint64_t mult = Get64(record.bytes, kTimeMultAt);
      const uint64_t rest = ticks & ((uint64_t{1} << shift) - 1);
      const uint64_t time = (ticks >> shift) * mult + ((rest * mult) >> shift);
      Put64(record.bytes, kTimeZeroAt, Get64(record.bytes, kTimeZeroAt) - time);
    } else if (record.type == kTypeAuxtrace) {
      Put64(record.bytes, kReferenceAt, Get64(record.bytes, kReferenceAt) + ticks);
      if ((ticks & kMask) == 0) continue;
      const FileBytes before = record.data_behind;
      VisitTscs(before, [&](size_t at, const pt::Tsc& tsc) {
        FileBytes packet;
        pt::Tsc{.tsc = (tsc.tsc + ticks) & kMask}.Encode(pt::ByteSink(packet));
        std::ranges::copy(packet, record.data_behind.begin() + static_cast<ptrdiff_t>(at));
      });
    }
  }
}

}  // namespace flowback::support
