// SPDX-License-Identifier: MIT
// How host.cc asks the machine. Parts for InChild return 0 where it has what is asked for.
#pragma once

namespace flowback::host {

int CallsByInterrupt80();
int ChangesTo32BitCode();
int BecomesA32BitProgram();
int TracesItsChild();
int OpensASoftwareEvent();
// Whether the page of an event tells how the kernel's clock follows from the TSC.
int FindsTheKernelsClock();

// By CPUID, in this process.
bool HasTransactions();

}  // namespace flowback::host
