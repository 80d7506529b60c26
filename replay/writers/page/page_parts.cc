// SPDX-License-Identifier: MIT
#include "replay/writers/page/page_parts.h"

#include <fmt/format.h>

#include "replay/writers/text/json.h"
#include "replay/writers/text/xml.h"

namespace flowback {
namespace {

void WriteHead(const Page& page, TextSink& sink) {
  sink.buffer() += fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; {}img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n",
      page.scripts.empty() ? "" : "script-src 'unsafe-inline'; ", Xml(page.title));
  for (const std::string_view style : page.styles) sink.Write(style);
  sink.buffer() += "</style>\n</head>\n<body>\n";
}

void WriteScripts(const Page& page, TextSink& sink) {
  if (page.write_data) {
    sink.buffer() += "<script id=\"data\" type=\"application/json\">\n";
    page.write_data();
    sink.buffer() += "</script>\n";
  }
  if (page.scripts.empty()) return;
  sink.buffer() += "<script>\n'use strict';\n(() => {\n";
  if (page.write_data)
    sink.buffer() += "const data = JSON.parse(document.getElementById('data').textContent);\n";
  for (const std::string_view script : page.scripts) sink.Write(script);
  sink.buffer() += "})();\n</script>\n";
}

}  // namespace

void WritePage(const Page& page, TextSink& sink) {
  WriteHead(page, sink);
  page.write_body();
  WriteScripts(page, sink);
  sink.buffer() += "</body>\n</html>\n";
  sink.Commit();
}

void WriteWithoutScripts(const std::vector<std::string>& sentences, TextSink& sink) {
  sink.buffer() += "<noscript><main><p>The tables and pictures need scripts.</p>\n<ul>\n";
  for (const std::string& sentence : sentences) sink.buffer() += "<li>" + Xml(sentence) + "</li>\n";
  sink.buffer() += "</ul></main></noscript>\n";
  sink.Commit();
}

std::string QuotedInScript(std::string_view text) {
  std::string json;
  AppendJsonString(json, text);
  return JsonInScript(json);
}

std::string JsonInScript(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace flowback
