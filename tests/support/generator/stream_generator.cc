// SPDX-License-Identifier: MIT
// Options, and the parts put together: program, machine and tracing hardware.
#include "tests/support/generator/stream_generator.h"

#include <algorithm>

#include "tests/support/generator/stream_generator_hardware.h"
#include "tests/support/generator/stream_generator_machine.h"
#include "tests/support/generator/stream_generator_program.h"

namespace flowback::testing {
namespace {

// Takes out what does not go together.
GeneratorOptions Consistent(GeneratorOptions options) {
  options.functions = std::clamp(options.functions, 4u, 60'000u);
  options.sections = std::clamp(options.sections, 1u, 3u);
  options.threads = options.kernel ? 1 : std::max(options.threads, 1u);
  options.mtc &= options.tsc;
  options.cyc &= options.tsc;
  options.deferred_tips &= !options.cyc;
  options.transactions &= !options.filter;
  options.compat &= options.mode == CodeMode::kX86_64;
  if (options.compat) options.sections = 1;
  options.long_tnt &= options.mode == CodeMode::kX86_64;
  return options;
}

uint32_t Rarely(Random& random, uint32_t per_mille, uint64_t low, uint64_t high) {
  return random.Chance(per_mille) ? static_cast<uint32_t>(random.Between(low, high)) : 0;
}

}  // namespace

GeneratorOptions MixedOptions(uint64_t seed) {
  Random random(seed * 0x5851f42d4c957f2d + 1);
  GeneratorOptions o;
  o.seed = seed;
  o.instructions = random.Between(2'000, 20'000);
  o.shape = static_cast<CodeShape>(random.Below(4));
  o.mode = random.Chance(120) ? CodeMode::kX86_32 : CodeMode::kX86_64;
  o.functions = static_cast<unsigned>(random.Between(4, 60));
  o.sections = static_cast<unsigned>(random.Between(1, 3));
  o.odd_returns = random.Chance(150);
  o.deep_recursion = random.Chance(300);
  o.transactions = random.Chance(200);
  o.ptwrite = random.Chance(300);
  o.compat = random.Chance(150);
  o.system_calls = random.Chance(700);
  o.threads = random.Chance(150) ? 3 : 1;
  o.kernel = random.Chance(250);
  o.filter = random.Chance(250);
  o.return_compression = random.Chance(750);
  o.on_mismatch = random.Chance(500) ? ReturnMismatch::kPopOne : ReturnMismatch::kEmptyAll;
  o.long_tnt = random.Chance(300);
  o.deferred_tips = random.Chance(200);
  o.padding = random.Chance(250);
  o.ptwrite_fup = random.Chance(500);
  o.psb_period = random.Chance(150) ? 0 : static_cast<uint32_t>(random.Between(60, 1500));
  o.tsc = random.Chance(700);
  o.mtc = random.Chance(700);
  o.cyc = random.Chance(400);
  o.event_trace = random.Chance(70);
  o.pebs = random.Chance(50);
  o.power = random.Chance(150);
  o.maintenance = random.Chance(150);
  o.interrupt_every = Rarely(random, 500, 50, 3000);
  o.handler_every = Rarely(random, 300, 100, 3000);
  o.overflow_every = Rarely(random, 250, 500, 5000);
  o.end_by_stop = random.Chance(700);
  return Consistent(o);
}

std::string Describe(const GeneratorOptions& o) {
  static constexpr const char* kShapes[] = {"mixed", "tnt-dense", "tip-dense", "return-heavy"};
  std::string text = "seed " + std::to_string(o.seed) + ", " + std::to_string(o.instructions) +
                     " instructions, " + kShapes[static_cast<size_t>(o.shape)] + ", " +
                     std::to_string(o.functions) + " functions, " + std::to_string(o.sections) +
                     " sections";
  const auto flag = [&text](bool set, const char* name) {
    if (set) text += std::string(", ") + name;
  };
  const auto number = [&text](uint64_t value, const char* name) {
    if (value != 0) text += std::string(", ") + name + " " + std::to_string(value);
  };
  flag(o.mode == CodeMode::kX86_32, "32-bit");
  flag(o.odd_returns, "odd returns");
  flag(o.deep_recursion, "deep recursion");
  flag(o.transactions, "transactions");
  flag(o.ptwrite, o.ptwrite_fup ? "ptwrite with FUP" : "ptwrite");
  flag(o.compat, "32-bit parts");
  flag(!o.system_calls, "no system calls");
  flag(o.kernel, "kernel");
  flag(o.filter, "filter");
  flag(!o.return_compression, "no return compression");
  flag(o.on_mismatch == ReturnMismatch::kEmptyAll, "mismatch empties the stack");
  flag(o.long_tnt, "long TNT");
  flag(o.deferred_tips, "deferred TIPs");
  flag(o.padding, "padding");
  flag(o.tsc, "TSC");
  flag(o.mtc, "MTC");
  flag(o.cyc, "CYC");
  flag(o.event_trace, "event trace");
  flag(o.pebs, "PEBS");
  flag(o.power, "power");
  flag(o.maintenance, "MNT");
  flag(!o.end_by_stop, "cut at the end");
  number(o.threads == 1 ? 0 : o.threads, "threads");
  number(o.psb_period, "PSB every");
  number(o.interrupt_every, "interrupt every");
  number(o.handler_every, "handler every");
  number(o.overflow_every, "overflow every");
  return text;
}

GeneratedStream GenerateStream(const GeneratorOptions& given) {
  GeneratedStream stream;
  stream.options = Consistent(given);
  Random random(stream.options.seed);
  Program program = BuildProgram(stream.options, random);
  TracingHardware hardware(stream.options, random, stream.truth);
  Machine machine(stream.options, program, random, hardware, stream.truth);
  stream.bytes = machine.Run();
  stream.sections = std::move(program.sections);
  stream.config.return_compression = stream.options.return_compression;
  stream.config.address_filter = stream.options.filter;
  if (stream.options.mtc) {
    stream.config.tsc_ctc_numerator = kTscPerCtcNumerator;
    stream.config.tsc_ctc_denominator = kTscPerCtcDenominator;
    stream.config.mtc_shift = kMtcShift;
  }
  if (stream.options.tsc) stream.config.nominal_ratio = kNominalRatio;
  return stream;
}

AddressSpaceHistory CodeOf(const GeneratedStream& stream) {
  auto space = std::make_shared<AddressSpace>();
  for (const GeneratedSection& section : stream.sections) {
    auto code = std::make_shared<CodeSection>("generated", 0, Bytes(section.bytes), nullptr,
                                              Verification::kGiven);
    space->Map({section.address, section.bytes.size(), 0, std::move(code)});
  }
  AddressSpaceHistory history;
  history.epochs.push_back({.space = std::move(space)});
  return history;
}

}  // namespace flowback::testing
