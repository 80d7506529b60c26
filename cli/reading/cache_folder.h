// SPDX-License-Identifier: MIT
// Where decoded code is kept between runs, as the environment says.
#pragma once

#include <cstdint>
#include <string>

#include "flowback/base/error.h"
#include "flowback/capture/record.h"
#include "flowback/decode/recording_code.h"

namespace flowback::cli {

// Fills in ImageSearch::cache: `given`, if that is not empty, else $FLOWBACK_CACHE, else
// $XDG_CACHE_HOME/flowback, else ~/.cache/flowback; none where nothing names a place. Its size is
// $FLOWBACK_CACHE_SIZE, 0 for no cache. Errors: kUsage when that is no size.
Status FindCache(const std::string& given, ImageSearch& search);

// Fills in the options' image_store, a folder in that one, and its size. Errors: as
// FindCache.
Status FindImageStore(RecordOptions& options);

}  // namespace flowback::cli
