// SPDX-License-Identifier: MIT
// Where the file behind a recorded mapping may be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowback/decode/code_image.h"
#include "flowback/decode/recording_code.h"
#include "flowback/model/recording.h"

namespace flowback {

// Memory that is no file, by the names the kernel gives it: "[vdso]", "//anon", "[stack]".
constexpr std::string_view kVdso = "[vdso]";
bool IsPathless(std::string_view path);
// A path without the remark that the kernel puts behind it when the file is gone.
std::string_view WithoutDeleted(std::string_view path);
std::string_view BaseName(std::string_view path);
// A directory and a recorded path, which usually starts with '/', in one.
std::string UnderDirectory(const std::string& directory, std::string_view path);

// Which of its places a candidate lies in.
CodeSource SourceOf(const ImageSearch& search, const std::string& file);

// Files to try in this order: by build-id in perf's cache, in debuginfod's and in the debug
// directories; by path under symfs, in the debug directories, and as it is.
std::vector<std::string> CandidateFiles(const ImageSearch& search, const std::string& path,
                                        const BuildId& build_id);

}  // namespace flowback
