// SPDX-License-Identifier: MIT
#include "cli/record/hardware_options.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

namespace flowback::cli {
namespace {

struct HardwareOption {
  std::string_view names;
  int least, most;  // words behind it
  ErrorCode error;
  std::string_view does;
  std::string_view remedy;

  std::string OneName() const { return std::string(names.substr(0, names.find(','))); }
};

constexpr HardwareOption kOptions[] = {
#define FLOWBACK_HARDWARE_OPTION(names, least, most, error, does, remedy) \
  {names, least, most, ErrorCode::error, does, remedy},
#define FLOWBACK_EVENT_OPTION(...)
#include "cli/record/hardware_options.def"
#undef FLOWBACK_HARDWARE_OPTION
#undef FLOWBACK_EVENT_OPTION
};

constexpr HardwareOption kEventOptions[] = {
#define FLOWBACK_HARDWARE_OPTION(...)
#define FLOWBACK_EVENT_OPTION(names, least, most, error, does, remedy) \
  {names, least, most, ErrorCode::error, does, remedy},
#include "cli/record/hardware_options.def"
#undef FLOWBACK_HARDWARE_OPTION
#undef FLOWBACK_EVENT_OPTION
};

Status RefuseFirst(const CLI::App& app, std::span<const HardwareOption> options) {
  for (const HardwareOption& option : options)
    if (app.count(option.OneName()) != 0)
      return Fail(Error(option.error, fmt::format("record: {} {}", option.OneName(), option.does))
                      .Remedy(std::string(option.remedy)));
  return {};
}

}  // namespace

void AddHardwareOptions(CLI::App& app) {
  for (const HardwareOption& option : kOptions) {
    CLI::Option* added =
        option.most == 0
            ? app.add_flag(std::string(option.names))
            : app.add_option(std::string(option.names))->expected(option.least, option.most);
    added->group("");
  }
}

std::string RefusedOptions() {
  std::string text =
      "The engines emulate and step refuse options of the hardware and of the kernel's events, and "
      "say what helps instead:";
  for (const HardwareOption& option : kEventOptions)
    text += (text.back() == ':' ? " " : ", ") + option.OneName();
  return text + ".";
}

Status RefuseHardwareOptions(const CLI::App& app) { return RefuseFirst(app, kOptions); }

Status RefuseEventOptions(const CLI::App& app) { return RefuseFirst(app, kEventOptions); }

}  // namespace flowback::cli
