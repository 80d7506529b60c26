// SPDX-License-Identifier: MIT
// Bundles (capture/bundle/bundle_format.h) as inputs of sessions.
#pragma once

#include "flowback/base/error.h"
#include "flowback/session.h"

namespace flowback {

// If the options' input is a bundle, unpacks it and makes the options name its files: the recording
// as the input, its sources and debug files under ImageSearch::symfs, the core dumps, the kernel's
// symbols and memory. Files that the options name already are used in place of the bundle's. The
// files last as long as SessionOptions::bundle, which lists the packed files and the damage.
// Changes nothing where the input is no bundle. Errors: as UnpackedBundle::Open's.
Status UseBundle(SessionOptions& options);

}  // namespace flowback
