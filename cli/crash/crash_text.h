// SPDX-License-Identifier: MIT
// What is told of a process that died, as sentences, text and JSON.
#pragma once

#include <string>

#include "flowback/replay/recording_clock.h"
#include "flowback/session.h"
#include "replay/crash/crash_report.h"

namespace flowback::cli {

// "parse (srv.cc:41)"; "[srv+0x1234]" where no function is known.
std::string PlaceWords(const CrashPlace& place);
// Who died, how, where and, as far as it is proven, why.
std::string FirstSentence(const CrashReport& report);

// Where the core dump's stack disagrees with the flow's, or where comparing them ends; a line, or
// nothing.
std::string CoreStackText(const CrashReport& report, Session& session);

std::string CrashText(const CrashReport& report, Session& session);
std::string CrashJson(const CrashReport& report, Session& session);

// "the mutex queue+0x10".
std::string MutexWords(const CrashMutex& mutex);

// "openat(-100, "/etc/passwd", 0x0) = -ENOENT"; "?" stands for what is not proven.
std::string CallWords(const CrashSystemCall& call);

}  // namespace flowback::cli
