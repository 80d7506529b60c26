// SPDX-License-Identifier: MIT
#include "cli/listing/merged_listing.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "cli/listing/text_pool.h"

namespace flowback::cli {
namespace {

// The place of a line in the merged listing.
struct Place {
  uint64_t tsc = 0;
  size_t owner = 0;
  auto operator<=>(const Place&) const = default;
};

// Returns the first time in the trace that a piece is decoded from; 0: unknown. No item of the
// piece is earlier. A sync point has the time, so it is soon there, if at all.
uint64_t FirstTsc(const FlowPiece& piece, const TraceSource& source) {
  return source.FirstTime(*piece.stream, {.begin = DecodeFrom(piece, source), .end = piece.end});
}

// One owner's listing, as far as it has been asked for.
struct Source {
  const StreamOwner* owner = nullptr;
  size_t piece = 0;  // that is open or comes next
  std::unique_ptr<FlowPrinter> printer;
  std::unique_ptr<TextPool::Piece> reader;  // null: the piece has not been begun
  bool is_open = false;                     // it is being printed
  bool finished = false;                    // of the last piece: the printer has said its last
  std::deque<ListingText> chunks;           // printed before the piece had to rest
  ListingText text;                         // that is being written
  size_t mark = 0;                          // the next line in it
  uint64_t tsc = 0;                         // of the next line, or a bound of it; never goes back

  bool HasLine() const { return mark < text.marks.size(); }
};

class Merge {
 public:
  Merge(const MergePlan& plan, const std::vector<StreamOwner>& owners,
        const PrintSettings& settings, Output& output);

  Status Run();

 private:
  Status Advance(Source& source);
  void WriteLines(Source& source, const Place& limit);
  void TakeText(Source& source, ListingText text);
  Status Fetch(Source& source, bool& found);
  Status MakePool();
  void Open(Source& source);
  void MakeRoom();
  void GiveWay(Source& source);
  void EndPiece(Source& source);
  void ComeToPiece(Source& source);
  void EndOwner(Source& source);
  Place PlaceOf(const Source& source) const {
    return {source.tsc, static_cast<size_t>(&source - sources_.data())};
  }

  const MergePlan& plan_;
  const PrintSettings& settings_;
  Output& output_;
  PieceContext context_;
  size_t most_open_;
  size_t open_ = 0;
  std::vector<Source> sources_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> waiting_;
  ListingText nothing_{.text = {}, .marks = {}, .keeps_marks = true};  // what beginning prints
  std::optional<TextPool> pool_;  // the last member: it works on the others
};

// How many pieces are open at a time.
size_t UsefulPieces(const std::vector<StreamOwner>& owners) {
  constexpr size_t kLeast = 64;
  constexpr size_t kMost = 1024;
  int64_t last_cpu = -1;  // a damaged recording may name any
  for (const StreamOwner& owner : owners)
    for (const FlowPiece& piece : owner.pieces)
      last_cpu = std::max<int64_t>(last_cpu, piece.stream->cpu);
  return std::clamp<size_t>(static_cast<size_t>(last_cpu + 9), kLeast, kMost);
}

// Thousands of owners may each have three chunks that wait.
size_t ChunkSize(size_t owners) {
  constexpr size_t kAll = size_t{32} << 20;
  return std::clamp<size_t>(kAll / std::max<size_t>(owners, 1), 2048, 65536);
}

Merge::Merge(const MergePlan& plan, const std::vector<StreamOwner>& owners,
             const PrintSettings& settings, Output& output)
    : plan_(plan),
      settings_(settings),
      output_(output),
      context_{.flow = plan.flow, .settings = settings, .chunk_size = ChunkSize(owners.size())},
      most_open_(plan.open != 0 ? plan.open : UsefulPieces(owners)),
      sources_(owners.size()) {
  context_.pieces_rest = owners.size() > most_open_;
  for (size_t i = 0; i < owners.size(); ++i) {
    sources_[i].owner = &owners[i];
    ComeToPiece(sources_[i]);
    waiting_.push(PlaceOf(sources_[i]));
  }
}

Status Merge::Run() {
  if (Status status = MakePool(); !status) return status;
  while (!waiting_.empty() && !output_.closed()) {
    Source& source = sources_[waiting_.top().owner];
    waiting_.pop();
    if (Status status = Advance(source); !status) return status;
    if (source.piece < source.owner->pieces.size()) waiting_.push(PlaceOf(source));
  }
  return {};
}

// Writes the source's lines up to the first that is another source's turn.
Status Merge::Advance(Source& source) {
  const Place limit = waiting_.empty() ? Place{UINT64_MAX, SIZE_MAX} : waiting_.top();
  while (source.piece < source.owner->pieces.size() && PlaceOf(source) < limit) {
    if (source.HasLine()) {
      WriteLines(source, limit);
    }
    // What follows without a time belongs here, so the next chunk is looked at now.
    bool found = true;
    while (!source.HasLine() && found && !output_.closed())
      if (Status status = Fetch(source, found); !status) return status;
    if (output_.closed()) return {};
    if (!found) EndPiece(source);
  }
  return {};
}

void Merge::WriteLines(Source& source, const Place& limit) {
  const std::vector<LineMark>& marks = source.text.marks;
  const size_t begin = marks[source.mark].offset;
  while (source.HasLine() && PlaceOf(source) < limit) {
    ++source.mark;
    if (source.HasLine()) source.tsc = std::max(source.tsc, marks[source.mark].tsc);
  }
  const size_t end = source.HasLine() ? marks[source.mark].offset : source.text.text.size();
  output_.Write(std::string_view(source.text.text).substr(begin, end - begin));
}

// Writes what belongs to the line before.
void Merge::TakeText(Source& source, ListingText text) {
  source.text = std::move(text);
  source.mark = 0;
  const size_t begin = source.HasLine() ? source.text.marks[0].offset : source.text.text.size();
  output_.Write(std::string_view(source.text.text).substr(0, begin));
  if (source.HasLine()) source.tsc = std::max(source.tsc, source.text.marks[0].tsc);
}

// The next chunk of the piece; not found: the piece has ended.
Status Merge::Fetch(Source& source, bool& found) {
  if (source.finished) {
    found = false;
    return {};
  }
  if (source.chunks.empty() && !source.is_open) Open(source);
  ListingText text;
  if (!source.chunks.empty()) {
    text = std::move(source.chunks.front());
    source.chunks.pop_front();
  } else if (!pool_->Next(*source.reader, text)) {
    found = false;
    source.is_open = false;
    --open_;
    return pool_->status(*source.reader);
  }
  TakeText(source, std::move(text));
  return {};
}

Status Merge::MakePool() {
  std::vector<PieceTools> tools;
  for (unsigned i = 0; i < std::max(plan_.threads, 1u); ++i) {
    Result<std::unique_ptr<Decoder>> decoder = plan_.flow.make_decoder();
    if (!decoder) return Fail(decoder.error());
    tools.push_back({*std::move(decoder), std::make_unique<PrintTools>(settings_)});
  }
  pool_.emplace(std::move(tools));
  return {};
}

void Merge::Open(Source& source) {
  const FlowPiece& piece = source.owner->pieces[source.piece];
  if (source.printer == nullptr) {
    source.printer = plan_.make_printer(settings_);
    source.printer->WriteTo(nothing_);
    source.printer->Begin(*source.owner);
  }
  if (source.reader == nullptr) {
    source.printer->BeginPiece(*piece.stream);
    source.reader = std::make_unique<TextPool::Piece>(context_, piece, *source.printer);
  }
  while (open_ >= most_open_) MakeRoom();
  ++open_;
  source.is_open = true;
  pool_->Begin(*source.reader);
}

// The piece that is needed last rests.
void Merge::MakeRoom() {
  Source* last = nullptr;
  for (Source& source : sources_)
    if (source.is_open && (last == nullptr || PlaceOf(*last) < PlaceOf(source))) last = &source;
  GiveWay(*last);
}

void Merge::GiveWay(Source& source) {
  source.chunks = pool_->Stop(*source.reader);
  source.is_open = false;
  --open_;
}

void Merge::EndPiece(Source& source) {
  source.reader.reset();
  const bool is_last = source.piece + 1 == source.owner->pieces.size();
  if (is_last && !source.finished) return EndOwner(source);
  ++source.piece;
  ComeToPiece(source);
}

// What the printer still has to say has its own times.
void Merge::EndOwner(Source& source) {
  source.finished = true;
  ListingText text{.text = {}, .marks = {}, .keeps_marks = true};
  source.printer->WriteTo(text);
  source.printer->End();
  source.printer.reset();
  TakeText(source, std::move(text));
}

void Merge::ComeToPiece(Source& source) {
  source.text.Clear();
  source.mark = 0;
  const std::vector<FlowPiece>& pieces = source.owner->pieces;
  if (source.piece == pieces.size() || (plan_.looks_back && source.piece != 0)) return;
  source.tsc = std::max(source.tsc, FirstTsc(pieces[source.piece], *settings_.trace.source));
}

}  // namespace

Status ListByTime(const MergePlan& plan, const std::vector<StreamOwner>& owners,
                  const PrintSettings& settings, Output& output) {
  return Merge(plan, owners, settings, output).Run();
}

}  // namespace flowback::cli
