// SPDX-License-Identifier: MIT
// Machines as their kernels describe them: one file each, in trees/.
#pragma once

#include <string>
#include <vector>

#include "capture/kernel/machine_tree.h"

namespace flowback::test {

// All there are: "skylake_server".
std::vector<std::string> TreeNames();
// The file of one.
std::string TreeFile(const std::string& name);
// Fails the test where it can't be read.
kernel::MachineTree Tree(const std::string& name);

// Writes the machine's files below `folder`, as /proc and /sys have them.
void WriteTree(const kernel::MachineTree& tree, const std::string& folder);

}  // namespace flowback::test
