// SPDX-License-Identifier: MIT
#include "replay/writers/report/report_page.h"

#include <string_view>

#include "replay/writers/page/page_parts.h"
#include "replay/writers/text/xml.h"

namespace flowback {

extern const std::string_view kReportStyle;  // the files in page/
extern const std::string_view kReportBody;
extern const std::string_view kReportElementsScript;
extern const std::string_view kReportTimelineScript;
extern const std::string_view kReportSectionsScript;
extern const std::string_view kReportCoverageScript;
extern const std::string_view kReportLossesScript;
extern const std::string_view kReportScript;
extern const std::string_view kTimelineFlameScript;  // of the timeline's page

namespace {

void WriteReportBody(const ReportPage& page, TextSink& sink) {
  sink.Write(kReportBody);
  sink.buffer() += "<noscript><main><p>The tables and pictures need scripts.</p>\n<ul>\n";
  for (const std::string& sentence : page.sentences)
    sink.buffer() += "<li>" + Xml(sentence) + "</li>\n";
  sink.buffer() += "</ul></main></noscript>\n";
  sink.Commit();
}

}  // namespace

void WriteReportPage(const ReportPage& page, TextSink& sink) {
  WritePage({.title = page.title,
             .styles = {kCommonStyle, kTipStyle, kClassesStyle, kSharesStyle, kReportStyle},
             .scripts = {kThemeScript, kNumbersScript, kTipScript, kSearchScript, kZoomScript,
                         kStripScript, kFlameScript, kTimelineFlameScript, kReportElementsScript,
                         kReportTimelineScript, kReportCoverageScript, kReportSectionsScript,
                         kReportLossesScript, kReportScript},
             .write_body = [&] { WriteReportBody(page, sink); },
             .write_data = [&] { sink.Write(JsonInScript(page.json)); }},
            sink);
}

}  // namespace flowback
