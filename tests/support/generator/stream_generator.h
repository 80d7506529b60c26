// SPDX-License-Identifier: MIT
// Makes Intel PT streams with a known truth: random x86 code, executed virtually, traced as
// hardware would.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/recorded/pt_config.h"
#include "flowback/base/flow_digest.h"
#include "flowback/decode/code_image.h"
#include "flowback/model/instruction.h"
#include "flowback/model/machine.h"

namespace flowback::testing {

// What the code consists of mostly.
enum class CodeShape : uint8_t { kMixed, kTntDense, kTipDense, kReturnHeavy };

// What the hardware does with its call stack at a near RET that does not match: the manual can be
// read either way.
enum class ReturnMismatch : uint8_t { kPopOne, kEmptyAll };

struct GeneratorOptions {
  uint64_t seed = 1;
  uint64_t instructions = 10'000;  // to execute; a few more until the stream ends properly

  // The code.
  CodeShape shape = CodeShape::kMixed;
  CodeMode mode = CodeMode::kX86_64;  // kX86_64 or kX86_32
  unsigned functions = 24;            // 4 to 60000
  unsigned sections = 1;              // 1 to 3: near, 2 GiB apart at most, far
  bool odd_returns = false;           // RETs that unwind several frames or jump
  bool deep_recursion = false;        // deeper than the 64 entries of the call stack
  bool transactions = false;
  bool ptwrite = false;
  bool compat = false;  // parts in 32-bit mode, entered by far jumps; 64-bit programs only
  bool system_calls = true;
  unsigned threads = 1;  // one runs at a time; switched at system calls and interrupts

  // The traced part.
  bool kernel = false;  // else user code only: interrupts and system calls switch tracing off
  bool filter = false;  // an IP filter leaves some functions out, or stops the trace there

  // The hardware's settings and habits.
  bool return_compression = true;
  ReturnMismatch on_mismatch = ReturnMismatch::kPopOne;
  bool long_tnt = false;
  bool deferred_tips = false;
  bool padding = false;          // PADs in places hardware may put them
  bool ptwrite_fup = false;      // FupOnPTW
  uint32_t psb_period = 2048;    // bytes; 0: only the one at the start
  bool tsc = false;              // TSC and CBR in PSB+
  bool mtc = false;              // MTC and TMA; needs tsc
  bool cyc = false;              // needs tsc; excludes deferred_tips
  bool event_trace = false;      // CFE, EVD, MODE.Exec with the interrupt flag; TRIG
  bool pebs = false;             // BBP, BIP, BEP
  bool power = false;            // MWAIT, PWRE, EXSTOP, PWRX
  bool maintenance = false;      // MNT, VMCS in PSB+
  uint32_t interrupt_every = 0;  // mean distance in instructions; 0: never. So are the next ones
  uint32_t handler_every = 0;    // an interrupt that goes on in a traced handler
  uint32_t overflow_every = 0;
  bool overflow_into_psb = true;  // some overflows resolve into a PSB+ without a FUP of their own
  bool end_by_stop = true;        // else the stream is cut while tracing is on
};

// A random mix of options for a seed: every kind of stream comes up among a few hundred seeds.
GeneratorOptions MixedOptions(uint64_t seed);
// One line, for messages: the options that differ from the defaults.
std::string Describe(const GeneratorOptions& options);

struct GeneratedSection {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;
};

// A sync point and the flow proven before it.
struct GeneratedPsb {
  uint64_t offset = 0;
  uint64_t end = 0;  // behind its PSBEND
  uint64_t instructions = 0;
  uint64_t ip = 0;  // next instruction; 0 while tracing is off
};

// An overflow: instructions [first_lost, first_lost + lost) of the execution are in no packet.
struct GeneratedLoss {
  uint64_t offset = 0;     // of the OVF packet
  uint64_t told = 0;       // instructions proven before it
  uint64_t lost = 0;       // executed with tracing on, but lost
  uint64_t resume_ip = 0;  // 0 when tracing was off as it resolved
  bool into_psb = false;   // a PSB+, not a FUP of its own, says where tracing goes on
};

// What a decoder must find. Counts are of what the packets prove, not of what was executed.
struct GeneratedTruth {
  FlowDigest digest;
  std::vector<uint64_t> times;   // TSC of each instruction; empty in a stream without
  std::vector<uint64_t> cycles;  // the core's count when it executed
  uint64_t taken = 0;
  uint64_t not_taken = 0;
  uint64_t jumps = 0;
  uint64_t indirect_jumps = 0;
  uint64_t calls = 0;
  uint64_t indirect_calls = 0;
  uint64_t returns = 0;
  uint64_t far = 0;

  uint64_t executed = 0;  // all instructions, traced or not
  uint64_t compressed_returns = 0;
  uint64_t mismatched_returns = 0;  // RETs that did not match a non-empty call stack
  uint64_t ptwrites = 0;
  uint64_t events = 0;        // CFE, EVD, TRIG and PEBS packets: libipt 2.0.5 knows none of them
  uint64_t flag_changes = 0;  // MODE.Exec and FUP for CLI, STI or POPF: nor these
  std::vector<GeneratedPsb> psbs;
  std::vector<GeneratedLoss> losses;
  // True when a decoder that keeps its entry at an uncompressed RET, as libipt does, must go wrong:
  // at some compressed RET the top of such a stack is not the RET's target.
  bool wrong_without_pop = false;
};

struct GeneratedStream {
  GeneratorOptions options;
  std::vector<uint8_t> bytes;
  std::vector<GeneratedSection> sections;
  PtConfig config;
  GeneratedTruth truth;
};

GeneratedStream GenerateStream(const GeneratorOptions& options);

// The sections as an address space; the stream must outlive it.
AddressSpaceHistory CodeOf(const GeneratedStream& stream);

}  // namespace flowback::testing
