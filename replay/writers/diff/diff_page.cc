// SPDX-License-Identifier: MIT
#include "replay/writers/diff/diff_page.h"

#include <string_view>

#include "replay/writers/page/page_parts.h"

namespace flowback {

extern const std::string_view kReportStyle;  // report/page/
extern const std::string_view kReportElementsScript;
extern const std::string_view kDiffStyle;  // the files in page/
extern const std::string_view kDiffBody;
extern const std::string_view kDiffScript;

void WriteDiffPage(const DiffPage& page, TextSink& sink) {
  WritePage(
      {.title = page.title,
       .styles = {kCommonStyle, kSharesStyle, kReportStyle, kDiffStyle},
       .scripts = {kThemeScript, kNumbersScript, kSearchScript, kReportElementsScript, kDiffScript},
       .write_body =
           [&] {
             sink.Write(kDiffBody);
             WriteWithoutScripts(page.sentences, sink);
           },
       .write_data = [&] { sink.Write(JsonInScript(page.json)); }},
      sink);
}

}  // namespace flowback
