// SPDX-License-Identifier: MIT
// Whether a stream's processor sends TIPs at once, or may defer them.  [SDM "Deferred TIPs"]
#pragma once

#include "decode/pt/stream/errata.h"
#include "flowback/decode/decoder.h"

namespace flowback::pt {

// A processor that defers TIPs holds back a TNT until it is full, and the TIPs with it; some other
// packets send off both. So where most of the TNTs that stand directly before a TIP and a further
// TNT are not full, it was the TIP that sent them off. A few may be so for another reason: far
// transfers need not be deferred.
//
// Looks at the first 256 KB behind the first PSB, or as much of it as it takes. A function of the
// stream alone, so that all segments of it are decoded alike. False where too little is seen.
bool ShowsTipsAtOnce(const DecodeInput& input, const Errata& errata);

}  // namespace flowback::pt
