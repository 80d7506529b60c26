// SPDX-License-Identifier: MIT
// `decode --as instructions`: one line per executed instruction.
//
// A line is the thread's columns, which change with the time, and the instruction's columns, which
// depend only on the address and the code mapped there (instruction_text.h). Without the former a
// whole block is one copy.
#include <cstring>

#include "cli/listing/flow_printer.h"
#include "cli/listing/instruction_text.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

// BlockRun::TscOf of one instruction after the other, without a division for each.
class TscSteps {
 public:
  explicit TscSteps(const BlockRun& run) : tsc_(run.TscOf(0)) {
    if (tsc_ == run.tsc) return;
    parts_ = run.lengths.size() - 1;
    whole_ = (run.tsc - tsc_) / parts_;
    part_ = (run.tsc - tsc_) % parts_;
  }
  uint64_t tsc() const { return tsc_; }
  void Next() {
    tsc_ += whole_;
    rest_ += part_;
    if (rest_ < parts_ || parts_ == 0) return;
    rest_ -= parts_;
    ++tsc_;
  }

 private:
  uint64_t tsc_;
  uint64_t whole_ = 0;
  uint64_t part_ = 0;
  uint64_t parts_ = 0;
  uint64_t rest_ = 0;
};

class InstructionPrinter final : public FlowPrinter {
 public:
  explicit InstructionPrinter(const PrintSettings& settings)
      : FlowPrinter(settings, "instruction"), flags_(settings.layout.fields.Has(Field::kFlags)) {
    const Fields& fields = settings.layout.fields;
    for (const Field field : {Field::kIp, Field::kInsn, Field::kBytes, Field::kSym, Field::kSymoff,
                              Field::kDso, Field::kSrcline, Field::kFlags})
      own_columns_ = own_columns_ || fields.Has(field);
    for (const Field field : {Field::kComm, Field::kPid, Field::kTid, Field::kCpu, Field::kTime})
      thread_columns_ = thread_columns_ || fields.Has(field);
    thread_columns_ = thread_columns_ || settings.layout.json;
  }

 private:
  void PrintBlock(const BlockRun& run) override {
    const InstructionText::Block& block = tools().instructions().Of(run);
    const size_t count = run.lengths.size();
    if (!thread_columns_ && !flags_ && !listing().keeps_marks) {
      out().append(block.text, 0, block.ends[count - 1]);
      return;
    }
    TscSteps steps(run);
    size_t begin = 0;
    for (size_t i = 0; i < count; ++i, steps.Next()) {
      const size_t end = block.ends[i];
      listing().Mark(steps.tsc());
      AppendLine(ColumnsAt({steps.tsc(), run.BoundsOf(i)}), {&block.text[begin], end - begin});
      if (flags_) AppendFlags(run, i + 1 == count);
      begin = end;
    }
  }

  void AppendLine(std::string_view columns, std::string_view text) {
    // The last column ends the line.
    if (!own_columns_ && !settings().layout.json) columns.remove_suffix(1);
    const size_t before = out().size();
    const size_t size = columns.size() + text.size();
    if (out().capacity() < before + size) out().reserve(2 * (before + size));
    out().resize_and_overwrite(before + size, [&](char* at, size_t) {
      std::memcpy(at + before, columns.data(), columns.size());
      std::memcpy(at + before + columns.size(), text.data(), text.size());
      return before + size;
    });
  }

  // "-" for an instruction that is no branch; else its class and, for conditional ones, the way.
  void AppendFlags(const BlockRun& run, bool is_last) {
    flags_text_.clear();
    if (is_last && run.last != InstructionClass::kOther) {
      flags_text_ = BranchWord(run.last);
      if (run.last == InstructionClass::kConditional)
        flags_text_ += run.exit == BlockExit::kNotTaken ? ",not-taken" : ",taken";
      if (run.exit == BlockExit::kStopped) flags_text_ += ",trace-end";
    }
    if (run.in_transaction) flags_text_ += flags_text_.empty() ? "tx" : ",tx";
    if (settings().layout.json) {
      JsonLine::Continue(out()).Text("flags", flags_text_).End();
      return;
    }
    out() += flags_text_.empty() ? "-" : flags_text_;
    out() += '\n';
  }

  bool flags_;
  bool own_columns_ = false;
  bool thread_columns_ = false;
  std::string flags_text_;
};

}  // namespace

std::unique_ptr<FlowPrinter> MakeInstructionPrinter(const PrintSettings& settings) {
  return std::make_unique<InstructionPrinter>(settings);
}

}  // namespace flowback::cli
