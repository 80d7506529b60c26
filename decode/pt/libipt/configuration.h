// SPDX-License-Identifier: MIT
// Our machine description in libipt's words.
#pragma once

#include <intel-pt.h>

#include "base/recorded/pt_config.h"
#include "flowback/base/bytes.h"
#include "flowback/model/machine.h"

namespace flowback::libipt {

// For decoders of `bytes`, which must outlive them. Errata are set for a CPU that libipt knows.
// The erratum SKL014 stays off: it needs the filter's ranges, which recordings here don't carry.
pt_config MakeConfig(Bytes bytes, const PtConfig& pt);

}  // namespace flowback::libipt
