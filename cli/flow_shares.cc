// SPDX-License-Identifier: MIT
#include "cli/flow_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "base/threads.h"
#include "cli/json.h"
#include "cli/printable.h"

namespace flowback::cli {
namespace {

bool IsCall(InstructionClass kind) {
  return kind == InstructionClass::kCall || kind == InstructionClass::kIndirectCall;
}

std::string_view KindWord(ShareKind kind) {
  switch (kind) {
    case ShareKind::kFunction:
      return "function";
    case ShareKind::kObject:
      return "object";
    case ShareKind::kLine:
      return "line";
  }
  return "";
}

double PartOfAll(uint64_t part, uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

std::string Known(const std::string& text) { return text.empty() ? "[unknown]" : Printable(text); }

std::string PlaceText(ShareKind kind, const SharePlace& place) {
  switch (kind) {
    case ShareKind::kFunction:
      return Known(place.function) + " (" + Known(place.object) + ")";
    case ShareKind::kObject:
      return Known(place.object);
    case ShareKind::kLine:
      if (place.file.empty()) return "[unknown]";
      return Printable(place.file) + ":" + (place.line == 0 ? "?" : std::to_string(place.line));
  }
  return "";
}

void TextOrNull(JsonLine& line, std::string_view key, const std::string& text) {
  if (text.empty())
    line.Null(key);
  else
    line.Text(key, text);
}

void AppendJson(std::string& out, ShareKind kind, const SharePlace& place, const Share& share,
                uint64_t all) {
  JsonLine line(out);
  line.Text("type", KindWord(kind));
  if (kind == ShareKind::kFunction) TextOrNull(line, "function", place.function);
  if (kind != ShareKind::kLine) TextOrNull(line, "object", place.object);
  if (kind == ShareKind::kLine) {
    TextOrNull(line, "file", place.file);
    if (place.line != 0)
      line.Number("line", place.line);
    else
      line.Null("line");
  }
  line.Number("instructions", share.instructions).Number("calls", share.calls);
  line.Raw("share", fmt::format("{:.6f}", PartOfAll(share.instructions, all))).End();
}

void AppendText(std::string& out, const Share& share, uint64_t all, std::string_view place) {
  out += fmt::format("{:>16} {:>6.2f} % {:>12}  {}\n", share.instructions,
                     100 * PartOfAll(share.instructions, all), share.calls, place);
}

void PrintShares(ShareKind kind, const Shares& shares, bool json, Output& output) {
  Share all;
  std::vector<const Shares::value_type*> sorted;
  for (const auto& each : shares) {
    all.instructions += each.second.instructions;
    all.calls += each.second.calls;
    sorted.push_back(&each);
  }
  std::ranges::stable_sort(sorted, std::greater(),
                           [](const auto* each) { return each->second.instructions; });
  if (!json)
    output.Write(
        fmt::format("{:>16} {:>8} {:>12}  {}\n", "instructions", "share", "calls", KindWord(kind)));
  for (const auto* each : sorted) {
    if (json)
      AppendJson(output.buffer(), kind, each->first, each->second, all.instructions);
    else
      AppendText(output.buffer(), each->second, all.instructions, PlaceText(kind, each->first));
    output.Commit();
  }
  if (!json) return AppendText(output.buffer(), all, all.instructions, "all");
  JsonLine line(output.buffer());
  line.Text("type", "total").Number("instructions", all.instructions).Number("calls", all.calls);
  line.End();
}

// Pieces are decoded by several threads, each of which counts for itself.
class Adder {
 public:
  Adder(const SharePlan& plan, const std::vector<StreamOwner>& owners,
        const PrintSettings& settings)
      : plan_(plan), settings_(settings) {
    for (const StreamOwner& owner : owners)
      for (const FlowPiece& piece : owner.pieces) pieces_.push_back(&piece);
  }

  Status Run() {
    {
      std::vector<std::jthread> helpers;
      const size_t most = std::min<size_t>(plan_.threads, pieces_.size());
      StartThreads(helpers, most == 0 ? 0 : most - 1, [this](size_t) { Work(); });
      Work();
    }
    if (thrown_) std::rethrow_exception(thrown_);
    return status_;
  }
  const Shares& shares() const { return shares_; }

 private:
  void Work() {
    try {
      ShareCounter counter(plan_.kind, settings_);
      const Result<std::unique_ptr<Decoder>> decoder = plan_.make_decoder();
      Status status = decoder ? Count(**decoder, counter) : Fail(decoder.error());
      Add(counter.Take(), counter.losses(), std::move(status));
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      thrown_ = std::current_exception();
      next_ = pieces_.size();
    }
  }

  Status Count(Decoder& decoder, ShareCounter& counter) {
    for (size_t i = next_++; i < pieces_.size(); i = next_++)
      if (Status status = plan_.decode(*pieces_[i], decoder, counter); !status) return status;
    return {};
  }

  void Add(const Shares& shares, const std::vector<DataLoss>& losses, Status status) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [place, share] : shares) {
      Share& sum = shares_[place];
      sum.instructions += share.instructions;
      sum.calls += share.calls;
    }
    for (const DataLoss& loss : losses) settings_.losses->Add(loss);
    if (status) return;
    if (status_) status_ = std::move(status);
    next_ = pieces_.size();  // the others need not go on
  }

  const SharePlan& plan_;
  const PrintSettings& settings_;
  std::vector<const FlowPiece*> pieces_;
  std::atomic<size_t> next_ = 0;  // of the pieces
  std::mutex mutex_;              // of what follows
  Shares shares_;
  Status status_;
  std::exception_ptr thrown_;
};

}  // namespace

Result<ShareKind> ParseShareKind(const std::string& word) {
  for (const ShareKind kind : {ShareKind::kFunction, ShareKind::kObject, ShareKind::kLine})
    if (word == KindWord(kind)) return kind;
  return Fail(Error(ErrorCode::kUsage, fmt::format("decode: can't sum up --by '{}'", word))
                  .Remedy("--by function, object or line"));
}

void ShareCounter::OnBlock(const BlockRun& run) {
  totals_.digest.count += run.lengths.size();
  AddInstructions(run.space, run.address, run.lengths, 1);
  if (IsCall(run.last)) ++At(run.space, run.next).calls;
}

// What a block's instructions belong to is looked up once, at the end.
void ShareCounter::OnBlocks(const BlockBatch& batch) {
  std::vector<uint64_t>& times = times_[batch.table];
  times.resize(std::max(times.size(), batch.table->size()));
  totals_.digest.count += batch.instructions();
  const BlockTable& table = *batch.table;
  for (size_t i = 0; i < batch.steps.size(); ++i) {
    const uint32_t number = batch.steps[i].number();
    ++times[number];
    if (!IsCall(table[number].last)) continue;
    const bool is_last = i + 1 == batch.steps.size();
    ++At(&table.space(), is_last ? batch.next : table[batch.steps[i + 1].number()].address).calls;
  }
}

Shares ShareCounter::Take() {
  for (const auto& [table, times] : times_)
    for (uint32_t number = 0; number < times.size(); ++number) {
      const CodeBlock& block = (*table)[number];
      if (times[number] != 0)
        AddInstructions(&table->space(), block.address, {block.lengths, block.count},
                        times[number]);
    }
  times_.clear();
  answers_.assign(kAnswers, {});
  return std::exchange(shares_, {});
}

void ShareCounter::AddInstructions(const AddressSpace* space, uint64_t ip,
                                   std::span<const uint8_t> lengths, uint64_t times) {
  for (const uint8_t length : lengths) {
    At(space, ip).instructions += times;
    ip += length;
  }
}

Share& ShareCounter::At(const AddressSpace* space, uint64_t ip) {
  Answer& answer = answers_[(ip ^ (ip >> 12)) % kAnswers];
  if (answer.share == nullptr || answer.ip != ip || answer.space != space)
    answer = {.space = space, .ip = ip, .share = &shares_[PlaceOf(space, ip)]};
  return *answer.share;
}

SharePlace ShareCounter::PlaceOf(const AddressSpace* space, uint64_t ip) const {
  SharePlace result;
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(ip);
  if (mapping == nullptr) return result;
  if (kind_ == ShareKind::kLine) {
    const SourcePlace place = source_.At(space, ip);
    if (!place.known()) return result;
    result.file = place.frames.front().file;
    result.line = place.frames.front().line;
    return result;
  }
  result.object = settings_.recorded_path(mapping->section->name());
  if (kind_ == ShareKind::kObject) return result;
  if (const auto symbol = settings_.symbolizer->Find(*space, ip)) result.function = symbol->name;
  return result;
}

Status ListShares(const SharePlan& plan, const std::vector<StreamOwner>& owners,
                  const PrintSettings& settings, Output& output) {
  Adder adder(plan, owners, settings);
  Status status = adder.Run();
  PrintShares(plan.kind, adder.shares(), settings.json, output);
  return status;
}

}  // namespace flowback::cli
