// SPDX-License-Identifier: MIT
#include "replay/coverage/report/changed_sources.h"

#include <set>
#include <utility>

namespace flowback {

std::vector<ChangedSource> ChangedSources(const CoverageReport& report,
                                          const SourceReader& reader) {
  std::vector<ChangedSource> changed;
  std::set<std::pair<uint32_t, const ObjectCoverage*>> looked_at;
  for (const ObjectCoverage& object : report.objects) {
    if (object.image == nullptr) continue;
    for (const FunctionCoverage& function : object.functions) {
      if (function.at.line == 0 || !looked_at.insert({function.at.file, &object}).second) continue;
      const std::string source = reader.Find(report.files[function.at.file]);
      if (!source.empty() && IsNewer(source, object.image->file()))
        changed.push_back({source, object.image->file()});
    }
  }
  return changed;
}

}  // namespace flowback
