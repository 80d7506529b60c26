// SPDX-License-Identifier: MIT
// `decode --as instructions`: one line per executed instruction.
//
// A line is the thread's columns, which change with the time, and the instruction's columns, which
// depend on nothing but the address and what is mapped there. The latter are rendered once per
// address and kept, so that a line costs a look-up and two copies.
#include <fmt/format.h>

#include <iterator>
#include <unordered_map>

#include "cli/flow_printer.h"
#include "cli/json.h"
#include "cli/source_columns.h"
#include "decode/instruction/disassemble.h"

namespace flowback::cli {
namespace {

// What an instruction's columns are made of.
struct InstructionView {
  uint64_t ip;
  Bytes bytes;
  ExecMode mode;
  const AddressSpace* space;
};

// Renders the columns from `ip` to `dso`.
class InstructionColumns {
 public:
  explicit InstructionColumns(const PrintSettings& settings) : settings_(settings) {}

  void AppendDefault(std::string& out, const InstructionView& view) {
    fmt::format_to(std::back_inserter(out), "{:x} ", view.ip);
    if (const auto symbol = SymbolOf(view))
      fmt::format_to(std::back_inserter(out), "{}+{:#x} (", symbol->name, symbol->offset);
    else
      out += "[unknown] (";
    const std::string_view dso = DsoOf(view);
    out += dso.empty() ? "[unknown]" : dso;
    out += ") ";
    out += TextOf(view);
  }

  void AppendPlain(std::string& out, const InstructionView& view) {
    const Fields& fields = settings_.fields;
    auto to = std::back_inserter(out);
    if (fields.Has(Field::kIp)) fmt::format_to(to, "{:x} ", view.ip);
    if (fields.Has(Field::kInsn)) out += TextOf(view) + ' ';
    if (fields.Has(Field::kBytes)) out += (view.bytes.empty() ? "-" : HexOf(view.bytes)) + ' ';
    if (fields.HasSymbols()) {
      const auto symbol = SymbolOf(view);
      if (fields.Has(Field::kSym)) {
        out += symbol ? symbol->name : "[unknown]";
        out += ' ';
      }
      if (fields.Has(Field::kSymoff))
        out += symbol ? fmt::format("{:#x} ", symbol->offset) : std::string("- ");
    }
    if (fields.Has(Field::kDso)) {
      const std::string_view dso = DsoOf(view);
      out += dso.empty() ? "[unknown]" : dso;
      out += ' ';
    }
    if (fields.Has(Field::kSrcline)) {
      source_.AppendShort(out, source_.At(view.space, view.ip));
      out += ' ';
    }
  }

  void AppendJson(std::string& out, const InstructionView& view) {
    const Fields& fields = settings_.fields;
    JsonLine line = JsonLine::Continue(out);
    if (fields.Has(Field::kIp)) line.Hex("ip", view.ip);
    if (fields.Has(Field::kInsn)) line.Text("insn", TextOf(view));
    if (fields.Has(Field::kBytes)) line.Text("bytes", HexOf(view.bytes));
    if (fields.HasSymbols()) AppendJsonSymbol(line, view);
    if (fields.Has(Field::kDso)) AppendJsonDso(line, view);
    if (fields.Has(Field::kSrcline)) source_.AppendLine(line, source_.At(view.space, view.ip));
  }

 private:
  void AppendJsonSymbol(JsonLine& line, const InstructionView& view) {
    const Fields& fields = settings_.fields;
    const auto symbol = SymbolOf(view);
    if (fields.Has(Field::kSym)) {
      if (symbol)
        line.Text("sym", symbol->name);
      else
        line.Null("sym");
    }
    if (!fields.Has(Field::kSymoff)) return;
    if (symbol)
      line.Number("symoff", symbol->offset);
    else
      line.Null("symoff");
  }

  void AppendJsonDso(JsonLine& line, const InstructionView& view) const {
    const std::string_view dso = DsoOf(view);
    if (dso.empty())
      line.Null("dso");
    else
      line.Text("dso", dso);
  }

  std::optional<Symbolizer::Symbol> SymbolOf(const InstructionView& view) {
    if (view.space == nullptr) return std::nullopt;
    return settings_.symbolizer->Find(*view.space, view.ip);
  }

  std::string_view DsoOf(const InstructionView& view) const {
    const CodeMapping* mapping = view.space == nullptr ? nullptr : view.space->Find(view.ip);
    if (mapping == nullptr) return {};
    return settings_.recorded_path(mapping->section->name());
  }

  std::string TextOf(const InstructionView& view) {
    if (view.bytes.empty()) return "[unknown]";
    return disassembler_.Text(view.bytes, view.ip, view.mode);
  }

  static std::string HexOf(Bytes bytes) {
    return fmt::format("{:02x}", fmt::join(bytes.begin(), bytes.end(), ""));
  }

  const PrintSettings& settings_;
  SourceColumns source_{settings_};
  Disassembler disassembler_;
};

class InstructionPrinter final : public FlowPrinter {
 public:
  InstructionPrinter(const PrintSettings& settings, Output& output)
      : FlowPrinter(settings, output, "instruction"), columns_(settings) {}

 private:
  // Rendered columns are kept up to this size; then the cache starts anew.
  static constexpr size_t kCacheBytes = size_t{64} << 20;

  struct Piece {
    size_t offset;
    size_t size;
  };

  void PrintBlock(const BlockRun& run) override {
    if (run.space != space_ || run.mode != mode_ || rendered_.size() > kCacheBytes) Restart(run);
    const bool flags = settings().fields.Has(Field::kFlags);
    uint64_t ip = run.address;
    for (size_t i = 0; i < run.lengths.size(); ++i) {
      const Piece piece = Rendered(ip, run.lengths[i]);
      out() += ColumnsAt({run.TscOf(i), run.BoundsOf(i)});
      out().append(rendered_, piece.offset, piece.size);
      if (flags) AppendFlags(run, i + 1 == run.lengths.size());
      EndLine();
      ip += run.lengths[i];
    }
  }

  void Restart(const BlockRun& run) {
    pieces_.clear();
    rendered_.clear();
    space_ = run.space;
    mode_ = run.mode;
  }

  Piece Rendered(uint64_t ip, uint8_t length) {
    const auto [entry, is_new] = pieces_.try_emplace(ip, Piece{rendered_.size(), 0});
    if (is_new) {
      Render(ip, length);
      entry->second.size = rendered_.size() - entry->second.offset;
    }
    return entry->second;
  }

  void Render(uint64_t ip, uint8_t length) {
    uint8_t buffer[16];
    const size_t size = space_ == nullptr ? 0 : space_->Read(ip, buffer, length);
    const InstructionView view{ip, Bytes(buffer, size), mode_, space_};
    if (settings().json)
      columns_.AppendJson(rendered_, view);
    else if (settings().default_layout)
      columns_.AppendDefault(rendered_, view);
    else
      columns_.AppendPlain(rendered_, view);
  }

  // "-" for an instruction that is no branch; else its class and, for conditional ones, the way.
  void AppendFlags(const BlockRun& run, bool is_last) {
    std::string text;
    if (is_last && run.last != InstructionClass::kOther) {
      text = BranchWord(run.last);
      if (run.last == InstructionClass::kConditional)
        text += run.exit == BlockExit::kNotTaken ? ",not-taken" : ",taken";
      if (run.exit == BlockExit::kStopped) text += ",trace-end";
    }
    if (run.in_transaction) text += text.empty() ? "tx" : ",tx";
    if (settings().json)
      JsonLine::Continue(out()).Text("flags", text);
    else
      out() += (text.empty() ? "-" : text) + ' ';
  }

  void EndLine() {
    if (settings().json) {
      out() += "}\n";
      return;
    }
    if (out().back() == ' ') out().pop_back();
    out() += '\n';
  }

  InstructionColumns columns_;
  std::unordered_map<uint64_t, Piece> pieces_;  // by address
  std::string rendered_;
  const AddressSpace* space_ = nullptr;
  ExecMode mode_ = ExecMode::k64Bit;
};

}  // namespace

std::unique_ptr<FlowPrinter> MakeInstructionPrinter(const PrintSettings& settings, Output& output) {
  return std::make_unique<InstructionPrinter>(settings, output);
}

}  // namespace flowback::cli
