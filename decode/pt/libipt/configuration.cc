// SPDX-License-Identifier: MIT
#include "decode/pt/libipt/configuration.h"

#include <algorithm>

namespace flowback::libipt {
namespace {

// The ranges that are traced, as the processor's registers hold them: four at most, the last
// address included.
void SetAddressFilter(const std::vector<AddressRange>& ranges, pt_conf_addr_filter& filter) {
  constexpr uint64_t kTraceInside = 1;
  constexpr unsigned kConfigBits = 4;
  uint64_t* const bounds[4][2] = {{&filter.addr0_a, &filter.addr0_b},
                                  {&filter.addr1_a, &filter.addr1_b},
                                  {&filter.addr2_a, &filter.addr2_b},
                                  {&filter.addr3_a, &filter.addr3_b}};
  const size_t count = std::min(ranges.size(), std::size(bounds));
  for (size_t i = 0; i < count; ++i) {
    filter.config.addr_cfg |= kTraceInside << (kConfigBits * i);
    *bounds[i][0] = ranges[i].begin;
    *bounds[i][1] = ranges[i].end - 1;
  }
}

}  // namespace

pt_config MakeConfig(Bytes bytes, const PtConfig& pt) {
  pt_config config;
  pt_config_init(&config);
  // The decoders only read; the pointers are not const because the encoder shares the structure.
  config.begin = const_cast<uint8_t*>(bytes.data());
  config.end = config.begin + bytes.size();
  if (pt.cpu.known()) {
    config.cpu = {.vendor = pt.cpu.intel ? pcv_intel : pcv_unknown,
                  .family = pt.cpu.family,
                  .model = pt.cpu.model,
                  .stepping = pt.cpu.stepping};
    // An unknown CPU leaves the errata empty, which is the best guess for it.
    if (pt_cpu_errata(&config.errata, &config.cpu) < 0) config.errata = {};
  }
  config.cpuid_0x15_eax = pt.tsc_ctc_denominator;
  config.cpuid_0x15_ebx = pt.tsc_ctc_numerator;
  config.mtc_freq = pt.mtc_shift.value_or(0);
  config.nom_freq = static_cast<uint8_t>(pt.nominal_ratio);
  SetAddressFilter(pt.filter_ranges, config.addr_filter);
  return config;
}

}  // namespace flowback::libipt
