// SPDX-License-Identifier: MIT
// Opens an input of any supported format, which is recognised by content, never by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback {

// The address filter that a trace was recorded with.
struct TraceFilter {
  bool set = true;                   // false: everything was traced
  std::vector<AddressRange> ranges;  // traced ranges whose addresses the filter itself names
};

struct OpenOptions {
  std::string input;   // a perf.data file or folder, an LLDB bundle; empty when raw_pt is given
  std::string bundle;  // the path of that which `input` was unpacked from; empty: of none
  std::vector<std::string> raw_pt;  // each file is one stream
  // Sideband for raw_pt: files of raw perf records, whose ends are as perf_event_attr's
  // sample_type says (with sample_id_all).
  std::vector<std::string> pevent;
  std::optional<uint64_t> sample_type;
  std::vector<SectionSpec> sections;
  std::vector<ImageSpec> images;
  // Override what the recording says, or supply it for raw PT.
  std::optional<CpuId> cpu;
  uint32_t tsc_ctc_numerator = 0;
  uint32_t tsc_ctc_denominator = 0;
  std::optional<uint8_t> mtc_shift;
  uint32_t nominal_ratio = 0;
  std::optional<TimeConversion> time_conversion;
  std::optional<TraceFilter> filter;
  // Streams that the recording has in many pieces are kept in memory as a whole. False: they have
  // Stream::joined, for readers with windows, which bring `join`'s granules as they go.
  bool whole_streams = true;
  JoinedBytes::Limits join;
};

// Errors: kUnreadable with offset and remedy; kUsage when nothing or two kinds of input are named.
Result<Recording> OpenRecording(const OpenOptions& options);

// Parse the command line's spellings; numbers are decimal or 0x-hexadecimal. Errors: kUsage.
Result<SectionSpec> ParseSectionSpec(const std::string& text);        // FILE:OFFSET:SIZE:ADDRESS
Result<ImageSpec> ParseImageSpec(const std::string& text);            // ELF[@LOAD_ADDRESS]
Result<CpuId> ParseCpuId(const std::string& text);                    // FAMILY/MODEL[/STEPPING]
Result<TimeConversion> ParseTimeConversion(const std::string& text);  // SHIFT,MULT,ZERO
// `none`, START/SIZE, or the words that perf's --filter takes, as in
// `filter 0x1000/0x200, tracestop 0x3000/1`. Terms that name a symbol or a file have no range.
Result<TraceFilter> ParseTraceFilter(const std::string& text);

}  // namespace flowback
