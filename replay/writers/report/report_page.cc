// SPDX-License-Identifier: MIT
#include "replay/writers/report/report_page.h"

#include <string_view>

#include "replay/writers/page/page_parts.h"

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

void WriteReportPage(const ReportPage& page, TextSink& sink) {
  WritePage({.title = page.title,
             .styles = {kCommonStyle, kTipStyle, kClassesStyle, kSharesStyle, kReportStyle},
             .scripts = {kThemeScript, kNumbersScript, kTipScript, kSearchScript, kZoomScript,
                         kStripScript, kFlameScript, kTimelineFlameScript, kReportElementsScript,
                         kReportTimelineScript, kReportCoverageScript, kReportSectionsScript,
                         kReportLossesScript, kReportScript},
             .write_body =
                 [&] {
                   sink.Write(kReportBody);
                   WriteWithoutScripts(page.sentences, sink);
                 },
             .write_data = [&] { sink.Write(JsonInScript(page.json)); }},
            sink);
}

}  // namespace flowback
