// SPDX-License-Identifier: MIT
// The parts of the page that --html writes: the files in replay/writers/timeline/page/.
#pragma once

#include <string_view>

namespace flowback {

extern const std::string_view kPageHead;  // up to the style
extern const std::string_view kPageStyle;
extern const std::string_view kPageBody;  // up to the data
extern const std::string_view kPageScript;

}  // namespace flowback
