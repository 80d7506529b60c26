// SPDX-License-Identifier: MIT
#include "capture/kernel/event_default.h"

#include <string>

namespace flowback::kernel {
namespace {

constexpr uint64_t kUsualPeriod = 3;
constexpr unsigned kPeriods = 16;  // the fields have four bits

// A field of Intel PT whose values the capabilities bound: value n is there where the mask's bit n
// is set; without the capability only 0 is.
struct BoundedTerm {
  const char* term;
  const char* cap;   // that the CPU has it at all
  const char* mask;  // the values
};
constexpr BoundedTerm kBounded[] = {{"mtc_period", "mtc", "mtc_periods"},
                                    {"psb_period", "psb_cyc", "psb_periods"},
                                    {"cyc_thresh", "psb_cyc", "cycle_thresholds"}};

// Terms that are there only with a capability.
struct GatedTerm {
  const char* term;
  const char* cap;
  const char* what;
};
constexpr GatedTerm kGated[] = {{"cyc", "psb_cyc", "cycle counts"},
                                {"mtc", "mtc", "MTC packets"},
                                {"ptw", "ptwrite", "PTWRITE"},
                                {"fup_on_ptw", "ptwrite", "PTWRITE"},
                                {"pwr_evt", "power_event_trace", "power events"},
                                {"event", "event_trace", "event trace"},
                                {"notnt", "tnt_disable", "switching TNT packets off"}};

uint64_t Values(const Pmu& pmu, const BoundedTerm& term) {
  return pmu.Cap(term.cap) == 0 ? 1 : pmu.Cap(term.mask) | 1;
}

// The usual period, else the largest below it, else the smallest above.
uint64_t BestPeriod(uint64_t values) {
  for (uint64_t period = kUsualPeriod; period > 0; --period)
    if ((values >> period & 1) != 0) return period;
  for (uint64_t period = kUsualPeriod; period < kPeriods; ++period)
    if ((values >> period & 1) != 0) return period;
  return 0;
}

void Set(const Pmu& pmu, std::string_view term, uint64_t value, perf_event_attr& attr) {
  const auto bits = pmu.format.find(term);
  if (bits != pmu.format.end() && value <= bits->second.largest()) bits->second.Set(attr, value);
}

uint64_t Get(const WantedEvent& event, std::string_view term) {
  const auto bits = event.pmu->format.find(term);
  return bits == event.pmu->format.end() ? 0 : bits->second.Get(event.attr);
}

std::string ListOf(uint64_t values) {
  std::string text;
  for (unsigned value = 0; value < kPeriods; ++value)
    if ((values >> value & 1) != 0) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

}  // namespace

void SetDefaults(const Pmu& pmu, perf_event_attr& attr) {
  if (pmu.name != kIntelPtName) return;
  Set(pmu, "tsc", 1, attr);
  if (pmu.Cap("mtc") != 0) {
    Set(pmu, "mtc", 1, attr);
    Set(pmu, "mtc_period", BestPeriod(pmu.Cap("mtc_periods")), attr);
  }
  if (pmu.Cap("psb_cyc") != 0) Set(pmu, "psb_period", BestPeriod(pmu.Cap("psb_periods")), attr);
  if (pmu.format.contains("pt") && pmu.format.contains("branch")) {
    Set(pmu, "pt", 1, attr);
    Set(pmu, "branch", 1, attr);
  }
}

Status CheckAgainstCaps(const WantedEvent& event) {
  if (event.pmu == nullptr || event.pmu->name != kIntelPtName) return {};
  const Pmu& pmu = *event.pmu;
  for (const GatedTerm& gated : kGated)
    if (Get(event, gated.term) != 0 && pmu.Cap(gated.cap) == 0)
      return Fail(Error(ErrorCode::kNoHardware, "'" + std::string(gated.term) +
                                                    "': this CPU's Intel PT has no " + gated.what +
                                                    " (caps/" + gated.cap + ")")
                      .Remedy("leave " + std::string(gated.term) + " out"));
  for (const BoundedTerm& bounded : kBounded) {
    const uint64_t value = Get(event, bounded.term);
    const uint64_t values = Values(pmu, bounded);
    if ((values >> value & 1) == 0)
      return Fail(Error(ErrorCode::kNoHardware,
                        "'" + std::string(bounded.term) + "=" + std::to_string(value) +
                            "': this CPU's Intel PT does not have that value (caps/" +
                            bounded.mask + ")")
                      .Remedy(std::string(bounded.term) + " may be " + ListOf(values)));
  }
  return {};
}

}  // namespace flowback::kernel
