// SPDX-License-Identifier: MIT
// The documents that gdb reads of a process: its libraries, its threads, its auxiliary vector.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "flowback/model/code_mode.h"
#include "replay/gdb/machine_view.h"

namespace flowback::gdb {

// "running on CPU 3, 12.5 s" of a thread at the moment.
std::string ThreadStateText(const MachineView& view, size_t thread);
// `id`: how the protocol names the thread.
std::string ThreadList(const MachineView& view, const std::function<std::string(size_t)>& id);
// Returns all files of the current thread's process except the program itself.
std::string LibraryList(const MachineView& view);
// Files of /proc that gdb reads, by path: where the kernel's code in the process (vDSO) lies.
std::map<std::string, std::string> KernelFiles(const MachineView& view);
// Where the program and its loader lie. Empty where no program is known.
std::string AuxiliaryVector(const MachineView& view, CodeMode mode);

}  // namespace flowback::gdb
