// SPDX-License-Identifier: MIT
//
// A TSC packet holds the counter's lower 56 bits. A host with 3 GHz counts over them after 278
// days, and all times of its recordings have upper bits that stand elsewhere:
//
//   1. perf reads the counter whenever it writes an AUXTRACE record, into its `reference`.
//   2. The times of all other records are the counter's, converted; converted back they give it
//      again. So do inputs without AUXTRACE: samples with AUX data, LLDB bundles, --pevent.
//   3. Without any of these the upper bits are unknown, and only the differences count: they are 0
//      for the largest of the streams' first times, so that streams agree with each other when the
//      counter turned over between their beginnings.
//
// Any moment of the recording will do for all its streams: what a packet means is the value nearest
// to it. Where 1 and 2 are more than half a turn apart one of them is damaged. Then 2 is used: what
// the trace is put together with are the records' times.
#include "capture/formats/input/tsc_reference.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "base/recorded/pt_config.h"
#include "capture/formats/input/text.h"
#include "decode/pt/packets/packet.h"

namespace flowback {
namespace {

constexpr uint64_t kTurn = uint64_t{1} << 56;

// The counter when perf's clock showed `time`; empty when no counter can have been converted to it.
std::optional<uint64_t> TscAt(uint64_t time, const TimeConversion& conversion) {
  const uint64_t since_zero = time - conversion.zero;  // which may lie before 0
  if (!conversion.known() || conversion.shift >= 64 || since_zero >> 63 != 0) return std::nullopt;
  const uint64_t quotient = since_zero / conversion.mult;
  const unsigned __int128 rest = static_cast<unsigned __int128>(since_zero % conversion.mult)
                                 << conversion.shift;
  const unsigned __int128 tsc =
      (static_cast<unsigned __int128>(quotient) << conversion.shift) + rest / conversion.mult;
  if (tsc >> 64 != 0) return std::nullopt;
  return static_cast<uint64_t>(tsc);
}

// By the middle one of the records that carry a time: they are in its order.
std::optional<uint64_t> ByRecords(const Recording& recording) {
  std::vector<uint64_t> times;
  for (const SidebandRecord& record : recording.sideband) {
    const uint64_t time = std::visit([](const SidebandBase& base) { return base.time; }, record);
    if (time != 0) times.push_back(time);
  }
  if (times.empty()) return std::nullopt;
  return TscAt(times[times.size() / 2], recording.time);
}

// Returns the value of the first TSC packet; 0: none was found. If TSC packets are on, each PSB+
// has one, so a few of them are enough even with damage.
uint64_t FirstTsc(const Stream& stream) {
  constexpr size_t kFar = size_t{1} << 20;
  constexpr int kPsbs = 4;
  size_t end = std::min(stream.bytes.size(), kFar);
  for (const StreamGap& gap : stream.gaps)
    if (gap.offset != 0) end = std::min<size_t>(end, gap.offset);
  StreamWindow window(stream.bytes, stream.joined);
  window.Hold(0, end);
  const Bytes bytes = stream.bytes.first(end);
  size_t at = pt::FindPsb(bytes, 0);
  for (int psbs = 0; psbs < kPsbs && at < end; ++psbs) {
    const size_t psb = at;
    pt::PebsState pebs;
    pt::Packet packet;
    do {
      const pt::ReadResult size = pt::ReadPacket(bytes.subspan(at), pebs, packet);
      if (!size) break;
      if (const auto* tsc = std::get_if<pt::Tsc>(&packet); tsc != nullptr) return tsc->tsc;
      at += *size;
    } while (at < end && !std::holds_alternative<pt::PsbEnd>(packet));
    at = pt::FindPsb(bytes, std::max(at, psb + 1));
  }
  return 0;
}

}  // namespace

void ChooseTscReference(Recording& recording, PtConfig& config) {
  uint64_t& reference = config.tsc_reference;
  const std::optional<uint64_t> by_records = ByRecords(recording);
  if (by_records) {
    const uint64_t apart = std::max(reference, *by_records) - std::min(reference, *by_records);
    if (reference != 0 && apart > kTurn / 2)
      recording.warnings.push_back(
          {"the AUXTRACE records and the other records contradict each other: by the first the "
           "time-stamp counter was at " +
               Hex(reference) + ", by the times of the others at " + Hex(*by_records) +
               "; these are used",
           kDamageRemedy});
    if (reference == 0 || apart > kTurn / 2) reference = *by_records;
    return;
  }
  if (reference != 0) return;
  for (const Stream& stream : recording.streams) reference = std::max(reference, FirstTsc(stream));
}

}  // namespace flowback
