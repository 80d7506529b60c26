// SPDX-License-Identifier: MIT
// What the command line said about a recording that its files do not: raw traces, images and
// sections, the processor. A bundle keeps it in its manifest.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "flowback/capture/open.h"

namespace flowback {
struct JsonValue;  // capture/formats/input/json_document.h
}

namespace flowback::bundle {

// Whether the options say anything of that kind.
bool HasGiven(const OpenOptions& given);

// The names of all files in it.
std::vector<std::string> FilesOf(const OpenOptions& given);

// What a reader's own options leave out is taken from the bundle's; its images and sections come
// first.
void AddGiven(const OpenOptions& given, OpenOptions& options);

nlohmann::ordered_json GivenJson(const OpenOptions& given);
// What cannot be understood is left out.
OpenOptions ParseGiven(const JsonValue& json);

}  // namespace flowback::bundle
