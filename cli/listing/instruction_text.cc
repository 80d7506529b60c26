// SPDX-License-Identifier: MIT
#include "cli/listing/instruction_text.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>

#include "cli/listing/flow_printer.h"
#include "cli/listing/source_columns.h"
#include "decode/instruction/disassemble.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {

namespace {

// What an instruction's columns are made of.
struct InstructionView {
  uint64_t ip;
  Bytes bytes;
  CodeMode mode;
  const AddressSpace* space;
};

// Renders the columns from `ip` to `srcline`.
class InstructionColumns {
 public:
  explicit InstructionColumns(const PrintSettings& settings) : settings_(settings) {}

  void AppendDefault(std::string& out, const InstructionView& view) {
    fmt::format_to(std::back_inserter(out), "{:x} ", view.ip);
    if (const auto symbol = SymbolOf(view)) {
      AppendPrintable(out, symbol->name);
      fmt::format_to(std::back_inserter(out), "+{:#x} (", symbol->offset);
    } else {
      out += "[unknown] (";
    }
    const std::string_view dso = DsoOf(view);
    AppendPrintable(out, dso.empty() ? "[unknown]" : dso);
    out += ") ";
    out += TextOf(view);
    AppendAdded(out, view);
  }

  void AppendPlain(std::string& out, const InstructionView& view) {
    const Fields& fields = settings_.layout.fields;
    auto to = std::back_inserter(out);
    if (fields.Has(Field::kIp)) fmt::format_to(to, "{:x} ", view.ip);
    if (fields.Has(Field::kInsn)) out += TextOf(view) + ' ';
    if (fields.Has(Field::kBytes)) AppendBytes(out, view);
    if (fields.HasSymbols()) {
      const auto symbol = SymbolOf(view);
      if (fields.Has(Field::kSym)) {
        AppendPrintable(out, symbol ? symbol->name : "[unknown]");
        out += ' ';
      }
      if (fields.Has(Field::kSymoff))
        out += symbol ? fmt::format("{:#x} ", symbol->offset) : std::string("- ");
    }
    if (fields.Has(Field::kDso)) {
      const std::string_view dso = DsoOf(view);
      AppendPrintable(out, dso.empty() ? "[unknown]" : dso);
      out += ' ';
    }
    if (fields.Has(Field::kSrcline)) AppendSourceLine(out, view);
  }

  void AppendJson(std::string& out, const InstructionView& view) {
    const Fields& fields = settings_.layout.fields;
    JsonLine line = JsonLine::Continue(out);
    if (fields.Has(Field::kIp)) line.Hex("ip", view.ip);
    if (fields.Has(Field::kInsn)) line.Text("insn", TextOf(view));
    if (fields.Has(Field::kBytes)) line.Text("bytes", HexOf(view.bytes));
    if (fields.HasSymbols()) AppendJsonSymbol(line, view);
    if (fields.Has(Field::kDso)) AppendJsonDso(line, view);
    if (fields.Has(Field::kSrcline)) source_.AppendLine(line, source_.At(view.space, view.ip));
  }

 private:
  // Appends columns that the default layout lacks (-F +bytes). Flags come later, with the next
  // place.
  void AppendAdded(std::string& out, const InstructionView& view) {
    const Fields& fields = settings_.layout.fields;
    for (const Field added : {Field::kBytes, Field::kSrcline, Field::kFlags})
      if (fields.Has(added) && !out.ends_with(' ')) out += ' ';
    if (fields.Has(Field::kBytes)) AppendBytes(out, view);
    if (fields.Has(Field::kSrcline)) AppendSourceLine(out, view);
  }

  static void AppendBytes(std::string& out, const InstructionView& view) {
    out += (view.bytes.empty() ? "-" : HexOf(view.bytes)) + ' ';
  }

  void AppendSourceLine(std::string& out, const InstructionView& view) {
    source_.AppendShort(out, source_.At(view.space, view.ip));
    out += ' ';
  }

  void AppendJsonSymbol(JsonLine& line, const InstructionView& view) {
    const Fields& fields = settings_.layout.fields;
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
    line.TextOrNull("dso", DsoOf(view));
  }

  std::optional<Symbolizer::Symbol> SymbolOf(const InstructionView& view) {
    if (view.space == nullptr) return std::nullopt;
    return settings_.names.symbolizer->Find(*view.space, view.ip);
  }

  std::string_view DsoOf(const InstructionView& view) const {
    const CodeMapping* mapping = view.space == nullptr ? nullptr : view.space->Find(view.ip);
    if (mapping == nullptr) return {};
    return settings_.names.recorded_path(mapping->section->name());
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

}  // namespace

struct InstructionText::Renderer {
  explicit Renderer(const PrintSettings& settings) : columns(settings) {}
  InstructionColumns columns;
};

InstructionText::InstructionText(const PrintSettings& settings, size_t cache_bytes)
    : settings_(settings),
      cache_bytes_(cache_bytes),
      renderer_(std::make_unique<Renderer>(settings)),
      recent_(kRecent) {}

InstructionText::~InstructionText() = default;

const InstructionText::Block& InstructionText::LookUp(const Key& key, const BlockRun& run) {
  if (size_ > cache_bytes_) {
    blocks_.clear();
    recent_.assign(kRecent, {});
    size_ = 0;
  }
  Block& block = blocks_[key];
  if (block.ends.size() < run.lengths.size()) Render(run, block);
  recent_[SlotOf(key)] = {.key = key, .block = &block};
  return block;
}

// The block may be known already up to an instruction in its middle.
void InstructionText::Render(const BlockRun& run, Block& block) {
  const size_t known = block.ends.size();
  const size_t before = block.text.size();
  uint64_t ip = run.address;
  for (size_t i = 0; i < run.lengths.size(); ip += run.lengths[i], ++i) {
    if (i < known) continue;
    RenderOne(run, ip, run.lengths[i], block.text);
    block.ends.push_back(static_cast<uint32_t>(block.text.size()));
  }
  constexpr size_t kNode = sizeof(Block) + sizeof(Key) + 64;
  size_ += block.text.size() - before + (block.ends.size() - known) * sizeof(uint32_t) +
           (known == 0 ? kNode : 0);
}

void InstructionText::RenderOne(const BlockRun& run, uint64_t ip, uint8_t length,
                                std::string& out) {
  uint8_t buffer[16];
  const size_t size = run.space == nullptr ? 0 : run.space->Read(ip, buffer, length);
  const InstructionView view{ip, Bytes(buffer, size), run.mode, run.space};
  const bool flags = settings_.layout.fields.Has(Field::kFlags);
  if (settings_.layout.json) {
    renderer_->columns.AppendJson(out, view);
    if (!flags) out += "}\n";
    return;
  }
  const size_t before = out.size();
  if (settings_.layout.usual)
    renderer_->columns.AppendDefault(out, view);
  else
    renderer_->columns.AppendPlain(out, view);
  if (flags) return;
  if (out.size() > before && out.back() == ' ') out.pop_back();
  out += '\n';
}

}  // namespace flowback::cli
