// SPDX-License-Identifier: MIT
#include "tests/behaviour/behaviour_file.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace flowback::behaviour {
namespace {

std::optional<uint64_t> Number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Words Split(const std::string& text) {
  std::istringstream in(text.substr(0, text.find('#')));
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Reads line by line; `Item` lines choose where the indented lines after them go.
class Parser {
 public:
  explicit Parser(std::string path) { file_.path = std::move(path); }

  Result<BehaviourFile> Parse() {
    std::ifstream in(file_.path);
    if (!in) return Fail(ErrorCode::kUnreadable, "can't read " + file_.path);
    for (std::string text; std::getline(in, text);) {
      ++line_;
      if (text.starts_with('#') && file_.first_comment.empty()) file_.first_comment = text;
      const Words words = Split(text);
      if (words.empty()) continue;
      const bool indented = text[0] == ' ' || text[0] == '\t';
      const Status status = indented ? Content(words) : Item(words);
      if (!status) return std::unexpected(status.error());
    }
    return Finish();
  }

 private:
  enum class Section { kNone, kCode, kTrace, kExpected };

  std::unexpected<Error> Wrong(const std::string& what) const {
    return Fail(ErrorCode::kUsage, file_.path + ":" + std::to_string(line_) + ": " + what);
  }

  Status Item(const Words& words) {
    section_ = Section::kNone;
    const std::string& item = words[0];
    if (item == "trace" && words.size() == 1) {
      section_ = Section::kTrace;
      return {};
    }
    if (item == "expect" && words.size() >= 2) return Expect(words);
    if (item == "filter" && words.size() == 2 && words[1] == "none") {
      file_.config.address_filter = false;
      return {};
    }
    if (item == "filter" && words.size() == 3) {
      filter_.push_back({line_, words});
      return {};
    }
    if (item == "clock" && words.size() == 4) return ClockItem(words);
    if (words.size() != 2) return Wrong("unknown item");
    return TwoWords(item, words[1]);
  }

  Status TwoWords(const std::string& item, const std::string& value) {
    if (item == "code") return Code(value);
    if (item == "mode") return Mode(value);
    if (item == "cpu") {
      return Cpu(value);
    } else if (item == "resync" && (value == "psb" || value == "earliest")) {
      file_.resync = value == "psb" ? Resync::kSyncPoint : Resync::kEarliest;
    } else if (item == "returns" && value == "uncompressed") {
      file_.config.return_compression = false;
    } else if (item == "gap" && Number(value)) {
      file_.gaps.push_back({.offset = *Number(value), .reason = "AUX data truncated"});
    } else {
      return Wrong("unknown item");
    }
    return {};
  }

  Status Cpu(std::string value) {
    std::replace(value.begin(), value.end(), '/', ' ');
    const Words parts = Split(value);
    if (parts.size() != 3) return Wrong("cpu is FAMILY/MODEL/STEPPING");
    const auto family = Number(parts[0]);
    const auto model = Number(parts[1]);
    const auto stepping = Number(parts[2]);
    if (!family || !model || !stepping) return Wrong("cpu is FAMILY/MODEL/STEPPING");
    file_.config.cpu = {.family = static_cast<uint16_t>(*family),
                        .model = static_cast<uint8_t>(*model),
                        .stepping = static_cast<uint8_t>(*stepping)};
    return {};
  }

  Status Code(const std::string& address) {
    const auto value = Number(address);
    if (!value) return Wrong("code wants an address");
    file_.code.push_back({.address = *value, .bytes = {}});
    section_ = Section::kCode;
    return {};
  }

  Status Mode(const std::string& bits) {
    if (bits == "64")
      file_.mode = CodeMode::kX86_64;
    else if (bits == "32")
      file_.mode = CodeMode::kX86_32;
    else if (bits == "16")
      file_.mode = CodeMode::kX86_16;
    else
      return Wrong("mode is 64, 32 or 16");
    return {};
  }

  Status ClockItem(const Words& words) {
    const size_t slash = words[1].find('/');
    if (slash == std::string::npos) return Wrong("clock wants N/D, MTC period and nominal ratio");
    const auto numerator = Number(words[1].substr(0, slash));
    const auto denominator = Number(words[1].substr(slash + 1));
    const auto mtc = Number(words[2]);
    const auto nominal = Number(words[3]);
    if (!numerator || !denominator || !mtc || !nominal) return Wrong("clock wants four numbers");
    file_.config.tsc_ctc_numerator = static_cast<uint32_t>(*numerator);
    file_.config.tsc_ctc_denominator = static_cast<uint32_t>(*denominator);
    file_.config.mtc_shift = static_cast<uint8_t>(*mtc);
    file_.config.nominal_ratio = static_cast<uint32_t>(*nominal);
    return {};
  }

  Status Expect(const Words& words) {
    if (words[1] == "execution") {
      if (words.size() > 2 && words != Words{"expect", "execution", "with", "tsc"})
        return Wrong("expect execution [with tsc]");
      file_.with_tsc = words.size() > 2;
      section_ = Section::kExpected;
      return {};
    }
    if (words == Words{"expect", "libipt", "same"}) return {};
    if (words.size() < 4 || words[1] != "libipt" || words[2] != "differs")
      return Wrong("expect execution, or expect libipt same|differs REASON");
    std::string reason;
    for (size_t i = 3; i < words.size(); ++i) reason += (i == 3 ? "" : " ") + words[i];
    file_.libipt_differs = reason;
    return {};
  }

  Status Content(const Words& words) {
    switch (section_) {
      case Section::kCode:
        return CodeLine(words);
      case Section::kTrace:
        file_.trace.push_back({line_, words});
        return {};
      case Section::kExpected:
        file_.expected.push_back({line_, words});
        return {};
      case Section::kNone:
        break;
    }
    return Wrong("an indented line that belongs to nothing");
  }

  Status CodeLine(const Words& words) {
    CodePiece& piece = file_.code.back();
    for (const std::string& word : words) {
      if (word.ends_with(':')) {
        const std::string label = word.substr(0, word.size() - 1);
        if (!file_.labels.emplace(label, piece.address + piece.bytes.size()).second)
          return Wrong("label " + label + " twice");
        continue;
      }
      const auto byte = word.size() == 2 ? Number("0x" + word) : std::nullopt;
      if (!byte) return Wrong(word + " is neither a label nor a byte");
      piece.bytes.push_back(static_cast<uint8_t>(*byte));
    }
    return {};
  }

  Result<BehaviourFile> Finish() {
    for (const Line& line : filter_) {
      line_ = line.number;
      const auto begin = file_.Resolve(line.words[1]);
      const auto end = file_.Resolve(line.words[2]);
      if (!begin || !end) return Wrong("filter wants two addresses");
      file_.config.address_filter = true;
      file_.config.filter_ranges.push_back({.begin = *begin, .end = *end});
    }
    if (file_.first_comment.find("[SDM \"") == std::string::npos)
      return Wrong("no comment that names the manual's section");
    if (file_.trace.empty() || file_.expected.empty())
      return Wrong("no trace, or nothing expected");
    return std::move(file_);
  }

  BehaviourFile file_;
  Section section_ = Section::kNone;
  std::vector<Line> filter_;
  unsigned line_ = 0;
};

}  // namespace

std::optional<uint64_t> BehaviourFile::Resolve(const std::string& word) const {
  const size_t sign = word.find_first_of("+-", 1);
  const std::string base = word.substr(0, sign);
  std::optional<uint64_t> value = Number(base);
  if (!value) {
    const auto label = labels.find(base);
    if (label == labels.end()) return std::nullopt;
    value = label->second;
  }
  if (sign == std::string::npos) return value;
  const auto distance = Number(word.substr(sign + 1));
  if (!distance) return std::nullopt;
  return word[sign] == '+' ? *value + *distance : *value - *distance;
}

Result<BehaviourFile> ReadBehaviourFile(const std::string& path) { return Parser(path).Parse(); }

}  // namespace flowback::behaviour
