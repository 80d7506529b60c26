// SPDX-License-Identifier: MIT
// The reference engine's outer loop: from one PSB to the next place where libipt can't go on.
//
// A stream is first divided at the gaps its recorder reported. In each part the packets from a PSB
// on are read once for readability, up to the first that libipt does not know: walking only over
// whole, known packets keeps damage from eating good packets before it (see walk.h). Whatever ends
// a walk early, the next one starts at the next PSB, and the bytes between are a loss.
#include "decode/pt/libipt/libipt_decoder.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "base/hex.h"
#include "decode/pt/libipt/configuration.h"
#include "decode/pt/libipt/walk.h"

namespace flowback {
namespace {

using libipt::FlowWriter;
using libipt::ImageReader;
using libipt::PacketDecoder;
using libipt::Walk;
using libipt::WalkEnd;
using libipt::Window;

constexpr uint64_t kPsbSize = 16;

// Offset of the next PSB at or after `from`; bytes.size() when there is none.
uint64_t NextPsb(Bytes bytes, uint64_t from) {
  static constexpr char kPattern[] =
      "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82";
  if (from >= bytes.size()) return bytes.size();
  const void* found = memmem(bytes.data() + from, bytes.size() - from, kPattern, kPsbSize);
  if (found == nullptr) return bytes.size();
  return static_cast<uint64_t>(static_cast<const uint8_t*>(found) - bytes.data());
}

// Packets before a PSB that say nothing of the flow: no loss when there is nothing else.
bool IsStatus(pt_packet_type type) {
  switch (type) {
    case ppt_pad:
    case ppt_tsc:
    case ppt_tma:
    case ppt_mtc:
    case ppt_cyc:
    case ppt_cbr:
    case ppt_mnt:
      return true;
    default:
      return false;
  }
}

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

// A loss whose end is found later.
struct OpenLoss {
  LossCause cause = LossCause::kNoSync;
  uint64_t begin = 0;
  uint64_t last_ip = 0;
  std::string detail;
  std::shared_ptr<const CodeSection> code = nullptr;
};

// Why the packets from a PSB on stop being readable.
struct Readable {
  uint64_t end = 0;
  pt_error_code code = pte_ok;  // pte_ok: the part's end
  std::vector<uint64_t>
      psbs;  // met on the way; another one begins inside what was read as a packet

  bool Covers(uint64_t psb) const {
    return psb < end && std::binary_search(psbs.begin(), psbs.end(), psb);
  }
};

class StreamDecoder {
 public:
  StreamDecoder(const DecodeInput& input, ExecutionConsumer& consumer)
      : input_(input), code_(input), writer_(consumer) {}

  Result<ByteAccount> Decode();

 private:
  Status DecodePart(uint64_t begin, uint64_t end, const StreamGap* gap_before);
  Result<WalkEnd> WalkFrom(uint64_t psb);
  std::optional<uint64_t> PaddingInStatus(uint64_t begin, uint64_t end) const;
  Result<Readable> ReadableFrom(uint64_t psb, uint64_t part_end) const;
  pt_error_code SyncError(uint64_t psb) const;
  OpenLoss LossOf(const WalkEnd& end, pt_error_code code) const;
  void Report(OpenLoss loss, uint64_t end);
  bool Done() const { return writer_.Done(); }

  const DecodeInput& input_;
  ImageReader code_;
  FlowWriter writer_;
  Readable readable_;
  uint64_t retired_ = 0;
  ByteAccount account_;
};

Result<ByteAccount> StreamDecoder::Decode() {
  // libipt reads as it likes, in all that is between two gaps.
  StreamWindow window(input_.bytes, input_.joined);
  window.Hold(input_.from, input_.bytes.size());
  uint64_t begin = input_.from;
  const StreamGap* before = nullptr;
  for (const StreamGap& gap : input_.gaps) {
    if (gap.offset < begin) continue;
    const uint64_t end = std::clamp<uint64_t>(gap.offset, begin, input_.bytes.size());
    if (Status status = DecodePart(begin, end, before); !status) return Fail(status.error());
    begin = end;
    before = &gap;
  }
  if (Status status = DecodePart(begin, input_.bytes.size(), before); !status)
    return Fail(status.error());
  writer_.Close();
  account_.decoded = input_.bytes.size() - input_.from - account_.padding - account_.lost;
  return account_;
}

Status StreamDecoder::DecodePart(uint64_t begin, uint64_t end, const StreamGap* gap_before) {
  const Bytes part = input_.bytes.first(end);
  const uint64_t first_psb = NextPsb(part, begin);
  OpenLoss loss{.begin = begin, .detail = "no PSB before offset " + Hex(first_psb)};
  bool must_report = false;
  if (gap_before != nullptr) {
    loss.cause = LossCause::kAuxLost;
    loss.detail = gap_before->reason;
    must_report = true;
  } else if (const std::optional<uint64_t> padding = PaddingInStatus(begin, first_psb)) {
    account_.padding += *padding;
    loss.begin = first_psb;
  }
  readable_ = {};
  uint64_t search_from = begin;
  while (!Done()) {
    const uint64_t psb = NextPsb(part, search_from);
    if (psb < end && !readable_.Covers(psb)) {
      Result<Readable> readable = ReadableFrom(psb, end);
      if (!readable) return Fail(readable.error());
      readable_ = *readable;
    }
    if (const pt_error_code error = psb < end ? SyncError(psb) : pte_ok; error != pte_ok) {
      // Bytes that make no PSB+ are no sync point; a loss that goes on keeps its cause.
      if (!must_report && psb == loss.begin) loss = LossOf({.offset = psb}, error);
      must_report = true;
      search_from = psb + 1;
      continue;
    }
    if (must_report || psb > loss.begin) Report(loss, psb);
    if (psb >= end) break;
    Result<WalkEnd> walked = WalkFrom(psb);
    if (!walked) return Fail(walked.error());
    if (walked->why == WalkEnd::Why::kEnd && readable_.code == pte_ok) break;
    loss = LossOf(*walked, walked->why == WalkEnd::Why::kEnd ? readable_.code : walked->code);
    must_report = true;
    // Damage may have swallowed the first bytes of the next PSB.
    search_from = std::max(loss.begin < kPsbSize ? 0 : loss.begin - (kPsbSize - 1), psb + 1);
  }
  return {};
}

// How many PADs there are in [begin, end), which must hold whole status packets only; else empty.
std::optional<uint64_t> StreamDecoder::PaddingInStatus(uint64_t begin, uint64_t end) const {
  const pt_config config =
      libipt::MakeConfig(input_.bytes.subspan(begin, end - begin), PtConfigOf(input_.config));
  PacketDecoder decoder(pt_pkt_alloc_decoder(&config));
  if (!decoder) return std::nullopt;
  pt_pkt_sync_set(decoder.get(), 0);
  uint64_t padding = 0;
  pt_packet packet;
  for (uint64_t at = begin; at < end;) {
    const int size = pt_pkt_next(decoder.get(), &packet, sizeof(packet));
    if (size <= 0 || !IsStatus(packet.type)) return std::nullopt;
    if (packet.type == ppt_pad) ++padding;
    at += static_cast<uint64_t>(size);
  }
  return padding;
}

Result<Readable> StreamDecoder::ReadableFrom(uint64_t psb, uint64_t part_end) const {
  const pt_config config =
      libipt::MakeConfig(input_.bytes.subspan(psb, part_end - psb), PtConfigOf(input_.config));
  PacketDecoder decoder(pt_pkt_alloc_decoder(&config));
  if (!decoder) return Fail(ErrorCode::kSystem, "libipt could not allocate a packet decoder");
  pt_pkt_sync_set(decoder.get(), 0);
  uint64_t at = psb;
  std::optional<uint64_t> open_psb;  // one whose PSBEND has not come
  Readable readable;
  pt_packet packet;
  int size = 0;
  while ((size = pt_pkt_next(decoder.get(), &packet, sizeof(packet))) > 0) {
    if (packet.type == ppt_psb) open_psb = readable.psbs.emplace_back(at);
    if (packet.type == ppt_psbend || packet.type == ppt_ovf) open_psb.reset();
    at += static_cast<uint64_t>(size);
  }
  // A PSB+ counts as one thing.
  const bool whole = !open_psb && size == -pte_eos && at == part_end;
  readable.end = open_psb.value_or(at);
  readable.code = whole ? pte_ok : pt_errcode(size);
  return readable;
}

// Why the bytes at `psb` do not begin a PSB+; pte_ok when they do.
pt_error_code StreamDecoder::SyncError(uint64_t psb) const {
  if (readable_.end <= psb) return readable_.code;
  const pt_config config =
      libipt::MakeConfig(input_.bytes.subspan(psb, readable_.end - psb), PtConfigOf(input_.config));
  const libipt::QueryDecoder decoder(pt_qry_alloc_decoder(&config));
  if (!decoder) return pte_nomem;
  uint64_t ip = 0;
  const int status = pt_qry_sync_set(decoder.get(), &ip, 0);
  uint64_t offset = 0;
  pt_qry_get_offset(decoder.get(), &offset);
  // With an error of something further on, the position is there; with one of PSB+, at the PSB.
  return status < 0 && offset == 0 ? pt_errcode(status) : pte_ok;
}

Result<WalkEnd> StreamDecoder::WalkFrom(uint64_t psb) {
  // Each cut is before the one ahead of it, so three are more than damage was ever seen to need.
  constexpr int kMaxCuts = 3;
  Window window{.bytes = input_.bytes.subspan(psb, readable_.end - psb), .offset = psb};
  const ImageReader::Place place = code_.place();
  WalkEnd first;
  uint64_t skip = 0;
  for (int cuts = 0;; ++cuts) {
    code_.Rewind(place);
    Result<Walk> walk =
        Walk::Start(window, PtConfigOf(input_.config), code_, writer_, skip, retired_);
    if (!walk) return Fail(walk.error());
    WalkEnd end = walk->Run();
    skip = std::max(skip, walk->steps());
    if (cuts == 0) first = end;
    if (cuts < kMaxCuts && walk->WantsCut(end) && end.offset > psb) {
      window.bytes = window.bytes.first(end.offset - psb);
      continue;
    }
    retired_ = walk->retired();
    account_.padding += walk->padding();
    account_.lost += walk->overflow_bytes();
    // Over a cut window the walk ends without an error of its own; the first one's is the reason.
    if (cuts != 0 && end.why == WalkEnd::Why::kEnd) {
      first.ip = end.ip;
      first.offset = end.offset;
      return first;
    }
    return end;
  }
}

OpenLoss StreamDecoder::LossOf(const WalkEnd& end, pt_error_code code) const {
  OpenLoss loss{.begin = end.offset, .last_ip = end.ip, .detail = {}};
  if (code_.space() != nullptr) loss.code = code_.space()->SectionOrReason(end.ip);
  if (end.why == WalkEnd::Why::kRunaway) {
    loss.cause = LossCause::kRunaway;
    loss.detail = "no packet leads out of the loop at " + Hex(end.ip);
    return loss;
  }
  loss.cause = CauseOf(code);
  loss.detail = std::string("libipt: ") + pt_errstr(code) + ", at address " + Hex(end.ip) +
                ", packet bytes" + BytesAt(input_.bytes, end.offset);
  const std::string* why =
      code == pte_nomap && code_.space() != nullptr ? code_.space()->WhyNothing(end.ip) : nullptr;
  if (why != nullptr) loss.detail += ": " + *why;
  return loss;
}

void StreamDecoder::Report(OpenLoss loss, uint64_t end) {
  loss.begin = std::min(loss.begin, end);
  account_.lost += end - loss.begin;
  code_.EnterStays(loss.begin);
  writer_.set_stay(code_.stay());
  writer_.Loss({.cause = loss.cause,
                .begin = loss.begin,
                .end = end,
                .tsc = 0,
                .last_ip = loss.last_ip,
                .detail = std::move(loss.detail),
                .code = std::move(loss.code)});
}

class LibiptDecoder final : public Decoder {
 public:
  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    if (input.bytes.empty()) return ByteAccount{};
    return StreamDecoder(input, consumer).Decode();
  }
};

}  // namespace

std::unique_ptr<Decoder> MakeLibiptDecoder() { return std::make_unique<LibiptDecoder>(); }

}  // namespace flowback
