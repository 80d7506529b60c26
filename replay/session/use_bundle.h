// SPDX-License-Identifier: MIT
// Bundles (capture/bundle/bundle_format.h) as inputs of sessions.
#pragma once

#include "flowback/base/error.h"
#include "flowback/session.h"

namespace flowback {

// Where the options' input is a bundle, unpacks it and makes them name what is in it: the recording
// as the input, its sources and debug files under ImageSearch::symfs, the core dumps, the kernel's
// symbols and memory. What the options name already is taken in place of the
// bundle's. The files last as long as SessionOptions::bundle, which tells what was packed, and what
// of it cannot be read. Changes nothing where the input is no bundle. Errors: as
// UnpackedBundle::Open's.
Status UseBundle(SessionOptions& options);

}  // namespace flowback
