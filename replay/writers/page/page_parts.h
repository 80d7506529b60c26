// SPDX-License-Identifier: MIT
// A page of HTML that stands by itself, put together from parts: the files in this folder, and the
// page's own. Each file's first lines say what it needs and offers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/writers.h"

namespace flowback {

extern const std::string_view kCommonStyle;   // colours, fonts, tables: of every page
extern const std::string_view kListingStyle;  // lines of source and of instructions
extern const std::string_view kClassesStyle;  // the colours of what threads did
extern const std::string_view kSharesStyle;   // bars of executed and never executed code
extern const std::string_view kFiguresStyle;  // a panel of names with values
extern const std::string_view kFiguresScript;
extern const std::string_view kTipStyle;  // words at the mouse
extern const std::string_view kTipScript;
extern const std::string_view kThemeScript;    // dark or light, and colours for a canvas
extern const std::string_view kNumbersScript;  // numbers as words
extern const std::string_view kSearchScript;   // a field to search in, and keys
extern const std::string_view kZoomScript;     // a canvas of time that zooms and moves
extern const std::string_view kMinimapScript;  // all of the time, small
extern const std::string_view kStripScript;    // a line of colours in it
extern const std::string_view kFlameScript;    // a tree of calls in it

// Parts of the picture of a flame graph, which is no page.
extern const std::string_view kFlamegraphStyle;
extern const std::string_view kFlamegraphScript;

struct Page {
  std::string title;  // as text, not as markup
  // Texts, in this order. The scripts share one function, in which `data` is what `write_data`
  // wrote. A page without scripts may run none.
  std::vector<std::string_view> styles;
  std::vector<std::string_view> scripts;
  // Each writes to the page's sink: markup; JSON whose texts are QuotedInScript (empty: no data).
  std::function<void()> write_body;
  std::function<void()> write_data;
};

// Writes the page. It loads nothing from elsewhere, and a browser is asked not to let it.
void WritePage(const Page& page, TextSink& sink);

// Writes what a reader sees who runs no scripts: the sentences as a list.
void WriteWithoutScripts(const std::vector<std::string>& sentences, TextSink& sink);

// Returns the text as a string of JSON that may stand in a script: it holds no '<', so that no name
// can end the element that it lies in.
std::string QuotedInScript(std::string_view text);
// Escapes JSON in which a '<' stands in strings only.
std::string JsonInScript(std::string_view json);

// Writes `"key":[...]` of the page's data. `item(i)` returns one value's text.
template <class Item>
void WriteArray(std::string_view key, size_t count, TextSink& sink, Item item) {
  std::string& out = sink.buffer();
  out.append("\"").append(key).append("\":[");
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) out += ',';
    out += item(i);
    if (i % 64 == 63) sink.Commit();
  }
  out += ']';
}

}  // namespace flowback
