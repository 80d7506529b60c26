// SPDX-License-Identifier: MIT
#include "cli/query/row_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback::cli {
namespace {

// The shortest text that reads back as the value, and is none of a whole number.
std::string RealText(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

// RFC 4180, but lines end as those of other programs do. NULL is an empty field.
class CsvWriter final : public RowWriter {
 public:
  CsvWriter(const std::vector<std::string>& names, TextSink& sink) : sink_(sink) {
    for (const std::string& name : names) Field(name);
    EndLine();
  }
  void Add(std::span<const QueryValue> row) override {
    for (const QueryValue& value : row) {
      Separate();
      std::visit([this](const auto& held) { Write(held); }, value);
    }
    EndLine();
  }
  void Finish() override {}

 private:
  std::string& out() { return sink_.buffer(); }
  void Separate() {
    if (!is_first_) out() += ',';
    is_first_ = false;
  }
  void Field(std::string_view text) {
    Separate();
    Write(text);
  }
  void Write(std::monostate) {}
  void Write(int64_t value) { out() += std::to_string(value); }
  void Write(double value) { out() += RealText(value); }
  void Write(std::string_view value) {
    const std::string text = Printable(value);
    const bool is_plain = !text.empty() && text.find_first_of(",\"") == std::string::npos &&
                          text.front() != ' ' && text.back() != ' ';
    if (is_plain) return static_cast<void>(out() += text);
    out() += '"';
    for (const char each : text) {
      if (each == '"') out() += '"';
      out() += each;
    }
    out() += '"';
  }
  void EndLine() {
    out() += '\n';
    is_first_ = true;
    sink_.Commit();
  }

  TextSink& sink_;
  bool is_first_ = true;
};

// One JSON object for each statement. Columns of one name get numbers: "tid", "tid:1".
class JsonWriter final : public RowWriter {
 public:
  JsonWriter(const std::vector<std::string>& names, const std::string& input, TextSink& sink)
      : sink_(sink) {
    std::set<std::string> seen;
    std::string columns = "[";
    for (const std::string& name : names) {
      std::string key = name;
      for (unsigned i = 1; !seen.insert(key).second; ++i) key = name + ":" + std::to_string(i);
      keys_.push_back(std::move(key));
      if (columns.size() > 1) columns += ',';
      AppendJsonString(columns, keys_.back());
    }
    JsonLine line(sink_.buffer());
    line.Text("schema", "flowback.query/1").Text("input", input).Raw("columns", columns + "]");
    sink_.buffer() += ",\"rows\":[";
  }
  void Add(std::span<const QueryValue> row) override {
    std::string& out = sink_.buffer();
    out += is_first_ ? "\n{" : ",\n{";
    is_first_ = false;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i != 0) out += ',';
      AppendJsonString(out, keys_[i]);
      out += ':';
      std::visit([&out](const auto& held) { Write(held, out); }, row[i]);
    }
    out += '}';
    sink_.Commit();
  }
  void Finish() override {
    sink_.buffer() += "]}\n";
    sink_.Commit();
  }

 private:
  static void Write(std::monostate, std::string& out) { out += "null"; }
  static void Write(int64_t value, std::string& out) { out += std::to_string(value); }
  // JSON has no infinity.
  static void Write(double value, std::string& out) {
    out += std::isfinite(value) ? RealText(value) : "null";
  }
  static void Write(std::string_view value, std::string& out) { AppendJsonString(out, value); }

  TextSink& sink_;
  std::vector<std::string> keys_;
  bool is_first_ = true;
};

// The first rows decide how wide the columns are. Wider cells in later rows are printed whole.
class BoxWriter final : public RowWriter {
 public:
  BoxWriter(const std::vector<std::string>& names, TextSink& sink) : sink_(sink) {
    std::vector<Cell>& head = rows_.emplace_back();
    for (const std::string& name : names) head.push_back({Printable(name), false});
    widths_.resize(names.size());
  }
  void Add(std::span<const QueryValue> row) override {
    std::vector<Cell> cells;
    for (const QueryValue& value : row)
      cells.push_back(std::visit([](const auto& held) { return CellOf(held); }, value));
    if (is_open_) return Line(cells);
    rows_.push_back(std::move(cells));
    if (rows_.size() > kMeasured) Open();
  }
  void Finish() override {
    Open();
    Rule("└", "┴", "┘");
  }

 private:
  struct Cell {
    std::string text;
    bool is_number = false;
  };
  static constexpr size_t kMeasured = 2000;

  static Cell CellOf(std::monostate) { return {"", false}; }
  static Cell CellOf(int64_t value) { return {std::to_string(value), true}; }
  static Cell CellOf(double value) { return {RealText(value), true}; }
  static Cell CellOf(std::string_view value) { return {Printable(value), false}; }

  void Open() {
    if (is_open_) return;
    is_open_ = true;
    for (const std::vector<Cell>& row : rows_)
      for (size_t i = 0; i < row.size(); ++i)
        widths_[i] = std::max(widths_[i], ColumnsOf(row[i].text));
    Rule("┌", "┬", "┐");
    for (const std::vector<Cell>& row : rows_) {
      Line(row);
      if (&row == &rows_.front()) Rule("├", "┼", "┤");
    }
    rows_.clear();
  }
  void Line(const std::vector<Cell>& cells) {
    std::string& out = sink_.buffer();
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t wide = ColumnsOf(cells[i].text);
      const std::string blanks(widths_[i] > wide ? widths_[i] - wide : 0, ' ');
      out += "│ ";
      out += cells[i].is_number ? blanks + cells[i].text : cells[i].text + blanks;
      out += ' ';
    }
    out += "│\n";
    sink_.Commit();
  }
  void Rule(std::string_view left, std::string_view middle, std::string_view right) {
    std::string& out = sink_.buffer();
    out += left;
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (i != 0) out += middle;
      for (size_t k = 0; k < widths_[i] + 2; ++k) out += "─";
    }
    out += right;
    out += '\n';
    sink_.Commit();
  }

  TextSink& sink_;
  std::vector<std::vector<Cell>> rows_;  // before the box is open; the first one is the head
  std::vector<size_t> widths_;
  bool is_open_ = false;
};

}  // namespace

std::unique_ptr<RowWriter> MakeRowWriter(QueryOptions::Format format,
                                         const std::vector<std::string>& names,
                                         const std::string& input, TextSink& sink) {
  switch (format) {
    case QueryOptions::Format::kCsv:
      return std::make_unique<CsvWriter>(names, sink);
    case QueryOptions::Format::kJson:
      return std::make_unique<JsonWriter>(names, input, sink);
    case QueryOptions::Format::kBox:
      break;
  }
  return std::make_unique<BoxWriter>(names, sink);
}

}  // namespace flowback::cli
