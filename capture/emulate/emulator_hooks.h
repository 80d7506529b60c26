// SPDX-License-Identifier: MIT
// Calls of the emulator to the C library show events that the plugin interface lacks.
#pragma once

namespace flowback::emulate {

// Leads the calls that the process's main program makes to the dynamic function `name` to
// `replacement`. Other objects' calls stay as they are. The function called so far; null when the
// program has no such call or can't be changed: then all is as before.
void* ReplaceImport(const char* name, void* replacement);

}  // namespace flowback::emulate
