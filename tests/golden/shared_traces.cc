// SPDX-License-Identifier: MIT
#include "tests/golden/shared_traces.h"

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/places.h"

namespace flowback::golden {

std::filesystem::path TracesFolder() {
  if (const char* shared = std::getenv("FLOWBACK_SHARED"))
    return std::filesystem::path(shared) / "traces";
  return std::filesystem::path(SourceFolder()).parent_path() / "shared" / "traces";
}

bool HaveTraces() { return std::filesystem::is_directory(TracesFolder()); }

std::vector<std::vector<std::string>> ReadTable(const std::filesystem::path& file) {
  std::vector<std::vector<std::string>> table;
  std::ifstream input(file);
  for (std::string line; std::getline(input, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::vector<std::string>& row = table.emplace_back();
    for (std::string word; words >> word;) row.push_back(word);
    if (row.empty()) table.pop_back();
  }
  return table;
}

std::string TestName(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return text;
}

}  // namespace flowback::golden
