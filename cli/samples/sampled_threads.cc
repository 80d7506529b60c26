// SPDX-License-Identifier: MIT
#include "cli/samples/sampled_threads.h"

#include <algorithm>
#include <utility>

#include "flowback/decode/space_at.h"

namespace flowback::cli {
namespace {

bool IsSelected(const CallSample& sample, const Threads& threads,
                const ThreadSelection& selection) {
  const bool on_cpu = selection.cpus.empty() ||
                      std::ranges::find(selection.cpus, sample.cpu) != selection.cpus.end();
  return on_cpu && threads.Wants(sample.tid, selection);
}

}  // namespace

SampledThreads::SampledThreads(const OpenedRecording& opened, bool stitch)
    : opened_(opened), unwinder_(CallSamplesOf(opened.recording().config)->mode) {
  const CallSamples& samples = *CallSamplesOf(opened.recording().config);
  options_ = {.mode = samples.mode,
              .depth = samples.branch_depth,
              .stitch = stitch,
              .unwinder = &unwinder_,
              .copies = &samples.copies};
  std::map<std::pair<int32_t, int32_t>, SampledThread> threads;
  for (const CallSample& sample : samples.samples) {
    if (!IsSelected(sample, opened.threads(), opened.options().selection)) continue;
    SampledThread& thread = threads[{sample.tid, sample.pid}];
    thread.tid = sample.tid;
    thread.pid = sample.pid;
    thread.samples.push_back(&sample);
  }
  for (auto& [key, thread] : threads) threads_.push_back(std::move(thread));
}

const AddressSpace& SampledThreads::SpaceOf(const CallSample& sample) {
  RecordingCode::History& history = histories_[sample.pid];
  if (history == nullptr) history = opened_.code().OfProcess(sample.pid);
  return SpaceAt(*history, sample.time);
}

void SampledThreads::ForEachStack(const SampledThread& thread, size_t end, const Visit& visit) {
  SampledStackReader reader(options_);
  for (size_t i = 0; i < end; ++i)
    if (!visit(i, reader.Of(*thread.samples[i], SpaceOf(*thread.samples[i])))) return;
}

std::string_view SampledThreads::CommOf(const SampledThread& thread,
                                        const CallSample& sample) const {
  return opened_.threads().CommAt(thread.tid, sample.time).comm;
}

std::string_view SampledThreads::EventOf(const CallSample& sample) const {
  const std::vector<std::string>& events = opened_.recording().events;
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

}  // namespace flowback::cli
