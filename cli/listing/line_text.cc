// SPDX-License-Identifier: MIT
#include "cli/listing/line_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "cli/listing/flow_printer.h"
#include "cli/listing/source_columns.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {

class LineText::Renderer {
 public:
  explicit Renderer(const PrintSettings& settings) : settings_(settings) {}

  void LookAt(const BlockRun& run, Block& block) {
    block = {};
    space_ = run.space;
    text_ = &block.text;
    block.count = static_cast<uint32_t>(run.lengths.size());
    uint64_t ip = run.address;
    uint64_t known_to = 0;
    for (uint32_t i = 0; i < block.count; ip += run.lengths[i], ++i) {
      if (ip < known_to) continue;
      const SourcePlace place = source_.At(space_, ip);
      known_to = place.end;
      // Code of a line's file that no line made belongs to the line it comes in.
      if (place.known() && place.frames.front().line == 0) continue;
      const Line line = LineOf(place, ip, known_to);
      if (!block.steps.empty() && block.steps.back().line == line) continue;
      const auto offset = static_cast<uint32_t>(text_->size());
      Render(ip, place);
      block.steps.push_back({i, line, offset, static_cast<uint32_t>(text_->size()) - offset});
    }
  }

 private:
  // Where no line is known the function takes its place.
  Line LineOf(const SourcePlace& place, uint64_t ip, uint64_t& known_to) {
    Line line{place.scope, 0, nullptr};
    if (place.known()) {
      line.line = place.frames.front().line;
      line.file = place.frames.front().file.data();
    } else if (const auto symbol = SymbolAt(ip)) {
      line.scope = ip - symbol->offset;
      known_to = std::max(known_to, line.scope + symbol->size);
      if (place.scope != 0) known_to = place.end;
    } else {
      const CodeMapping* mapping = space_ == nullptr ? nullptr : space_->Find(ip);
      line.scope = mapping == nullptr ? 0 : mapping->address;
    }
    return line;
  }

  std::optional<Symbolizer::Symbol> SymbolAt(uint64_t ip) {
    if (space_ == nullptr) return std::nullopt;
    return settings_.names.symbolizer->Find(*space_, ip);
  }

  std::string_view FunctionAt(uint64_t ip, const SourcePlace& place) {
    // The symbol table names all but what was inlined, and knows more of it.
    const bool is_inlined = place.frames.size() > 1;
    if (is_inlined && !place.frames.front().function.empty()) return place.frames.front().function;
    if (const auto symbol = SymbolAt(ip); symbol && !is_inlined) return symbol->name;
    return place.frames.empty() ? std::string_view() : place.frames.front().function;
  }

  std::string_view DsoAt(uint64_t ip) const {
    const CodeMapping* mapping = space_ == nullptr ? nullptr : space_->Find(ip);
    if (mapping == nullptr) return {};
    return settings_.names.recorded_path(mapping->section->name());
  }

  void Render(uint64_t ip, const SourcePlace& place) {
    if (settings_.layout.json)
      RenderJson(ip, place);
    else
      RenderText(ip, place);
  }

  void RenderText(uint64_t ip, const SourcePlace& place) {
    const Fields& fields = settings_.layout.fields;
    const auto add = [&](std::string_view word, std::string_view otherwise) {
      AppendPrintable(*text_, word.empty() ? otherwise : word);
      *text_ += ' ';
    };
    if (fields.Has(Field::kIp)) fmt::format_to(std::back_inserter(*text_), "{:x} ", ip);
    if (fields.Has(Field::kSym)) add(FunctionAt(ip, place), "[unknown]");
    if (fields.Has(Field::kDso)) add(DsoAt(ip), "[unknown]");
    if (fields.Has(Field::kSrcline)) {
      SourceColumns::AppendChain(*text_, place);
      *text_ += ' ';
    }
    if (fields.Has(Field::kSource)) {
      std::string text;
      source_.AppendText(text, place);
      // In the layout for people a text that is not there takes no room.
      if (settings_.layout.usual && text != "-") text_->insert(text_->size() - 1, ":");
      if (!settings_.layout.usual || text != "-") *text_ += text;
    }
    if (text_->ends_with(' ')) text_->pop_back();
    *text_ += '\n';
  }

  void RenderJson(uint64_t ip, const SourcePlace& place) {
    const Fields& fields = settings_.layout.fields;
    JsonLine line = JsonLine::Continue(*text_);
    if (fields.Has(Field::kIp)) line.Hex("ip", ip);
    if (fields.Has(Field::kSym)) line.TextOrNull("sym", FunctionAt(ip, place));
    if (fields.Has(Field::kDso)) line.TextOrNull("dso", DsoAt(ip));
    if (fields.Has(Field::kSrcline)) SourceColumns::AppendLine(line, place);
    if (fields.Has(Field::kSource)) source_.AppendText(line, place);
    line.End();
  }

  const PrintSettings& settings_;
  SourceColumns source_{settings_};
  const AddressSpace* space_ = nullptr;  // of the block at hand, like its text
  std::string* text_ = nullptr;
};

LineText::LineText(const PrintSettings& settings, size_t cache_bytes)
    : cache_bytes_(cache_bytes), renderer_(std::make_unique<Renderer>(settings)) {}

LineText::~LineText() = default;

const LineText::Block& LineText::Of(const BlockRun& run) {
  if (size_ > cache_bytes_) {
    blocks_.clear();
    size_ = 0;
  }
  Block& block = blocks_[{run.address, run.space}];
  if (block.count >= run.lengths.size()) return block;
  renderer_->LookAt(run, block);
  constexpr size_t kNode = sizeof(Block) + sizeof(Key) + 64;
  size_ += kNode + block.text.size() + block.steps.size() * sizeof(Step);
  return block;
}

}  // namespace flowback::cli
