// SPDX-License-Identifier: MIT
// Where this build, and the sources that it was made of, lie. A library of their own has them, and
// not macros: with an absolute path among its options, what a test was compiled to would never be
// found again by ccache in another clone.
#pragma once

#include <string>

namespace flowback {

std::string SourceFolder();
std::string BuildFolder();
// flowback itself: of this build, or the program that FLOWBACK_TEST_PROGRAM names, which is a
// sanitized one.
std::string ProgramFile();
// True where that program takes terabytes of addresses and several times as long.
bool ProgramIsSanitized();
std::string RecordedProgramsFolder();  // of tests/record
std::string SamplesFolder();
std::string EmulatorPlugin();  // empty: this build has none

}  // namespace flowback
