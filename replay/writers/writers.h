// SPDX-License-Identifier: MIT
// The functions that write formats: writers.def has one row for each.
#pragma once

#include "flowback/base/error.h"
#include "flowback/writers.h"

// A test has tables of its own, which include these and have more rows.
#ifndef FLOWBACK_WRITTEN_TABLE
#define FLOWBACK_WRITTEN_TABLE "replay/writers/written.def"
#define FLOWBACK_WRITERS_TABLE "replay/writers/writers.def"
#endif

namespace flowback {

// The type of a kind's writers: CoverageWriter, ProfileWriter, ...
#define FLOWBACK_WRITTEN(what, input, result) \
  struct input;                               \
  using what##Writer = result(const input&, TextSink&);
#include FLOWBACK_WRITTEN_TABLE
#undef FLOWBACK_WRITTEN

#define FLOWBACK_WRITER(what, name, function, summary) what##Writer function;
#include FLOWBACK_WRITERS_TABLE
#undef FLOWBACK_WRITER

}  // namespace flowback
