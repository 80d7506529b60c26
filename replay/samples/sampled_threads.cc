// SPDX-License-Identifier: MIT
#include "replay/samples/sampled_threads.h"

#include <algorithm>
#include <utility>

#include "decode/code/space_at.h"

namespace flowback {
namespace {

bool IsSelected(const CallSample& sample, const Threads& threads,
                const ThreadSelection& selection) {
  const bool on_cpu = selection.cpus.empty() ||
                      std::ranges::find(selection.cpus, sample.cpu) != selection.cpus.end();
  return on_cpu && threads.Wants(sample.tid, selection);
}

}  // namespace

SampledThreads::SampledThreads(const Recording& recording, const RecordingCode& code,
                               const Threads& threads, const ThreadSelection& selection,
                               bool stitch)
    : recording_(recording),
      code_(code),
      comms_(threads),
      unwinder_(CallSamplesOf(recording.config)->mode) {
  const CallSamples& samples = *CallSamplesOf(recording.config);
  options_ = {.mode = samples.mode,
              .depth = samples.branch_depth,
              .stitch = stitch,
              .unwinder = &unwinder_,
              .copies = &samples.copies};
  std::map<std::pair<int32_t, int32_t>, SampledThread> by_number;
  for (const CallSample& sample : samples.samples) {
    if (!IsSelected(sample, threads, selection)) continue;
    SampledThread& thread = by_number[{sample.tid, sample.pid}];
    thread.tid = sample.tid;
    thread.pid = sample.pid;
    thread.samples.push_back(&sample);
  }
  for (auto& [key, thread] : by_number) threads_.push_back(std::move(thread));
}

const AddressSpace& SampledThreads::SpaceOf(const CallSample& sample) {
  RecordingCode::History& history = histories_[sample.pid];
  if (history == nullptr) history = code_.OfProcess(sample.pid);
  return SpaceAt(*history, sample.time);
}

void SampledThreads::ForEachStack(const SampledThread& thread, size_t end, const Visit& visit) {
  SampledStackReader reader(options_);
  for (size_t i = 0; i < end; ++i)
    if (!visit(i, reader.Of(*thread.samples[i], SpaceOf(*thread.samples[i])))) return;
}

std::string_view SampledThreads::CommOf(const SampledThread& thread,
                                        const CallSample& sample) const {
  return comms_.CommAt(thread.tid, sample.time).comm;
}

std::string_view SampledThreads::EventOf(const CallSample& sample) const {
  const std::vector<std::string>& events = recording_.events;
  return events.size() > 1 && sample.event < events.size() ? std::string_view(events[sample.event])
                                                           : std::string_view();
}

StackFrame NameableFrame(const SampledFrame& frame, const SampledStack& stack) {
  StackFrame nameable;
  nameable.space = stack.space;
  nameable.address = frame.address;
  nameable.is_exact = frame.is_exact;
  if (frame.address != 0) return nameable;
  nameable.address = frame.call != 0 ? frame.call : frame.entry;
  nameable.is_exact = true;
  return nameable;
}

std::string_view TailCaller(const SampledFrame& frame, const std::vector<NamedFrame>& inside,
                            const SampledStack& stack, Symbolizer& symbolizer) {
  if (frame.entry == 0 || inside.empty() || inside.back().function.empty()) return {};
  const auto called = symbolizer.Find(*stack.space, frame.entry);
  const bool is_function = called && called->offset == 0 && called->is_function;
  // A stub of a procedure linkage table is there to jump on.
  if (!is_function || called->name.ends_with("@plt")) return {};
  return called->function == inside.back().function ? std::string_view() : called->function;
}

}  // namespace flowback
