// SPDX-License-Identifier: MIT
#include "decode/branch_stack/stack_packets.h"

#include <string>
#include <vector>

#include "base/hex.h"
#include "base/recorded/branch_records.h"
#include "decode/branch_stack/stack_index.h"
#include "decode/branch_stack/stack_records.h"

namespace flowback::branch_stack {
namespace {

const char* LevelWord(BranchRecord::Level level) {
  switch (level) {
    case BranchRecord::Level::kNotTold:
      return "";
    case BranchRecord::Level::kUser:
      return " user";
    case BranchRecord::Level::kKernel:
      return " kernel";
    case BranchRecord::Level::kHypervisor:
      return " hypervisor";
  }
  return "";
}

std::string CyclesText(const BranchRecord& record) {
  if (record.cycles_told == BranchFacts::Cycles::kNotTold) return "";
  const bool at_least = record.cycles_told == BranchFacts::Cycles::kAtLeast;
  return (at_least ? " cycles>=" : " cycles=") + std::to_string(record.cycles);
}

std::string AddressText(uint64_t address) { return address == 0 ? "?" : Hex(address); }

std::string Text(const BranchRecord& record) {
  if (record.empty()) return "";
  std::string text = AddressText(record.from) + " -> " + AddressText(record.to);
  if (record.not_taken) text += " not-taken";
  if (record.prediction == BranchFacts::Prediction::kRight) text += " predicted";
  if (record.prediction == BranchFacts::Prediction::kWrong) text += " mispredicted";
  text += CyclesText(record);
  if (record.in_transaction) text += " in-transaction";
  if (record.path == BranchRecord::Path::kRightSpeculative) text += " speculative";
  text += LevelWord(record.level);
  if (record.counters != 0) text += " counters=" + Hex(record.counters);
  if (record.begins_stack) text += " oldest";
  if (record.ends_stack) {
    text += " newest";
    if (record.ip != 0) text += ", sampled at " + Hex(record.ip);
  }
  return text;
}

class Batch final : public PacketBatch {
 public:
  size_t size() const override { return packets_.size(); }
  const TracePacket& operator[](size_t i) const override { return packets_[i]; }
  std::string_view Name(size_t i) const override { return NameOf(records_[i]); }
  std::string Payload(size_t i) const override { return Text(records_[i]); }
  void Clear() override {
    packets_.clear();
    records_.clear();
  }
  void Add(uint64_t offset, const BranchRecord& record) {
    packets_.push_back({.offset = offset, .size = kBranchRecordSize, .tsc = record.told_time()});
    records_.push_back(record);
  }

 private:
  std::vector<TracePacket> packets_;
  std::vector<BranchRecord> records_;
};

class Reader final : public PacketReader {
 public:
  explicit Reader(const Stream& stream) : size_(stream.bytes.size()), stream_(stream) {}
  std::unique_ptr<PacketBatch> NewBatch() const override { return std::make_unique<Batch>(); }
  bool Read(PacketBatch& batch, size_t count) override {
    for (; count > 0; --count, at_ += kBranchRecordSize) {
      if (at_ + kBranchRecordSize > size_) return false;
      static_cast<Batch&>(batch).Add(at_, stream_.At(at_));
    }
    return true;
  }

 private:
  uint64_t size_;
  StackRecords stream_;
  uint64_t at_ = 0;
};

}  // namespace

std::unique_ptr<PacketReader> ReadRecords(const Stream& stream) {
  return std::make_unique<Reader>(stream);
}

}  // namespace flowback::branch_stack
