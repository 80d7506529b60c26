// SPDX-License-Identifier: MIT
// The library's table of contents. Include this, or only the headers that you need.
//
// A program opens a recording with a Session and asks it for flow, stacks, timelines or names.
// Errors are returned as Result<T> or Status; no exception but std::bad_alloc leaves the library.
#pragma once

// Open and play.
#include "flowback/base/error.h"       // Result, Status, Error
#include "flowback/model/recording.h"  // what a recording holds: streams, threads, machine, mappings
#include "flowback/session.h"          // a recording, opened and ready to be asked

// The execution, element by element.
#include "flowback/model/execution.h"       // block runs, events and losses; ExecutionConsumer
#include "flowback/replay/player.h"         // plays threads to a consumer, decoding in parallel
#include "flowback/replay/thread_cursor.h"  // goes through threads' flow, forward and backward

// Analyses.
#include "flowback/replay/call_stack.h"        // a model of calls, fed with flow
#include "flowback/replay/coverage_counter.h"  // counts what executed
#include "flowback/replay/coverage_report.h"   // and holds it against what there is to execute
#include "flowback/replay/loss_tally.h"        // what was lost, and which images are missing
#include "flowback/replay/thread_stack.h"      // call stacks at places of a thread's flow
#include "flowback/replay/time_account.h"      // each thread's time by class
#include "flowback/replay/timeline.h"          // what ran when, by thread, function and call path

// Names.
#include "flowback/replay/source_lines.h"  // source lines and inlined calls at addresses
#include "flowback/replay/symbolizer.h"    // functions at addresses

// Write.
#include "flowback/writers.h"  // formats for other programs, and pictures

// Make recordings.
#include "flowback/capture/record.h"  // records commands and running processes
