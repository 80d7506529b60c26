// SPDX-License-Identifier: MIT
// Packets by name become bytes.
//
//   psb  psbend  pad  ovf  tracestop
//   psb+ [ADDRESS]               a whole PSB+; with an address: MODE.Exec and FUP in it
//   tnt t.n                      t taken, . or n not taken; oldest first; up to 6
//   tnt64 t.n                    long form, up to 47
//   tip|tip.pge|tip.pgd|fup [ADDRESS]      without an address: IP suppressed
//   tip/2 ADDRESS                with this IPBytes code; default: the shortest that is right,
//                                or after OVF the shortest that needs no Last IP
//   mode.exec 64|32|16 [if]      mode.tsx begin|commit|abort
//   pip CR3 [nr]  vmcs BASE  tsc N  tma CTC FAST  mtc N  cyc N  cbr N  mnt N
//   ptw N [8] [ip]  exstop [ip]  mwait HINTS EXTENSIONS
//   pwre STATE SUBSTATE [hw]  pwrx LAST DEEPEST [interrupt] [store] [autonomous]
//   bbp TYPE [4]  bip ID N  bep [ip]  cfe TYPE VECTOR [ip]  evd TYPE N
//   trig TRIGGERS [mult] [ip] [icnt N]
//   raw 02 a3                    any bytes
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/base/error.h"
#include "tests/behaviour/behaviour_file.h"

namespace flowback::behaviour {

// Errors: kUsage with file and line.
Result<std::vector<uint8_t>> AssembleTrace(const BehaviourFile& file);

}  // namespace flowback::behaviour
