// SPDX-License-Identifier: MIT
// What an emulator's file says of it, and whether the engine "emulate" can work on this machine.
#pragma once

#include <string>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"

namespace flowback {

// What an emulator's ELF file says about loading plugins.
struct EmulatorPlugins {
  int interface_version = 0;       // of QEMU's plugin interface, up to the newest known; 0: none
  bool linked_statically = false;  // so it can load no plugin
};
EmulatorPlugins PluginsOf(const std::string& emulator);
// How to get an emulator that loads plugins, where there is no emulator.
inline constexpr const char* kInstallEmulator =
    "sudo apt-get install qemu-user (Debian 12's: Debian 13's can't load plugins)";
// Why the emulator loads none, and what can be done about it.
Error NoPlugins(const std::string& emulator, const EmulatorPlugins& plugins);

// Whether the engine "emulate" can work here; the error says what is missing and how to get it.
Status CheckEmulator(const RecordOptions& options);
// The same, and whether the options' command is a program that it can run: of those that this
// machine runs, 32-bit ones are none. A command that can't be run at all is not its matter.
Status CheckEmulated(const RecordOptions& options);

}  // namespace flowback
