// SPDX-License-Identifier: MIT
// Versions of QEMU's plugin interface.
//
// A plugin states the version it was made for, and QEMU refuses those before its oldest and after
// its newest. All of them but one have the functions that our plugin calls, so it states the newest
// version that QEMU surely has: each version has a function that came with it. The recorder finds
// these in the emulator's file, the plugin in the process it is loaded into.
//
//   version  QEMU         that we notice
//   1        to 8.2
//   2        9.0          version 1 is refused
//   3        9.1          qemu_plugin_insn_data copies
//   4        9.2, 10.0
//   5        10.1, 10.2
//   6        11.0
#pragma once

#include <utility>

namespace flowback::record {

inline constexpr int kNewestPluginInterface = 6;
inline constexpr int kCopyingPluginInterface = 3;  // from here on
// Tried with 7.2, 8.2, 9.2, 10.0, 10.1, 10.2 and 11.0. For 9.0 and 9.1 only the interface was
// tried, which tests/record/programs/hosted/fake_emulator.c imitates.
inline constexpr const char* kKnownEmulators = "QEMU 7.2 to 11.0";

// The version of a QEMU for which `offers` returns whether it has a function; 0: it takes no
// plugins.
template <class Offers>
int PluginInterface(Offers offers) {
  constexpr std::pair<const char*, int> kCameWith[] = {
      {"qemu_plugin_set_pc", kNewestPluginInterface},
      {"qemu_plugin_write_register", 5},
      {"qemu_plugin_read_memory_vaddr", 4},
      {"qemu_plugin_register_vcpu_tb_exec_cond_cb", kCopyingPluginInterface},
      {"qemu_plugin_num_vcpus", 2},
      {"qemu_plugin_register_vcpu_tb_exec_cb", 1},
  };
  for (const auto& [function, version] : kCameWith)
    if (offers(function)) return version;
  return 0;
}

// The emulator's option for blocks of one instruction. Up to 8.2 all QEMUs know the older one.
constexpr const char* OneInstructionOption(int plugin_interface) {
  return plugin_interface < 2 ? "-singlestep" : "-one-insn-per-tb";
}

// Whether the emulator leaves it to the kernel where the program's mappings lie.
constexpr bool MapsWhereTheKernelDoes(int plugin_interface) { return plugin_interface >= 2; }

}  // namespace flowback::record
