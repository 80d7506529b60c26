// SPDX-License-Identifier: MIT
#include "decode/pt/libipt/stream_decoder.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/hex.h"
#include "decode/pt/engine/loop_loss.h"

namespace flowback::libipt {
namespace {

LossCause CauseOf(pt_error_code code) {
  switch (code) {
    case pte_bad_opc:
    case pte_bad_packet:
      return LossCause::kBadPacket;
    case pte_nomap:
      return LossCause::kNoImage;
    case pte_bad_insn:
      return LossCause::kBadInstruction;
    case pte_retstack_empty:
    case pte_bad_retcomp:
      return LossCause::kReturnMismatch;
    case pte_eos:
      return LossCause::kTruncated;
    default:
      return LossCause::kFlowMismatch;
  }
}

// Up to eight bytes at `offset`, as text.
std::string BytesAt(Bytes bytes, uint64_t offset) {
  std::string text;
  for (const uint8_t byte : Slice(bytes, offset, 8)) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), " %02x", byte);
    text += digits;
  }
  return text.empty() ? " none" : text;
}

}  // namespace

StreamDecoder::StreamDecoder(const DecodeInput& input)
    : input_(input), window_(input.bytes, input.joined), now_(input, nobody_) {
  // libipt reads as it likes, in all that is between two gaps.
  window_.Hold(input.from, input.bytes.size());
  now_.part_begin = now_.offset = input.from;
  if (input.bytes.empty()) now_.phase = Phase::kEnd;
}

Status StreamDecoder::RunTo(uint64_t offset, ExecutionConsumer& consumer) {
  if (now_.stopped) return {};
  now_.writer.Use(consumer);
  while (!at_end() && !now_.writer.Done() && now_.offset <= offset)
    if (Status status = Step(offset); !status) return status;
  now_.stopped = !at_end() && now_.writer.Done();
  return {};
}

ByteAccount StreamDecoder::account() const {
  ByteAccount account = now_.account;
  account.decoded = input_.bytes.size() - std::min<uint64_t>(input_.from, input_.bytes.size()) -
                    account.padding - account.lost;
  return account;
}

Status StreamDecoder::Step(uint64_t offset) {
  switch (now_.phase) {
    case Phase::kPart:
      BeginPart();
      break;
    case Phase::kSearch:
      return Search();
    case Phase::kWalk:
      return GoOnWalking({.offset = offset});
    case Phase::kEnd:
      break;
  }
  return {};
}

// The part from where the one before it ended up to the next gap.
void StreamDecoder::BeginPart() {
  const std::vector<StreamGap>& gaps = input_.gaps;
  const uint64_t begin = now_.part_begin;
  const StreamGap* before = now_.behind_gap ? &gaps[now_.next_gap - 1] : nullptr;
  while (now_.next_gap < gaps.size() && gaps[now_.next_gap].offset < begin) ++now_.next_gap;
  now_.part_end = now_.next_gap < gaps.size()
                      ? std::clamp<uint64_t>(gaps[now_.next_gap].offset, begin, input_.bytes.size())
                      : input_.bytes.size();
  const uint64_t first_psb = NextPsb(part(), begin);
  now_.loss = {.begin = begin, .detail = "no PSB before offset " + Hex(first_psb)};
  now_.must_report = before != nullptr;
  if (before != nullptr) {
    now_.loss.cause = LossCause::kAuxLost;
    now_.loss.detail = before->reason;
  } else if (const auto padding = PaddingInStatus(input_.bytes.subspan(begin, first_psb - begin),
                                                  PtConfigOf(input_.config))) {
    now_.account.padding += *padding;
    now_.loss.begin = first_psb;
  }
  now_.readable = std::make_shared<Readable>();
  now_.search_from = begin;
  now_.phase = Phase::kSearch;
}

void StreamDecoder::EndPart() {
  now_.phase = Phase::kPart;
  now_.part_begin = now_.part_end;
  if (now_.next_gap < input_.gaps.size()) {
    ++now_.next_gap;
    now_.behind_gap = true;
    return;
  }
  now_.writer.Close();
  now_.offset = input_.bytes.size();
  now_.phase = Phase::kEnd;
}

// To the next PSB, and over it where it begins no PSB+.
Status StreamDecoder::Search() {
  const uint64_t end = now_.part_end;
  const uint64_t psb = NextPsb(part(), now_.search_from);
  if (psb < end && !now_.readable->Covers(psb)) {
    Result<Readable> readable = ReadableFrom(part(), psb, PtConfigOf(input_.config));
    if (!readable) return Fail(readable.error());
    now_.readable = std::make_shared<Readable>(std::move(*readable));
  }
  const pt_error_code error =
      psb < end ? SyncError(input_.bytes, psb, *now_.readable, PtConfigOf(input_.config)) : pte_ok;
  if (error != pte_ok) {
    // Bytes that make no PSB+ are no sync point; a loss that goes on keeps its cause.
    if (!now_.must_report && psb == now_.loss.begin) now_.loss = LossOf({.offset = psb}, error);
    now_.must_report = true;
    now_.search_from = psb + 1;
    return {};
  }
  if (now_.must_report || psb > now_.loss.begin) Report(now_.loss, psb);
  now_.offset = std::max(now_.offset, psb);
  if (psb < end) return BeginWalk(psb);
  EndPart();
  return {};
}

Status StreamDecoder::BeginWalk(uint64_t psb) {
  now_.phase = Phase::kWalk;
  now_.psb = psb;
  started_ = std::make_shared<const Progress>(now_);
  return BeginAttempts();
}

Status StreamDecoder::BeginAttempts() {
  const Bytes bytes = input_.bytes.subspan(now_.psb, now_.readable->end - now_.psb);
  attempt_ = {.range = {.bytes = bytes, .offset = now_.psb}, .first = {}};
  return BeginAttempt();
}

Status StreamDecoder::BeginAttempt() {
  now_.code.Rewind(started_->code.place());
  Result<Walk> walk = Walk::Start(attempt_.range, PtConfigOf(input_.config), now_.code, now_.writer,
                                  attempt_.skip, now_.retired);
  if (!walk) return Fail(walk.error());
  walk_.emplace(std::move(*walk));
  return {};
}

Status StreamDecoder::GoOnWalking(const Walk::Limit& limit) {
  const WalkEnd end = walk_->Run(limit);
  now_.offset = std::max(now_.offset, end.offset);
  if (end.why == WalkEnd::Why::kPaused) return {};
  return EndAttempt(end);
}

Status StreamDecoder::EndAttempt(WalkEnd end) {
  // Each cut is before the one ahead of it, so three are more than damage was ever seen to need.
  constexpr int kMaxCuts = 3;
  attempt_.skip = std::max(attempt_.skip, walk_->steps());
  if (attempt_.cuts == 0) attempt_.first = end;
  WalkRange& range = attempt_.range;
  if (attempt_.cuts < kMaxCuts && walk_->WantsCut(end) && end.offset > now_.psb) {
    range.bytes = range.bytes.first(end.offset - range.offset);
    ++attempt_.cuts;
    return BeginAttempt();
  }
  now_.retired = walk_->retired();
  now_.account.padding += walk_->padding();
  now_.account.lost += walk_->overflow_bytes();
  // Over a cut range the walk ends without an error of its own; the first one's is the reason.
  if (attempt_.cuts != 0 && end.why == WalkEnd::Why::kEnd) {
    attempt_.first.ip = end.ip;
    attempt_.first.offset = end.offset;
    end = attempt_.first;
  }
  EndWalk(end);
  return {};
}

void StreamDecoder::EndWalk(const WalkEnd& end) {
  const bool is_all = end.why == WalkEnd::Why::kEnd;
  const bool is_last =
      is_all && now_.readable->code == pte_ok && now_.part_end == input_.bytes.size();
  const std::optional<uint64_t> endless = is_last ? walk_->EndlessEnd() : std::nullopt;
  walk_.reset();
  started_.reset();
  if (endless) TellEndlessEnd(*endless);
  if (is_all && now_.readable->code == pte_ok) return EndPart();
  now_.loss = LossOf(end, is_all ? now_.readable->code : end.code);
  now_.must_report = true;
  // Damage may have swallowed the first bytes of the next PSB.
  const uint64_t begin = now_.loss.begin;
  now_.search_from = std::max(begin < kPsbSize ? 0 : begin - (kPsbSize - 1), now_.psb + 1);
  now_.phase = Phase::kSearch;
}

StreamDecoder::OpenLoss StreamDecoder::LossOf(const WalkEnd& end, pt_error_code code) const {
  OpenLoss loss{.begin = end.offset, .last_ip = end.ip, .detail = {}};
  const AddressSpace* space = now_.code.space();
  if (space != nullptr) loss.code = space->SectionOrReason(end.ip);
  if (end.why == WalkEnd::Why::kRunaway) {
    loss.cause = LossCause::kRunaway;
    loss.detail = "no packet leads out of the loop at " + Hex(end.ip);
    return loss;
  }
  loss.cause = CauseOf(code);
  loss.detail = std::string("libipt: ") + pt_errstr(code) + ", at address " + Hex(end.ip) +
                ", packet bytes" + BytesAt(input_.bytes, end.offset);
  const std::string* why =
      code == pte_nomap && space != nullptr ? space->WhyNothing(end.ip) : nullptr;
  if (why != nullptr) loss.detail += ": " + *why;
  return loss;
}

void StreamDecoder::TellEndlessEnd(uint64_t ip) {
  DataLoss loss = pt::EndlessEndLoss(ip);
  loss.begin = loss.end = now_.part_end;
  loss.last_ip = ip;
  loss.code = now_.code.space()->SectionOrReason(ip);
  now_.writer.Loss(std::move(loss));
}

void StreamDecoder::Report(OpenLoss loss, uint64_t end) {
  loss.begin = std::min(loss.begin, end);
  now_.account.lost += end - loss.begin;
  now_.code.EnterStays(loss.begin);
  now_.writer.set_stay(now_.code.stay());
  now_.writer.Loss({.cause = loss.cause,
                    .begin = loss.begin,
                    .end = end,
                    .tsc = 0,
                    .last_ip = loss.last_ip,
                    .detail = std::move(loss.detail),
                    .code = std::move(loss.code)});
}

std::shared_ptr<const StreamDecoder::Place> StreamDecoder::Save() const {
  auto place = std::make_shared<Place>();
  place->walks = walk_.has_value();
  place->offset = now_.offset;
  if (!walk_) {
    place->progress = std::make_shared<const Progress>(now_);
    return place;
  }
  place->progress = started_;
  place->cuts = attempt_.cuts;
  place->rounds = walk_->rounds();
  return place;
}

Status StreamDecoder::Return(const Place& place) {
  if (!IsAhead(place))
    if (Status status = GoBack(place); !status) return status;
  now_.writer.Use(nobody_);
  while (place.walks && attempt_.cuts < place.cuts)
    if (Status status = GoOnWalking({}); !status) return status;
  if (place.walks) (void)walk_->Run({.rounds = place.rounds});
  now_.offset = place.offset;
  return {};
}

// In the walk at hand, and not behind where it stands.
bool StreamDecoder::IsAhead(const Place& place) const {
  if (!walk_ || !place.walks || place.progress != started_) return false;
  return std::pair(attempt_.cuts, walk_->rounds()) <= std::pair(place.cuts, place.rounds);
}

Status StreamDecoder::GoBack(const Place& place) {
  walk_.reset();
  started_.reset();
  now_ = *place.progress;
  now_.code.Use(input_);
  if (!place.walks) return {};
  started_ = place.progress;
  now_.writer.Use(nobody_);
  return BeginAttempts();
}

}  // namespace flowback::libipt
