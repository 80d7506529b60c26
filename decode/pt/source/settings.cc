// SPDX-License-Identifier: MIT
#include "decode/pt/source/settings.h"

#include <optional>
#include <string>
#include <utility>

namespace flowback::pt {
namespace {

class Words {
 public:
  void Number(std::string_view key, uint64_t value) { Add({key, {}, {}, value}); }
  void Unknown(std::string_view key) { Add({key, {}, {}, {}}); }
  // In text only.
  void Text(std::string_view name, std::string text) { Add({{}, name, std::move(text), {}}); }
  void Add(TraceSetting setting) { settings_.push_back(std::move(setting)); }
  std::vector<TraceSetting> Take() { return std::move(settings_); }

 private:
  std::vector<TraceSetting> settings_;
};

void AddCpu(const CpuId& cpu, Words& words) {
  const std::pair<std::string_view, uint64_t> numbers[] = {
      {"cpu_family", cpu.family}, {"cpu_model", cpu.model}, {"cpu_stepping", cpu.stepping}};
  for (const auto& [key, number] : numbers)
    cpu.known() ? words.Number(key, number) : words.Unknown(key);
}

void AddSwitches(const PtConfig& config, Words& words) {
  if (config.return_compression)
    words.Add({"return_compression", "return compression",
               *config.return_compression ? "on" : "off", *config.return_compression});
  else
    words.Unknown("return_compression");
  const bool filtered = config.address_filter.value_or(false);
  words.Add({"address_filter", filtered ? "address filter" : "", "on", filtered});
}

void AddClock(const PtConfig& config, Words& words) {
  if (config.mtc_shift && !config.mtc_off)
    words.Add({"mtc_shift", "MTC period", std::to_string(*config.mtc_shift),
               uint64_t{*config.mtc_shift}});
  else
    words.Unknown("mtc_shift");
  if (config.mtc_off) words.Text("MTC period", "off");
  words.Number("tsc_ctc_numerator", config.tsc_ctc_numerator);
  words.Number("tsc_ctc_denominator", config.tsc_ctc_denominator);
  if (config.tsc_ctc_denominator != 0)
    words.Text("TSC:CTC", std::to_string(config.tsc_ctc_numerator) + '/' +
                              std::to_string(config.tsc_ctc_denominator));
  const bool told = config.nominal_ratio != 0;
  words.Add({"nominal_ratio", told ? "nominal ratio" : "", std::to_string(config.nominal_ratio),
             uint64_t{config.nominal_ratio}});
}

}  // namespace

std::vector<uint64_t> SettingNumbers(const PtConfig& config) {
  const auto optional = []<class T>(const std::optional<T>& of) {
    return of ? uint64_t{*of} + 1 : 0;
  };
  std::vector<uint64_t> numbers = {config.cpu.intel,
                                   config.cpu.family,
                                   config.cpu.model,
                                   config.cpu.stepping,
                                   optional(config.return_compression),
                                   optional(config.address_filter),
                                   config.tsc_ctc_numerator,
                                   config.tsc_ctc_denominator,
                                   optional(config.mtc_shift),
                                   config.mtc_off,
                                   config.nominal_ratio,
                                   config.tsc_reference};
  for (const AddressRange& range : config.filter_ranges)
    numbers.insert(numbers.end(), {range.begin, range.end});
  return numbers;
}

std::vector<TraceSetting> SettingsOf(const PtConfig& config) {
  Words words;
  AddCpu(config.cpu, words);
  AddSwitches(config, words);
  AddClock(config, words);
  return words.Take();
}

}  // namespace flowback::pt
