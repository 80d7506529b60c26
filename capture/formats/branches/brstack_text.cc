// SPDX-License-Identifier: MIT
//
// Text of `perf script -F ip,brstack`: a line for each sample, the newest branch first.
//
//     40051c  0x400513/0x4004ed/P/-/-/0  0x400523/0x400513/M/-/-/12/COND/-
//     ^ip     ^from    ^to      ^ ^ ^ ^cycles                       ^kind, path: newer perfs'
//                               | | aborted (A)
//                               | in a transaction (X)
//                               predicted (P), mispredicted (M); with N: not taken
//
// LLVM's tools write equal samples once, with a line ahead that has their number:
//
//     12
//      0x400513/0x4004ed/P/-/-/0  0x400523/0x400513/M/-/-/12
//
// Other columns may stand in front of the branches, in perf's order: the name, pid/tid or either
// alone, [cpu], time and event, each of the last two with a colon, then the address and its symbol.
// perf2bolt's layout is `-F pid,ip,brstack`. An address may have a build-id and a colon before it.
//
//     a.out  1234/1235  [001]  5.123456:  cycles:u:  40051c main+0x1c (/a.out)
//     0x400513/0x4004ed/...
//
// With --show-mmap-events lines with PERF_RECORD_MMAP2 stand between them, with the place of the
// code, from there on: a line's number stands for its time. Other lines are skipped with a warning.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text_words.h"
#include "capture/formats/branches/perf_branch_stacks.h"
#include "capture/formats/input/format.h"
#include "capture/formats/input/stream_owner.h"
#include "capture/formats/input/text.h"

namespace flowback {
namespace {

using perf::BranchStackCollector;

constexpr std::string_view kMapMark = "PERF_RECORD_MMAP";

// The rest of an entry, taken field by field.
class Fields {
 public:
  explicit Fields(std::string_view entry) : rest_(entry) {}

  // Returns an empty text also if no field is left.
  std::string_view Next() {
    const std::string_view field = rest_.substr(0, rest_.find('/'));
    rest_.remove_prefix(std::min(field.size() + 1, rest_.size()));
    return field;
  }

 private:
  std::string_view rest_;
};

BranchKind KindNamed(std::string_view name) {
#define FLOWBACK_BRANCH_KIND(id, text, meaning) \
  if (!name.empty() && name == std::string_view(text)) return BranchKind::id;
#include "base/recorded/branch_kinds.def"
#undef FLOWBACK_BRANCH_KIND
  return BranchKind::kNotTold;
}

BranchRecord::Path PathNamed(std::string_view name) {
  if (name == "SPEC_WRONG_PATH") return BranchRecord::Path::kWrong;
  if (name == "NON_SPEC_CORRECT_PATH") return BranchRecord::Path::kRight;
  if (name == "SPEC_CORRECT_PATH") return BranchRecord::Path::kRightSpeculative;
  return BranchRecord::Path::kNotTold;
}

// "0x40051c", or with the build-id of its file: "3f1c...:0x40051c".
std::optional<uint64_t> Address(std::string_view text) {
  if (const size_t colon = text.rfind(':'); colon != text.npos) text.remove_prefix(colon + 1);
  return text.starts_with("0x") ? Number(text, 16) : std::nullopt;
}

// Empty: it is no entry.
std::optional<BranchRecord> ParseEntry(std::string_view word) {
  if (!word.contains('/') || !word.contains("0x")) return std::nullopt;
  Fields fields(word);
  const auto from = Address(fields.Next());
  const auto to = Address(fields.Next());
  const std::string_view prediction = fields.Next();
  const std::string_view transaction = fields.Next();
  const std::string_view aborted = fields.Next();
  const auto cycles = Number(fields.Next(), 10);
  if (!from || !to || !cycles || *cycles > 0xffffffff) return std::nullopt;
  BranchRecord record;
  record.time_is_order = true;
  record.from = *from;
  record.to = *to;
  if (prediction.contains('M')) record.prediction = BranchFacts::Prediction::kWrong;
  if (prediction.contains('P')) record.prediction = BranchFacts::Prediction::kRight;
  record.not_taken = prediction.contains('N');
  record.in_transaction = transaction == "X";
  record.aborted = aborted == "A";
  perf::SetCycles(*cycles, record);
  record.kind = KindNamed(fields.Next());  // empty in perf before 6.x
  record.path = PathNamed(fields.Next());
  return record;
}

struct StackLine {
  uint64_t ip = 0;
  int32_t pid = -1;  // -1: the text does not say
  int32_t tid = -1;
  std::vector<BranchRecord> entries;  // the newest first
};

// The words in front of the branches.
class Columns {
 public:
  // False: there are more than any layout has, or this is a damaged branch.
  bool Add(std::string_view word) {
    if (count_ == words_.size() || (word.starts_with("0x") && word.contains('/'))) return false;
    words_[count_++] = word;
    return true;
  }

  bool IsAlone() const { return count_ == 1; }

  // Fills in the words' facts. False: there is no address among them, though there are words.
  bool Tell(StackLine& line) const {
    if (count_ == 0) return true;
    const size_t behind = BehindColons();
    const size_t ip = behind != 0 ? AddressFrom(behind) : LastAddress();
    if (ip == count_) return false;
    line.ip = *Number(words_[ip], 16);
    TellThread(behind != 0 ? FirstColon() : ip, line);
    return true;
  }

 private:
  // Behind the time and the event; 0: neither is there.
  size_t BehindColons() const {
    for (size_t i = count_; i > 0; --i)
      if (words_[i - 1].size() > 1 && words_[i - 1].ends_with(':')) return i;
    return 0;
  }
  // The time, or the event if there is no time.
  size_t FirstColon() const {
    size_t i = 0;
    while (!words_[i].ends_with(':')) ++i;
    return i;
  }
  bool IsAddress(size_t i) const { return Number(words_[i], 16).has_value(); }
  size_t AddressFrom(size_t first) const {
    for (size_t i = first; i < count_; ++i)
      if (IsAddress(i)) return i;
    return count_;
  }
  // The order is name, process, thread and address: the address is the last.
  size_t LastAddress() const {
    for (size_t i = count_; i > 0; --i)
      if (IsAddress(i - 1)) return i - 1;
    return count_;
  }
  static int32_t Id(std::string_view text) {
    const auto id = Number(text, 10);
    return id && *id <= INT32_MAX ? static_cast<int32_t>(*id) : -1;
  }
  // "1234/1235", or one number: a thread's, or a process's and so its first thread's. It may stand
  // before [cpu] and the time.
  void TellThread(size_t end, StackLine& line) const {
    for (size_t i = 0; i < end; ++i) {
      const size_t slash = words_[i].find('/');
      if (slash == words_[i].npos) continue;
      line.pid = Id(words_[i].substr(0, slash));
      line.tid = Id(words_[i].substr(slash + 1));
      if (line.pid >= 0 && line.tid >= 0) return;
    }
    line.pid = line.tid = -1;
    for (size_t i = end; i > 0 && line.tid < 0; --i) line.tid = Id(words_[i - 1]);
  }

  static constexpr size_t kMost = 16;
  std::array<std::string_view, kMost> words_;
  size_t count_ = 0;
};

// Empty: it is none.
std::optional<StackLine> ParseStack(std::string_view text) {
  StackLine line;
  Columns columns;
  Words words(text);
  std::string_view word = words.Next();
  for (; !word.empty() && !ParseEntry(word); word = words.Next())
    if (!columns.Add(word)) return std::nullopt;
  if (!columns.Tell(line)) return std::nullopt;
  // A line of words is none, though one of them may look like an address.
  if (word.empty() && !columns.IsAlone() && line.tid < 0) return std::nullopt;
  for (; !word.empty(); word = words.Next()) {
    const auto entry = ParseEntry(word);
    if (!entry) return std::nullopt;
    line.entries.push_back(*entry);
  }
  return line;
}

// Returns the number that a line has alone, from its first column on; perf never begins an address
// there: it writes addresses right-aligned. Empty: it is no such line.
std::optional<uint64_t> ParseCount(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  if (line.empty() || line.find_first_not_of("0123456789") != line.npos) return std::nullopt;
  return Number(line, 10);
}

// "PERF_RECORD_MMAP2 26083/26083: [0x400000(0x1000) @ 0 08:04 1 2]: r-xp /elf".
std::optional<MmapRecord> ParseMap(std::string_view text) {
  MmapRecord map;
  Words words(text.substr(text.find(kMapMark)));
  words.Next();
  const std::string_view ids = words.Next();
  const size_t slash = ids.find('/');
  if (slash == ids.npos || !ids.ends_with(':')) return std::nullopt;
  const auto pid = Number(ids.substr(0, slash), 10);
  const auto tid = Number(ids.substr(slash + 1, ids.size() - slash - 2), 10);
  const std::string_view place = words.Next();
  const size_t open = place.find('(');
  if (!place.starts_with('[') || open == place.npos || !place.ends_with(')')) return std::nullopt;
  const auto address = Number(place.substr(1, open - 1), 16);
  const auto size = Number(place.substr(open + 1, place.size() - open - 2), 16);
  words.Next();  // @
  std::string_view offset = words.Next();
  offset = offset.substr(0, offset.find(']'));
  const auto file_offset = Number(offset, 16);
  const size_t end = text.find("]: ");
  if (!pid || !tid || !address || !size || !file_offset || end == text.npos) return std::nullopt;
  // The path is the rest of the line: it may have spaces.
  const std::string_view rest = text.substr(end + 3);
  const std::string_view rights = rest.substr(0, rest.find(' '));
  std::string_view path = rest.substr(std::min(rights.size() + 1, rest.size()));
  if (path.ends_with('\r')) path.remove_suffix(1);
  map.executable = rights.contains('x');
  map.path = path;
  map.pid = static_cast<int32_t>(*pid);
  map.tid = static_cast<int32_t>(*tid);
  map.address = *address;
  map.size = *size;
  map.file_offset = *file_offset;
  return map;
}

class TextReader {
 public:
  explicit TextReader(Recording& recording) : recording_(recording) {}

  void Take(std::string_view line, uint64_t number) {
    if (IsBlank(line)) return;
    if (line.size() > kLongestLine) return LeaveOut(number);
    if (line.contains(kMapMark)) return TakeMap(line, number);
    if (const auto count = ParseCount(line); count && !IsAddressOfCode(line))
      return TakeCount(*count, number);
    const auto stack = ParseStack(line);
    if (!stack) return LeaveOut(number);
    if (count_ && stack->entries.empty()) return;  // a caller's address, ahead of the branches
    const uint64_t times = std::exchange(count_, {}).value_or(1);
    for (const BranchRecord& entry : stack->entries)
      to_kernel_ = to_kernel_ || IsKernelAddress(entry.to);
    perf::SampleId id;
    id.time = number;
    id.pid = stack->pid;
    id.tid = stack->tid;
    if (times != 0 && !stacks_.AddStack(id, stack->ip, stack->entries, times)) too_many_ = number;
  }

  // Errors: kUnreadable if the counts of samples add up to too much.
  Status Finish(const std::string& path) {
    if (count_) LeaveOut(count_line_);
    if (too_many_)
      return Fail(Error(ErrorCode::kUnreadable, path + ": line " + Dec(*too_many_) +
                                                    ": the counts of samples add up to more than " +
                                                    Dec(perf::RepeatedStacks::kMostRecords) +
                                                    " branches")
                      .Remedy("divide all counts of samples by the same number"));
    std::move(stacks_).Finish({}, recording_);
    auto& config = recording_.config.Make<BranchStackConfig>();
    config.levels = recording_.levels = {};
    // Ways out of the kernel are handed out also where it is not recorded; ways into it are not.
    if (!to_kernel_) config.levels.kernel = false;
    recording_.warnings.push_back(
        {"the text does not say which kinds of branches were recorded: assuming all", ""});
    if (left_out_ != 0)
      recording_.warnings.push_back(
          {Dec(left_out_) + (left_out_ == 1 ? " line is" : " lines are") +
               " neither branch stacks nor mappings and left out; the first is line " +
               Dec(first_left_out_),
           "write the text with `perf script -F ip,brstack --show-mmap-events`; columns that perf "
           "puts in front of the address (comm, pid, tid, cpu, time, event) may stand there"});
    AssignOwners(recording_);
    AssignOnlyProcess();
    return {};
  }

 private:
  // A text that lost its blanks may have an address alone on a line.
  bool IsAddressOfCode(std::string_view line) const {
    const auto address = Number(Words(line).Next(), 16);
    return address && std::ranges::any_of(recording_.sideband, [&](const SidebandRecord& any) {
             const auto* map = std::get_if<MmapRecord>(&any);
             return map != nullptr && map->executable && *address - map->address < map->size;
           });
  }
  // Stands for the stack on the next line.
  void TakeCount(uint64_t count, uint64_t number) {
    if (count_) LeaveOut(count_line_);
    count_ = count;
    count_line_ = number;
  }
  // A kernel's mapping has a process number of -1, and no file.
  void TakeMap(std::string_view line, uint64_t number) {
    auto map = ParseMap(line);
    if (!map) return;
    map->time = number;
    recording_.sideband.emplace_back(*std::move(map));
  }
  // Sets the process of threads without one.
  void AssignOnlyProcess() {
    std::set<int32_t> pids;
    for (const SidebandRecord& record : recording_.sideband)
      if (const auto* map = std::get_if<MmapRecord>(&record); map != nullptr && map->pid > 0)
        pids.insert(map->pid);
    if (pids.size() != 1) return;
    for (Stream& stream : recording_.streams)
      if (stream.pid < 0) stream.pid = *pids.begin();
  }
  void LeaveOut(uint64_t number) {
    if (left_out_++ == 0) first_left_out_ = number;
  }

  Recording& recording_;
  BranchStackCollector stacks_;
  bool to_kernel_ = false;
  uint64_t left_out_ = 0;
  uint64_t first_left_out_ = 0;
  std::optional<uint64_t> count_;  // of samples that had the stack that follows
  uint64_t count_line_ = 0;
  std::optional<uint64_t> too_many_;  // the line whose samples are too many
};

}  // namespace

// The first line that is no mapping and no comment is a stack with a branch.
bool MatchesBrstackText(const Candidate& candidate) {
  bool matches = false;
  ForEachLine(candidate.bytes, [&](std::string_view line, uint64_t) {
    if (line.size() > kLongestLine || line.contains('\0')) return false;
    if (IsBlank(line) || line.contains(kMapMark) || ParseCount(line)) return true;
    const auto stack = ParseStack(line);
    if (stack && stack->entries.empty()) return true;
    matches = stack.has_value();
    return false;
  });
  return matches;
}

Status ReadBrstackText(const Candidate& candidate, Recording& recording) {
  TextReader reader(recording);
  ForEachLine(candidate.bytes, [&](std::string_view line, uint64_t number) {
    reader.Take(line, number);
    return true;
  });
  return reader.Finish(recording.path);
}

}  // namespace flowback
