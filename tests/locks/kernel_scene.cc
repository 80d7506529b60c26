// SPDX-License-Identifier: MIT
#include "tests/locks/kernel_scene.h"

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <sstream>

#include "decode/instruction/classify.h"
#include "flowback/model/recording.h"
#include "tests/support/core_writer.h"
#include "tests/support/generator/stream_generator_hardware.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/places.h"

namespace flowback {
namespace {

using support::FieldWriter;
using support::PerfDataBuilder;
using support::Trailer;
using testing::Node;
using testing::Transfer;

constexpr uint64_t kOffset = 0xffffffff80000000;
constexpr uint64_t kPauseCycles = 40;
constexpr uint64_t kSwitchCycles = 20'000;  // before and after the record
constexpr size_t kMostSteps = 100'000;
const std::vector<uint8_t> kSwitchMark = {0x66, 0x87, 0xdb};
// By what the program executes in their place: TPAUSE, UMWAIT, UMONITOR, and a MOV to CR3, by which
// a switch of threads goes to another address space.
const std::map<std::vector<uint8_t>, std::vector<uint8_t>> kReplaced = {
    {{0x0f, 0x1f, 0x40, 0x11}, {0x66, 0x0f, 0xae, 0xf1}},
    {{0x0f, 0x1f, 0x40, 0x12}, {0xf2, 0x0f, 0xae, 0xf1}},
    {{0x0f, 0x1f, 0x40, 0x13}, {0xf3, 0x0f, 0xae, 0xf0}},
    {kSwitchMark, {0x0f, 0x22, 0xd8}}};

std::string Program() { return BuildFolder() + "/tests/locks/programs/kernel_locks"; }

std::vector<uint8_t> AsExecuted(const std::vector<uint8_t>& code) {
  const auto other = kReplaced.find(code);
  return other == kReplaced.end() ? code : other->second;
}

uint64_t NanosecondsOf(uint64_t tsc) {
  return TimeConversion{.shift = 31, .mult = 894784853, .zero = 1000000000000}.ToNanoseconds(tsc);
}

// As programs/kernel_locks.c has it.
struct Deed {
  uint64_t pauses = 0;
  uint64_t switches = 0;
  uint64_t place = 0;
  uint64_t value = 0;
  uint64_t size = 0;
};

// Writes what the other processors write, when it is time.
class OtherProcessors {
 public:
  void Before(pid_t pid, const std::vector<uint8_t>& code) {
    if (!begun_) ReadDeeds(pid);
    pauses_ += IsPause(AsExecuted(code)) ? 1 : 0;
    switches_ += code == kSwitchMark ? 1 : 0;
    while (!deeds_.empty() && pauses_ >= deeds_.front().pauses &&
           switches_ >= deeds_.front().switches) {
      const Deed deed = deeds_.front();
      Copy(pid, false, deed.place, &deeds_.front().value, deed.size);
      deeds_.pop_front();
      pauses_ = switches_ = 0;
    }
  }
  bool has_done_all() const { return begun_ && deeds_.empty(); }

 private:
  static void Copy(pid_t pid, bool reads, uint64_t place, void* own, size_t size) {
    iovec here{own, size};
    iovec there{nullptr, size};
    std::memcpy(&there.iov_base, &place, sizeof place);
    if (reads)
      process_vm_readv(pid, &here, 1, &there, 1, 0);
    else
      process_vm_writev(pid, &here, 1, &there, 1, 0);
  }
  void ReadDeeds(pid_t pid) {
    begun_ = true;
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
    std::vector<Deed> deeds(std::min<uint64_t>(registers.rsi, 8));
    Copy(pid, true, registers.rdi, deeds.data(), deeds.size() * sizeof(Deed));
    deeds_.assign(deeds.begin(), deeds.end());
  }

  bool begun_ = false;
  uint64_t pauses_ = 0;
  uint64_t switches_ = 0;
  std::deque<Deed> deeds_;
};

// Traces the instructions that a CPU executes.
class TracedCpu {
 public:
  TracedCpu(const std::map<uint64_t, std::vector<uint8_t>>& code, const CpuHabits& habits)
      : code_(code), habits_(habits) {}

  // Returns the counter's value.
  uint64_t Begin(uint64_t address) {
    hardware_.Start(NodeAt(address), true);
    return hardware_.tsc();
  }
  void Execute(uint64_t address, uint64_t next) {
    const std::vector<uint8_t>& code = code_.at(address);
    if (habits_.lost_from != habits_.lost_to) Lose(address);
    if (IsPause(code)) hardware_.Sleep(kPauseCycles);
    if (const auto delay = habits_.delays.find(address); delay != habits_.delays.end())
      hardware_.Sleep(delay->second);
    Instruction instruction;
    Classify(code, CodeMode::kX86_64, instruction);
    const uint64_t after = address + code.size();
    const Node target = NodeAt(next);
    const auto go = [&](Transfer kind) { hardware_.Transferred(kind, address, after, target); };
    switch (instruction.kind) {
      case InstructionClass::kConditional:
        next == after ? hardware_.NotTaken(address) : go(Transfer::kConditional);
        break;
      case InstructionClass::kJump:
        go(Transfer::kJump);
        break;
      case InstructionClass::kCall:
        go(Transfer::kCall);
        break;
      case InstructionClass::kIndirectJump:
        go(Transfer::kIndirectJump);
        break;
      case InstructionClass::kIndirectCall:
        go(Transfer::kIndirectCall);
        break;
      case InstructionClass::kReturn:
        go(Transfer::kReturn);
        break;
      default:
        (instruction.flags & kFlagMovCr3) != 0 ? hardware_.MovCr3(address)
                                               : hardware_.Retire(address);
    }
    hardware_.PsbIfDue(target);
  }
  // Returns the counter's value when the record of the switch is written. What comes next is at
  // `next`.
  uint64_t Switch(uint64_t next) {
    const uint64_t tsc = hardware_.tsc();
    hardware_.Sleep(kSwitchCycles);
    hardware_.Psb(NodeAt(next));
    return tsc;
  }
  // Returns the counter's value some time later, when the trace has ended.
  uint64_t Behind() {
    hardware_.Sleep(kSwitchCycles);
    return hardware_.tsc();
  }
  std::vector<uint8_t> Finish(uint64_t next) { return hardware_.Finish(NodeAt(next), true); }
  const std::vector<uint64_t>& times() const { return truth_.times; }

 private:
  static Node NodeAt(uint64_t address) { return {.address = address}; }
  void Lose(uint64_t address) {
    if (executed_ == habits_.lost_from) hardware_.BeginOverflow();
    if (executed_ == habits_.lost_to) hardware_.EndOverflow(NodeAt(address), false);
    ++executed_;
  }

  const std::map<uint64_t, std::vector<uint8_t>>& code_;
  const CpuHabits& habits_;
  size_t executed_ = 0;
  // Each return has a packet of its own, with its time.
  const testing::GeneratorOptions options_{
      .kernel = true, .return_compression = false, .tsc = true, .mtc = true, .cyc = true};
  testing::Random random_{1};
  testing::GeneratedTruth truth_;
  testing::TracingHardware hardware_{options_, random_, truth_};
};

void WriteSwitch(PerfDataBuilder& file, const KernelStay* who, const KernelStay* other, bool out,
                 Trailer trailer) {
  constexpr uint32_t kSwitchCpuWide = 15;
  constexpr uint16_t kOut = 1 << 13, kPreempted = 1 << 14;
  trailer.pid = who == nullptr ? 0 : who->pid;
  trailer.tid = who == nullptr ? 0 : who->tid;
  FieldWriter body;
  body.U32(other == nullptr ? 0 : static_cast<uint32_t>(other->pid));
  body.U32(other == nullptr ? 0 : static_cast<uint32_t>(other->tid));
  const bool preempted = out && who != nullptr && who->preempted;
  file.KernelRecord(kSwitchCpuWide, (out ? kOut : 0) | (preempted ? kPreempted : 0),
                    std::move(body), trailer);
}

PerfDataBuilder EmptyFile() {
  constexpr uint64_t kCyc = 1 << 1, kMtc = 1 << 9 | 3 << 14, kTsc = 1 << 10;
  constexpr uint64_t kNoReturnCompression = 1 << 11, kBranches = 1 << 13;
  PerfDataBuilder file;
  file.AddEvent({.config = 1 | kCyc | kMtc | kTsc | kNoReturnCompression | kBranches,
                 .sample_type = PerfDataBuilder::kUsualSampleType,
                 .ids = {100}});
  file.AddEvent({1, 9, PerfDataBuilder::kUsualSampleType, true, {102}});
  std::vector<uint64_t> info = PerfDataBuilder::UsualPtInfo();
  info[12] = testing::kTscPerCtcNumerator;
  info[13] = testing::kTscPerCtcDenominator;
  file.AuxtraceInfo(info);
  return file;
}

}  // namespace

bool IsPause(const std::vector<uint8_t>& code) {
  const bool waits_in_processor = code.size() == 4 && code[1] == 0x0f && code[2] == 0xae &&
                                  code[3] == 0xf1 && (code[0] == 0x66 || code[0] == 0xf2);
  return waits_in_processor || code == std::vector<uint8_t>{0xf3, 0x90};
}

std::vector<uint64_t> KernelScene::Part(size_t number) const {
  const size_t begin = number == 0 ? 0 : switches.at(number - 1);
  const size_t end = number == switches.size() ? addresses.size() : switches.at(number);
  return {addresses.begin() + static_cast<ptrdiff_t>(begin),
          addresses.begin() + static_cast<ptrdiff_t>(end)};
}

const std::map<std::string, uint64_t>& KernelRecording::functions() {
  if (!functions_.empty()) return functions_;
  FILE* const out = popen(("nm " + Program()).c_str(), "r");
  std::array<char, 300> line{};
  while (out != nullptr && fgets(line.data(), line.size(), out) != nullptr) {
    std::istringstream words(line.data());
    std::string address, kind, name;
    words >> address >> kind >> name;
    if (kind == "t" || kind == "T") functions_[name] = std::stoull(address, nullptr, 16) + kOffset;
  }
  if (out != nullptr) pclose(out);
  return functions_;
}

// Flow before the thread's first function belongs to the program, not to the scene.
KernelScene KernelRecording::Step(const std::string& scene, const std::set<std::string>& in_user) {
  KernelScene stepped;
  OtherProcessors others;
  const ExecutedSteps steps =
      StepHere(Program(), scene, kMostSteps,
               [&](pid_t pid, const std::vector<uint8_t>& code) { others.Before(pid, code); });
  stepped.error = steps.error;
  if (steps.addresses.size() == kMostSteps) stepped.error = scene + " does not end";
  if (!others.has_done_all()) stepped.error = scene + " ended before all was done";
  const uint64_t work = functions().contains("work") ? functions().at("work") - kOffset : 0;
  auto at = std::ranges::find(steps.addresses, work);
  const uint64_t back = at == steps.addresses.begin() || at == steps.addresses.end()
                            ? 0
                            : *std::prev(at) + steps.LengthAt(*std::prev(at));
  for (; at != steps.addresses.end() && *at != back; ++at) {
    const std::vector<uint8_t>& code = steps.code.at(*at);
    stepped.addresses.push_back(*at + OffsetOf(*at, in_user));
    stepped.code[stepped.addresses.back()] = AsExecuted(code);
    if (code == kSwitchMark) stepped.switches.push_back(stepped.addresses.size());
  }
  code_.insert(stepped.code.begin(), stepped.code.end());
  if (stepped.addresses.empty()) stepped.error = scene + " did not begin";
  return stepped;
}

// Returns how far the kernel's code is from the program's; 0: that is user code.
uint64_t KernelRecording::OffsetOf(uint64_t address, const std::set<std::string>& in_user) {
  if (in_user.empty()) return kOffset;
  std::string function;
  uint64_t begin = 0;
  for (const auto& [name, entry] : functions())
    if (entry - kOffset <= address && entry - kOffset > begin) {
      begin = entry - kOffset;
      function = name;
    }
  return in_user.contains(function) ? 0 : kOffset;
}

void KernelRecording::AddCpu(const std::vector<KernelStay>& stays, const CpuHabits& habits) {
  Cpu& cpu = cpus_.emplace_back();
  cpu.stays = stays;
  TracedCpu traced(code_, habits);
  cpu.begin = traced.Begin(stays.front().addresses.front());
  const auto number = static_cast<int32_t>(cpus_.size() - 1);
  uint64_t next = 0;
  for (size_t i = 0; i < stays.size(); ++i) {
    const std::vector<uint64_t>& steps = stays[i].addresses;
    const bool is_last = i + 1 == stays.size();
    for (size_t k = 0; k < steps.size(); ++k) {
      const uint64_t after = steps[k] + code_.at(steps[k]).size();
      next = k + 1 < steps.size() ? steps[k + 1] : is_last ? after : stays[i + 1].addresses.front();
      // The thread's last return leads nowhere that is known.
      if (is_last && k + 1 == steps.size()) break;
      traced.Execute(steps[k], next);
    }
    if (is_last) cpu.trace = traced.Finish(steps.back());
    cpu.switches.push_back({.tsc = is_last ? traced.Behind() : traced.Switch(next),
                            .cpu = number,
                            .from = &cpu.stays[i],
                            .to = is_last ? nullptr : &cpu.stays[i + 1]});
  }
  for (const uint64_t tsc : traced.times()) cpu.times.push_back(NanosecondsOf(tsc));
}

std::vector<uint64_t> KernelRecording::SwitchTimes(size_t cpu) const {
  std::vector<uint64_t> times;
  for (const Switch& each : cpus_[cpu].switches) times.push_back(NanosecondsOf(each.tsc));
  return times;
}

std::string KernelRecording::Write() const {
  PerfDataBuilder file = EmptyFile();
  std::vector<Switch> switches;
  for (size_t i = 0; i < cpus_.size(); ++i) {
    const Cpu& cpu = cpus_[i];
    switches.push_back({.tsc = cpu.begin - 1,
                        .cpu = static_cast<int32_t>(i),
                        .from = nullptr,
                        .to = &cpu.stays.front()});
    switches.insert(switches.end(), cpu.switches.begin(), cpu.switches.end());
    for (const KernelStay& stay : cpu.stays) {
      const Trailer trailer{.time = NanosecondsOf(cpu.begin - 1),
                            .pid = stay.pid,
                            .tid = stay.tid,
                            .cpu = static_cast<int32_t>(i),
                            .id = 102};
      const std::string name = stay.tid == 0 ? "swapper" : "task" + std::to_string(stay.tid);
      file.Comm(stay.pid, stay.tid, name, false, trailer);
      // The program's text lies as far behind its begin as in the file.
      constexpr uint64_t kText = 0x401000, kTextOffset = 0x1000, kTextSize = 0x78000;
      if (stay.tid != 0) file.Mmap2(stay.pid, kText, kTextSize, kTextOffset, Program(), trailer);
    }
  }
  std::ranges::stable_sort(switches, {}, &Switch::tsc);
  for (const Switch& each : switches) {
    const Trailer trailer{
        .time = NanosecondsOf(each.tsc), .pid = 0, .tid = 0, .cpu = each.cpu, .id = 102};
    WriteSwitch(file, each.from, each.to, true, trailer);
    WriteSwitch(file, each.to, each.from, false, trailer);
  }
  for (size_t i = 0; i < cpus_.size(); ++i)
    file.Auxtrace(0, static_cast<uint32_t>(i), -1, static_cast<int32_t>(i), cpus_[i].trace);
  const std::vector<uint8_t> bytes = file.Build();
  return folder_.Write("perf.data", {bytes.begin(), bytes.end()});
}

std::string KernelRecording::Symbols(const std::map<std::string, std::string>& names) {
  std::map<uint64_t, std::string> sorted;
  for (const auto& [name, address] : functions()) sorted[address] = name;
  std::string text;
  for (const auto& [address, name] : sorted) {
    std::array<char, 20> digits{};
    snprintf(digits.data(), digits.size(), "%016lx", static_cast<unsigned long>(address));
    const auto other = names.find(name);
    text +=
        std::string(digits.data()) + " t " + (other == names.end() ? name : other->second) + "\n";
  }
  return folder_.Write("kallsyms", text);
}

nlohmann::json KernelRecording::Locks(const std::map<std::string, std::string>& names,
                                      std::vector<std::string> words) {
  CoreSpec core;
  core.pid = 0;
  core.tids = {};
  std::vector<uint8_t> memory;
  const uint64_t begin = code_.lower_bound(kOffset)->first & ~uint64_t{0xfff};
  for (const auto& [address, code] : code_) {
    if (address < kOffset) continue;
    memory.resize(std::max<size_t>(memory.size(), address - begin + code.size()), 0xcc);
    std::ranges::copy(code, memory.begin() + static_cast<ptrdiff_t>(address - begin));
  }
  core.segments = {{.address = begin, .bytes = memory}};
  const std::vector<uint8_t> bytes = WriteCore(core);
  words.insert(words.begin(), {"locks", Write(), "--json", "--kcore",
                               folder_.Write("kcore", {bytes.begin(), bytes.end()})});
  if (!names.empty()) words.insert(words.end(), {"--kallsyms", Symbols(names)});
  const test::ProgramResult result = test::RunFlowback(words);
  if (result.status != 0) fprintf(stderr, "%s\n", result.err.c_str());
  return nlohmann::json::parse(result.out, nullptr, false);
}

}  // namespace flowback
