// SPDX-License-Identifier: MIT
// A behaviour test: code, packets and the flow that they mean, in one text file.
//
//   # Internal buffer overflow; tracing resumes at the FUP.   [SDM "Overflow (OVF) Packet"]
//   cpu 6/94/3                 errata of this CPU; default: none
//   mode 64                    64, 32 or 16: the MODE.Exec that `psb+` writes; default 64
//   resync psb                 earliest or psb: DecodeInput::resync; default earliest
//   returns uncompressed       PtConfig::return_compression = false
//   filter loop loop+6         a trace filter range [begin, end)
//   filter none                the recording says that no filter was set; default: it does not say
//   clock N/D MTC NOMINAL      tsc_ctc_numerator/denominator, mtc_shift, nominal_ratio
//   gap 12                     the recorder says that bytes before this offset are cut off
//   code 0x401000              code bytes at an address; may come more than once
//     loop: 48 ff c8           # dec rax
//           75 fb              # jne loop
//   trace                      packets: see trace_assembler.h
//     psb+ loop
//     tnt  t
//   expect execution           or `expect execution with tsc`; lines: see transcript.h
//     started loop
//     ...
//   expect libipt same         or `expect libipt differs REASON`; default: same
//
// `#` begins a comment. An address is a label, a number, or either with +N or -N. Items stand in
// column 1, what belongs to them is indented.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/recorded/pt_config.h"
#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"

namespace flowback::behaviour {

using Words = std::vector<std::string>;

struct Line {
  unsigned number = 0;  // in the file, from 1
  Words words;
};

struct CodePiece {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;
};

struct BehaviourFile {
  std::string path;
  std::string first_comment;
  PtConfig config;
  Resync resync = Resync::kEarliest;
  std::vector<StreamGap> gaps;
  CodeMode mode = CodeMode::kX86_64;
  std::vector<CodePiece> code;
  std::map<std::string, uint64_t> labels;
  std::vector<Line> trace;
  std::vector<Line> expected;
  bool with_tsc = false;
  std::optional<std::string> libipt_differs;  // the reason

  // Value of a label, a number, or either with +N or -N; nullopt for other words.
  std::optional<uint64_t> Resolve(const std::string& word) const;
};

// Errors: kUnreadable, kUsage with file and line.
Result<BehaviourFile> ReadBehaviourFile(const std::string& path);

}  // namespace flowback::behaviour
