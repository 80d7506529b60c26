// SPDX-License-Identifier: MIT
// `decode --as lines`: a line each time the flow comes to another line of the source.
//
// What a block's instructions mean in lines depends on nothing but the block: where in it another
// line begins, and that line's text, are found once per block and kept. A block then costs a
// look-up and, for each line that begins in it, a comparison and two copies.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "cli/flow_printer.h"
#include "cli/json.h"
#include "cli/source_columns.h"

namespace flowback::cli {
namespace {

class LinePrinter final : public FlowPrinter {
 public:
  LinePrinter(const PrintSettings& settings, Output& output)
      : FlowPrinter(settings, output, "line") {}

 private:
  // Rendered lines are kept up to this size; then the cache starts anew.
  static constexpr size_t kCacheBytes = size_t{64} << 20;

  // A line that begins with a block's instruction number `index`.
  struct Step {
    uint32_t index;
    uint32_t key;  // of the line in its function: equal keys are no change
    size_t offset;
    size_t size;
  };
  struct Block {
    uint32_t count = 0;  // instructions looked at
    std::vector<Step> steps;
  };
  // What tells one line from another.
  struct Key {
    uint64_t scope;
    uint32_t line;
    const char* file;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return (key.scope * 0x9e3779b97f4a7c15 + key.line) * 0x9e3779b97f4a7c15 +
             reinterpret_cast<size_t>(key.file);
    }
  };

  void PrintBlock(const BlockRun& run) override {
    if (run.space != space_ || rendered_.size() > kCacheBytes) Restart(run.space);
    Block& block = blocks_[run.address];
    if (block.count < run.lengths.size()) LookAt(run, block);
    for (const Step& step : block.steps) {
      if (step.index >= run.lengths.size()) break;
      if (step.key == current_) continue;
      current_ = step.key;
      out() += ColumnsAt({run.TscOf(step.index), run.BoundsOf(step.index)});
      out().append(rendered_, step.offset, step.size);
    }
    // The same line in another call of its function is another one.
    if (run.exit == BlockExit::kTaken && LeavesFunction(run.last)) current_ = 0;
  }

  static bool LeavesFunction(InstructionClass kind) {
    return kind == InstructionClass::kCall || kind == InstructionClass::kIndirectCall ||
           kind == InstructionClass::kReturn;
  }

  void BeforeLoss(const DataLoss&) override { current_ = 0; }
  void PrintEnd() override { current_ = 0; }

  void Restart(const AddressSpace* space) {
    blocks_.clear();
    rendered_.clear();
    // Keys stay: the line that the flow is in is still the same one.
    space_ = space;
  }

  void LookAt(const BlockRun& run, Block& block) {
    block = {};
    block.count = static_cast<uint32_t>(run.lengths.size());
    uint64_t ip = run.address;
    uint64_t known_to = 0;
    for (uint32_t i = 0; i < block.count; ip += run.lengths[i], ++i) {
      if (ip < known_to) continue;
      const SourcePlace place = source_.At(space_, ip);
      known_to = place.end;
      // Code of a line's file that no line made belongs to the line it comes in.
      if (place.known() && place.frames.front().line == 0) continue;
      const uint32_t key = KeyOf(place, ip, known_to);
      if (!block.steps.empty() && block.steps.back().key == key) continue;
      const size_t offset = rendered_.size();
      Render(ip, place);
      block.steps.push_back({i, key, offset, rendered_.size() - offset});
    }
  }

  // Where no line is known the function takes its place.
  uint32_t KeyOf(const SourcePlace& place, uint64_t ip, uint64_t& known_to) {
    Key key{place.scope, 0, nullptr};
    if (place.known()) {
      key.line = place.frames.front().line;
      key.file = place.frames.front().file.data();
    } else if (const auto symbol = SymbolAt(ip)) {
      key.scope = ip - symbol->offset;
      known_to = std::max(known_to, key.scope + symbol->size);
      if (place.scope != 0) known_to = place.end;
    } else {
      const CodeMapping* mapping = space_ == nullptr ? nullptr : space_->Find(ip);
      key.scope = mapping == nullptr ? 0 : mapping->address;
    }
    return keys_.try_emplace(key, static_cast<uint32_t>(keys_.size() + 1)).first->second;
  }

  std::optional<Symbolizer::Symbol> SymbolAt(uint64_t ip) {
    if (space_ == nullptr) return std::nullopt;
    return settings().symbolizer->Find(*space_, ip);
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
    return settings().recorded_path(mapping->section->name());
  }

  void Render(uint64_t ip, const SourcePlace& place) {
    if (settings().json)
      RenderJson(ip, place);
    else
      RenderText(ip, place);
  }

  void RenderText(uint64_t ip, const SourcePlace& place) {
    const Fields& fields = settings().fields;
    const auto add = [&](std::string_view word, std::string_view otherwise) {
      rendered_ += word.empty() ? otherwise : word;
      rendered_ += ' ';
    };
    if (fields.Has(Field::kIp)) fmt::format_to(std::back_inserter(rendered_), "{:x} ", ip);
    if (fields.Has(Field::kSym)) add(FunctionAt(ip, place), "[unknown]");
    if (fields.Has(Field::kDso)) add(DsoAt(ip), "[unknown]");
    if (fields.Has(Field::kSrcline)) {
      SourceColumns::AppendChain(rendered_, place);
      rendered_ += ' ';
    }
    if (fields.Has(Field::kSource)) {
      std::string text;
      source_.AppendText(text, place);
      // In the layout for people a text that is not there takes no room.
      if (settings().default_layout && text != "-") rendered_.insert(rendered_.size() - 1, ":");
      if (!settings().default_layout || text != "-") rendered_ += text;
    }
    if (rendered_.ends_with(' ')) rendered_.pop_back();
    rendered_ += '\n';
  }

  void RenderJson(uint64_t ip, const SourcePlace& place) {
    const Fields& fields = settings().fields;
    JsonLine line = JsonLine::Continue(rendered_);
    const auto add = [&](std::string_view key, std::string_view word) {
      if (word.empty())
        line.Null(key);
      else
        line.Text(key, word);
    };
    if (fields.Has(Field::kIp)) line.Hex("ip", ip);
    if (fields.Has(Field::kSym)) add("sym", FunctionAt(ip, place));
    if (fields.Has(Field::kDso)) add("dso", DsoAt(ip));
    if (fields.Has(Field::kSrcline)) SourceColumns::AppendLine(line, place);
    if (fields.Has(Field::kSource)) source_.AppendText(line, place);
    line.End();
  }

  SourceColumns source_{settings()};
  std::unordered_map<uint64_t, Block> blocks_;  // by address
  std::unordered_map<Key, uint32_t, KeyHash> keys_;
  std::string rendered_;
  const AddressSpace* space_ = nullptr;
  uint32_t current_ = 0;  // key of the line the flow is in; 0: the next one is a change
};

}  // namespace

std::unique_ptr<FlowPrinter> MakeLinePrinter(const PrintSettings& settings, Output& output) {
  return std::make_unique<LinePrinter>(settings, output);
}

}  // namespace flowback::cli
