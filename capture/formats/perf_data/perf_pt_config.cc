// SPDX-License-Identifier: MIT
#include "capture/formats/perf_data/perf_pt_config.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <string_view>

#include "capture/formats/input/field_reader.h"
#include "capture/formats/input/text.h"

namespace flowback::perf {
namespace {

constexpr uint32_t kMax32 = std::numeric_limits<uint32_t>::max();

std::optional<TimeConversion> MakeConversion(uint64_t shift, uint64_t mult, uint64_t zero) {
  // 2^shift must fit 64 bits, and the product of a remainder below it with mult as well.
  if (mult == 0 || mult > kMax32 || shift > 32) return std::nullopt;
  return TimeConversion{static_cast<uint16_t>(shift), static_cast<uint32_t>(mult), zero};
}

void ApplyTime(const AuxtraceInfo& info, Recording& recording) {
  if (info.At(kPtCapUserTimeZero) == 0) return;  // the kernel gives no relation to the TSC
  const auto time =
      MakeConversion(info.At(kPtTimeShift), info.At(kPtTimeMult), info.At(kPtTimeZero));
  if (time) {
    recording.time = *time;
  } else {
    recording.warnings.push_back(
        {"AUXTRACE_INFO's time conversion (shift " + Dec(info.At(kPtTimeShift)) + ", multiplier " +
             Dec(info.At(kPtTimeMult)) + ") is impossible: the trace's times are unknown",
         kDamageRemedy});
  }
}

void ApplyRatios(const AuxtraceInfo& info, PtConfig& config, std::vector<Warning>& warnings) {
  const uint64_t numerator = info.At(kPtTscCtcNumerator);
  const uint64_t denominator = info.At(kPtTscCtcDenominator);
  const uint64_t nominal = info.At(kPtMaxNonturboRatio);
  if (numerator <= kMax32 && denominator <= kMax32 && nominal <= 0xff) {
    config.tsc_ctc_numerator = static_cast<uint32_t>(numerator);
    config.tsc_ctc_denominator = static_cast<uint32_t>(denominator);
    config.nominal_ratio = static_cast<uint32_t>(nominal);
  } else {
    warnings.push_back(
        {"AUXTRACE_INFO's clock ratios (" + Dec(numerator) + "/" + Dec(denominator) + ", " +
             Dec(nominal) + ") are impossible: ignored",
         "copy the file again, record again, or name them with --tsc-ctc and --nominal-freq"});
  }
}

// AUXTRACE_INFO gives the places of fields in the event's config as masks.
void ApplyEvent(const AuxtraceInfo& info, const EventAttr& event, Recording& recording) {
  PtConfig& config = recording.config.Make<PtConfig>();
  const uint64_t event_config = event.config;
  recording.levels.user = (event.flags & kAttrExcludeUser) == 0;
  recording.levels.kernel = (event.flags & kAttrExcludeKernel) == 0;
  if (const uint64_t mask = info.At(kPtNoRetCompBit); mask != 0) {
    config.return_compression = !(event_config & mask);
  }
  if (const uint64_t mask = info.At(kPtMtcBit); mask != 0) config.mtc_off = !(event_config & mask);
  if (const uint64_t mask = info.At(kPtMtcFreqBits); mask != 0) {
    const uint64_t shift = (event_config & mask) >> std::countr_zero(mask);
    if (shift <= 15) config.mtc_shift = static_cast<uint8_t>(shift);  // MTCFreq has four bits
  }
}

// Newer TIME_CONV records go on with two counters and whether `zero` is valid.
bool HasTimeZero(FieldReader fields) {
  fields.Skip(16);
  const bool valid = fields.U8() != 0;
  return valid || !fields.ok();
}

// The text is no number: its bytes stand in their order in files of either byte order.
std::string FilterOf(const AuxtraceInfo& info, const Record& record) {
  constexpr uint64_t kTextAt = 8 + 8 * kPtFilterText;
  return TextOf(
      Slice(Slice(record.body, kTextAt, record.body.size()), 0, info.At(kPtFilterLength)));
}

std::optional<uint64_t> TakeNumber(std::string_view& text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// START[/SIZE] and nothing behind it but the end of the term.
std::optional<AddressRange> ParseRange(std::string_view term) {
  const auto begin = TakeNumber(term);
  if (!begin || !term.starts_with('/')) return std::nullopt;
  term.remove_prefix(1);
  const auto size = TakeNumber(term);
  if (!size || !term.empty() || *size > std::numeric_limits<uint64_t>::max() - *begin) {
    return std::nullopt;
  }
  return AddressRange{*begin, *begin + *size};
}

}  // namespace

AuxtraceInfo ParseAuxtraceInfo(const Record& record) {
  FieldReader fields = record.Fields();
  AuxtraceInfo info;
  info.type = fields.U32();
  fields.Skip(4);
  while (fields.ok() && fields.remaining() >= 8) info.values.push_back(fields.U64());
  if (info.is_intel_pt()) info.filter = FilterOf(info, record);
  return info;
}

void ApplyPtInfo(const AuxtraceInfo& info, const std::vector<EventAttr>& attrs,
                 Recording& recording) {
  PtConfig& config = recording.config.Make<PtConfig>();
  ApplyTime(info, recording);
  ApplyRatios(info, config, recording.warnings);
  config.address_filter = !info.filter.empty();
  config.filter_ranges = ParseFilterRanges(info.filter);
  const auto event = std::find_if(attrs.begin(), attrs.end(), [&](const EventAttr& attr) {
    return attr.type == info.At(kPtPmuType);
  });
  if (event != attrs.end()) {
    ApplyEvent(info, *event, recording);
  } else {
    recording.warnings.push_back({"no event of the header has the PMU number " +
                                      Dec(info.At(kPtPmuType)) +
                                      " of AUXTRACE_INFO: the trace's settings are unknown",
                                  kDamageRemedy});
  }
}

void ApplyTimeConv(const Record& record, Recording& recording) {
  FieldReader fields = record.Fields();
  const uint64_t shift = fields.U64();
  const uint64_t mult = fields.U64();
  const uint64_t zero = fields.U64();
  const auto time =
      fields.ok() && HasTimeZero(fields) ? MakeConversion(shift, mult, zero) : std::nullopt;
  if (time && !recording.time.known()) recording.time = *time;
}

// Terms are separated by commas or spaces: "filter 0x1000/0x200, stop 0x3000".
std::vector<AddressRange> ParseFilterRanges(const std::string& filter) {
  std::vector<AddressRange> ranges;
  constexpr std::string_view kAction = "filter";
  constexpr std::string_view kSpace = " ,\t\n";
  for (size_t at = filter.find(kAction); at != std::string::npos; at = filter.find(kAction, at)) {
    at = filter.find_first_not_of(kSpace, at + kAction.size());
    if (at == std::string::npos) break;
    const size_t end = std::min(filter.find_first_of(kSpace, at), filter.size());
    const auto range = ParseRange(std::string_view(filter).substr(at, end - at));
    if (range) ranges.push_back(*range);
    at = end;
  }
  return ranges;
}

}  // namespace flowback::perf
