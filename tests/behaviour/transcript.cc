// SPDX-License-Identifier: MIT
#include "tests/behaviour/transcript.h"

#include <cctype>
#include <sstream>

#include "decode/pt/packets/packet.h"

namespace flowback::behaviour {
namespace {

using flowback::Hex;

// "kFlowMismatch" as "flow-mismatch".
std::string Dashed(std::string_view name) {
  std::string out;
  for (const char c : name.substr(1)) {
    if (std::isupper(static_cast<unsigned char>(c)) && !out.empty()) out += '-';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string CauseName(LossCause cause) {
  switch (cause) {
#define FLOWBACK_LOSS(name, kind, text, remedy) \
  case LossCause::name:                         \
    return Dashed(#name);
#include "flowback/model/loss_causes.def"
#undef FLOWBACK_LOSS
  }
  return "?";
}

std::string ArrowTo(uint64_t target) { return target == 0 ? "" : " -> " + Hex(target); }

}  // namespace

void Transcript::Add(std::string line, uint64_t tsc) {
  if (with_tsc_) line += " tsc " + Hex(tsc);
  lines_.push_back(std::move(line));
}

void Transcript::FlushBlock() {
  if (block_count_ == 0) return;
  Add("block " + Hex(block_) + " " + Hex(block_count_) +
          (block_count_ == 1 ? " instruction" : " instructions") +
          (block_in_transaction_ ? " transaction" : ""),
      block_tsc_);
  block_count_ = 0;
}

void Transcript::OnBlock(const BlockRun& run) {
  if (run.address != block_end_ || run.in_transaction != block_in_transaction_) FlushBlock();
  if (block_count_ == 0) block_ = run.address;
  block_in_transaction_ = run.in_transaction;
  block_count_ += run.lengths.size();
  block_end_ = run.address;
  for (const uint8_t length : run.lengths) block_end_ += length;
  block_tsc_ = run.tsc;
  if (run.exit == BlockExit::kFallThrough) return;
  FlushBlock();
  AddBranch(run, run.LastAddress());
}

void Transcript::AddBranch(const BlockRun& run, uint64_t from) {
  if (run.exit == BlockExit::kStopped)
    return Add("leave " + Hex(from) + ArrowTo(run.next), run.tsc);
  std::string kind = Name(run.last);
  if (run.last == InstructionClass::kConditional)
    kind = run.exit == BlockExit::kTaken ? "taken" : "not taken";
  Add("branch " + Hex(from) + ArrowTo(run.next) + " " + kind, run.tsc);
}

void Transcript::OnEvent(const TraceEvent& event) {
  FlushBlock();
  std::string line = Name(event.kind);
  if (event.has_ip) line += " " + Hex(event.ip);
  line += ArrowTo(event.target);
  if (event.value != 0) line += " value " + Hex(event.value);
  if (event.extra != 0) line += " extra " + Hex(event.extra);
  Add(std::move(line), event.tsc);
}

void Transcript::OnLoss(const DataLoss& loss) {
  FlushBlock();
  std::string line = "loss " + CauseName(loss.cause);
  if (loss.last_ip != 0) line += " last known " + Hex(loss.last_ip);
  Add(std::move(line), loss.tsc);
}

std::vector<std::string> Transcript::Lines() {
  FlushBlock();
  return lines_;
}

std::string Canonical(const BehaviourFile& file, const Words& words) {
  std::string line;
  for (const std::string& word : words) {
    const auto value = file.Resolve(word);
    line += (line.empty() ? "" : " ") + (value ? Hex(*value) : word);
  }
  return line;
}

std::string Symbolic(const BehaviourFile& file, const std::string& line) {
  std::istringstream in(line);
  std::string out;
  for (std::string word; in >> word;) {
    const auto value = file.Resolve(word);
    const std::pair<const std::string, uint64_t>* best = nullptr;
    if (value)
      for (const auto& label : file.labels)
        if (label.second <= *value && *value - label.second < 64 &&
            (best == nullptr || label.second > best->second))
          best = &label;
    if (best != nullptr) {
      word = best->first;
      if (*value != best->second) word += "+" + std::to_string(*value - best->second);
    } else if (value && *value < 1000) {
      word = std::to_string(*value);
    }
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

}  // namespace flowback::behaviour
