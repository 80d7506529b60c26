// SPDX-License-Identifier: MIT
#include "decode/pt/libipt/flow_writer.h"

namespace flowback::libipt {
namespace {

// Bounds on the flow kept back; a run of either length is unusual.
constexpr size_t kMaxRun = 4096;
constexpr size_t kMaxWaiting = 1024;

}  // namespace

void FlowWriter::Add(const Completed& instruction, const AddressSpace* space) {
  const bool continues = !lengths_.empty() && !ended_ && instruction.ip == fall_through_ &&
                         instruction.mode == run_.mode && space == run_.space &&
                         instruction.in_transaction == run_.in_transaction &&
                         lengths_.size() < kMaxRun;
  if (!continues) {
    NextIs(instruction.ip);
    Begin(instruction, space);
  }
  lengths_.push_back(instruction.size);
  fall_through_ = instruction.ip + instruction.size;
  run_.last = instruction.kind;
  run_.tsc = tsc();
  ended_ = instruction.kind != InstructionClass::kOther;
  run_.exit = instruction.exit;
  run_.next = ended_ ? instruction.next : fall_through_;
  position_ = run_.next;
}

void FlowWriter::Begin(const Completed& instruction, const AddressSpace* space) {
  run_ = {};
  run_.address = instruction.ip;
  run_.mode = instruction.mode;
  run_.in_transaction = instruction.in_transaction;
  run_.space = space;
  run_.stay = stay_;
  ended_ = false;
}

void FlowWriter::NextIs(uint64_t ip) {
  if (Waits()) run_.next = ip;
  Close();
  position_ = ip;
}

void FlowWriter::Stop(uint64_t target) {
  if (!lengths_.empty()) {
    run_.exit = BlockExit::kStopped;
    run_.next = target;
  }
  Close();
  position_ = target;
}

void FlowWriter::Event(TraceEvent event) {
  event.stay = stay_;
  if (event.kind == EventKind::kExecMode) mode_ = static_cast<CodeMode>(event.value);
  if (!Waits() || waiting_.size() >= kMaxWaiting) {
    Close();
    Send(event);
  } else {
    waiting_.push_back(event);
  }
}

void FlowWriter::Loss(DataLoss loss) {
  Close();
  loss.tsc = tsc();
  loss.stay = stay_;
  if (!Done()) consumer_->OnLoss(loss);
  position_ = 0;
}

void FlowWriter::Close() {
  if (!lengths_.empty()) {
    run_.lengths = lengths_;
    if (!Done()) consumer_->OnBlock(run_);
    lengths_.clear();
    ended_ = false;
  }
  for (const TraceEvent& event : waiting_) Send(event);
  waiting_.clear();
}

void FlowWriter::Send(const TraceEvent& event) {
  if (!Done()) consumer_->OnEvent(event);
}

}  // namespace flowback::libipt
