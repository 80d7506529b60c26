// SPDX-License-Identifier: MIT
// The comparison as a page: the sentences and the objects of --json are its data.
#include <fmt/format.h>

#include <string>

#include "cli/diff/diff_view.h"
#include "replay/writers/diff/diff_page.h"
#include "replay/writers/text/json_parts.h"

namespace flowback::cli {
namespace {

// A browser shows a page of this many rows in a moment.
constexpr size_t kMostRows = 5000;

// Returns the sink's lines of JSON as an array.
std::string ArrayOfLines(std::string lines) {
  if (lines.ends_with('\n')) lines.pop_back();
  std::string array = "[\n";
  for (const char c : lines) {
    if (c == '\n') array += ',';
    array += c;
  }
  return array + "\n]";
}

std::string SideWords(const std::vector<std::string>& inputs) {
  if (inputs.size() == 1) return inputs.front();
  return fmt::format("{} and {} more", inputs.front(), inputs.size() - 1);
}

}  // namespace

void WriteDiffHtml(const DiffView& view, TextSink& sink) {
  StringSink lines;
  const LeftOut left_out = WriteDiffJson(view, lines, kMostRows);
  const std::vector<std::string> sentences = DiffSentences(view);
  const std::string json = JsonObject([&](JsonLine& page) {
    page.Raw("sentences",
             JsonArray(sentences, [](const std::string& each) { return JsonText(each); }));
    page.Raw("rows", ArrayOfLines(lines.text()));
    page.Raw("left_out", JsonObject([&](JsonLine& counts) {
               for (const auto& [type, count] : left_out) counts.Number(type, count);
             }));
  });
  WriteDiffPage(
      {.title = fmt::format("flowback diff: {} -> {}", SideWords(view.old), SideWords(view.now)),
       .sentences = sentences,
       .json = json},
      sink);
}

}  // namespace flowback::cli
