// SPDX-License-Identifier: MIT
// maps.txt lists executable mappings in time order, with the number of instructions each CPU had
// retired by then. That number, not the time, says exactly from which instruction on a mapping
// holds, so it is the key of the address spaces made here: one per number that occurs. A line
// `exec` stands for execve: what was mapped before is gone.
#include "tests/golden/generated.h"

#include <filesystem>
#include <sstream>

#include "base/recorded/pt_config.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

std::filesystem::path GeneratedFolder() { return TracesFolder() / "generated"; }

uint64_t FromHex(const std::string& text) { return std::stoull(text, nullptr, 16); }

// The cpu-th of "12,345"; streams that did not exist yet have retired nothing.
uint64_t RetiredBy(const std::string& counts, unsigned cpu) {
  std::istringstream list(counts);
  std::string count;
  for (unsigned i = 0; i <= cpu; ++i)
    if (!std::getline(list, count, ',')) return 0;
  return std::stoull(count);
}

class SectionTable {
 public:
  explicit SectionTable(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The whole image as one section. `image` is relative to the recording's folder or to generated/.
  Result<std::shared_ptr<const CodeSection>> Get(const std::string& image) {
    std::shared_ptr<const CodeSection>& section = sections_[image];
    if (section != nullptr) return section;
    std::filesystem::path path = folder_ / image;
    if (!std::filesystem::exists(path)) path = GeneratedFolder() / image;
    auto file = MappedFile::Open(path);
    if (!file) return Fail(file.error());
    section = std::make_shared<CodeSection>(path, 0, (*file)->bytes(), *file, Verification::kGiven);
    return section;
  }

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const CodeSection>> sections_;
};

// start len file_offset image original tsc counts
Result<CodeMapping> ReadMapping(const std::vector<std::string>& row, SectionTable& sections) {
  auto section = sections.Get(row[3]);
  if (!section) return Fail(section.error());
  CodeMapping mapping;
  mapping.address = FromHex(row[0]);
  mapping.section_offset = FromHex(row[2]);
  mapping.size = std::min(FromHex(row[1]), (*section)->bytes().size() - mapping.section_offset);
  mapping.section = *section;
  return mapping;
}

Result<AddressSpaceHistory> ReadMaps(const std::filesystem::path& folder, unsigned cpu) {
  SectionTable sections(folder);
  AddressSpaceHistory history;
  history.key = AddressSpaceHistory::Key::kInstructions;
  AddressSpace space;
  for (const std::vector<std::string>& row : ReadTable(folder / "maps.txt")) {
    if (row.size() != 7)
      return Fail(ErrorCode::kUnreadable, "a line of maps.txt has other than seven columns");
    if (row[0] == "exec") {
      space = AddressSpace();
    } else {
      Result<CodeMapping> mapping = ReadMapping(row, sections);
      if (!mapping) return Fail(mapping.error());
      space.Map(*mapping);
    }
    const uint64_t retired = RetiredBy(row[6], cpu);
    if (history.epochs.empty() || history.epochs.back().instructions != retired)
      history.epochs.push_back({.time = 0, .instructions = retired, .space = nullptr});
    history.epochs.back().space = std::make_shared<AddressSpace>(space);
  }
  if (history.epochs.empty())
    return Fail(ErrorCode::kUnreadable, "no mappings in " + (folder / "maps.txt").string());
  return history;
}

// The generator writes its clock parameters as "key value" lines of truth.txt.
void ReadConfig(const std::filesystem::path& folder, GeneratedStream& stream) {
  std::map<std::string, std::string> truth;
  for (const std::vector<std::string>& row : ReadTable(folder / "truth.txt"))
    if (row.size() == 2) truth[row[0]] = row[1];
  const auto number = [&truth](const char* key) {
    return truth.contains(key) ? std::stoull(truth[key]) : 0;
  };
  PtConfig& config = stream.config;
  config.tsc_ctc_numerator = static_cast<uint32_t>(number("ctc_n"));
  config.tsc_ctc_denominator = static_cast<uint32_t>(number("ctc_d"));
  config.nominal_ratio = static_cast<uint32_t>(number("ratio"));
  config.return_compression = number("retcomp") != 0;
  if (number("mtc") != 0) config.mtc_shift = static_cast<uint8_t>(number("mtc_shift"));
  stream.time = {.shift = static_cast<uint16_t>(number("time_shift")),
                 .mult = static_cast<uint32_t>(number("time_mult")),
                 .zero = number("time_zero")};
}

}  // namespace

std::vector<TrueDigest> TrueDigests() {
  std::vector<TrueDigest> digests;
  for (const std::vector<std::string>& row : ReadTable(GeneratedFolder() / "digests.tsv"))
    if (row.size() == 4)
      digests.push_back({row[0], row[1], {.count = std::stoull(row[2]), .hash = FromHex(row[3])}});
  return digests;
}

Result<GeneratedStream> LoadGenerated(const std::string& recording, unsigned cpu) {
  GeneratedStream stream;
  const std::filesystem::path folder = GeneratedFolder() / recording;
  stream.folder = folder;
  auto file = MappedFile::Open(folder / ("pt-" + std::to_string(cpu) + ".bin"));
  if (!file) return Fail(file.error());
  stream.file = *file;
  Result<AddressSpaceHistory> code = ReadMaps(folder, cpu);
  if (!code) return Fail(code.error());
  stream.code = std::move(*code);
  ReadConfig(folder, stream);
  return stream;
}

}  // namespace flowback::golden
