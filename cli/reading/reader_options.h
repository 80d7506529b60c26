// SPDX-License-Identifier: MIT
// The options that every command reading a recording has, and the opened recording.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/model/recording.h"
#include "flowback/replay/threads.h"
#include "flowback/session.h"

namespace CLI {
class App;
}

namespace flowback::cli {

struct ReaderOptions : SessionOptions {
  std::string output;  // empty: standard output
  bool force = false;  // also overwrites a recording or an ELF file
  bool json = false;
  bool strict = false;
  std::string time;          // which time to print; empty: all
  ImageSearch given_search;  // `search` as the user gave it, without a bundle's files
};

// The words as given, before they are understood; lives as long as the CLI::App.
struct ReaderWords {
  std::string input, input_option, cpu, tsc_ctc, mtc_freq, nominal_freq, resync;
  std::string tid, comm, cpu_list, sample_type, time_conv, cache_dir, filter;
  std::vector<std::string> sections, images, debug_dirs;
  bool no_cache = false;
};

void AddReaderOptions(CLI::App& app, ReaderOptions& options, ReaderWords& words);
// Turns the words into `options`. Errors: kUsage.
Status Understand(const ReaderWords& words, ReaderOptions& options);

// Keeps what the options select. Errors: kUsage when nothing is left.
Status Select(const ReaderOptions& options, Threads& threads);

// OpenRecording for a command: any failure to read an input is kUnreadable, also if the operating
// system refused (exit status 8; 4 is about tracing).
Result<Recording> OpenInput(const ReaderOptions& options);

}  // namespace flowback::cli
