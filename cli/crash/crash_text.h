// SPDX-License-Identifier: MIT
// Prints a crash report as a sentence, as text and as JSON.
#pragma once

#include <string>

#include "flowback/replay/recording_clock.h"
#include "flowback/session.h"
#include "replay/crash/crash_report.h"

namespace flowback::cli {

// "parse (srv.cc:41)"; "[srv+0x1234]" where no function is known.
std::string PlaceWords(const CrashPlace& place);
// Returns the sentence with the thread that died, how, where and, as far as proven, why.
std::string FirstSentence(const CrashReport& report, Session& session);

// The first sentence about a process that hung while a debugger dumped it.
std::string HangSentence(const CrashReport& report, Session& session);
// "thread 3 waits for the mutex b, which thread 4 holds, and thread 4 waits for ..."; empty: there
// is no deadlock.
std::string RoundWords(const CrashReport& report);
// ", and did not leave Poll (srv.cc:7) during its last 2000000 instructions (12 ms)"; empty: it
// did, as far as is known.
std::string StayWords(const CrashReport& report, Session& session);
// Where each thread stood in the dump of a process that ran on; empty: it is of the death.
std::string LivingText(const CrashReport& report, Session& session);

// Where the core dump's stack disagrees with the flow's, or where comparing them ends; a line, or
// nothing.
std::string CoreStackText(const CrashReport& report, Session& session);

std::string CrashText(const CrashReport& report, Session& session);
std::string CrashJson(const CrashReport& report, Session& session);

// "srv (thread 12)".
std::string ThreadWords(const CrashThread& thread);
// "the mutex queue+0x10".
std::string MutexWords(const CrashMutex& mutex);

// "openat(-100, "/etc/passwd", 0x0) = -ENOENT"; "?" stands for a value that is not proven.
std::string CallWords(const CrashSystemCall& call);

}  // namespace flowback::cli
