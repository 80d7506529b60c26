// SPDX-License-Identifier: MIT
// How host.cc asks the machine. Parts for InChild return 0 if the machine has the trait.
#pragma once

namespace flowback::host {

int CallsByInterrupt80();
int ChangesTo32BitCode();
int BecomesA32BitProgram();
int TracesItsChild();
int OpensASoftwareEvent();
// Whether the page of an event contains how the kernel's clock follows from the TSC.
int FindsTheKernelsClock();
// Whether a script runs in the folder for temporary files: that may be mounted without.
int RunsATemporaryScript();

// By CPUID, in this process.
bool HasTransactions();

}  // namespace flowback::host
