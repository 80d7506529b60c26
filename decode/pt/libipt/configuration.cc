// SPDX-License-Identifier: MIT
#include "decode/pt/libipt/configuration.h"

namespace flowback::libipt {

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
  return config;
}

}  // namespace flowback::libipt
