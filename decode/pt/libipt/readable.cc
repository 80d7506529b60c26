// SPDX-License-Identifier: MIT
#include "decode/pt/libipt/readable.h"

#include <cstring>

#include "base/recorded/pt_config.h"
#include "decode/pt/libipt/configuration.h"
#include "decode/pt/libipt/handles.h"

namespace flowback::libipt {
namespace {

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

}  // namespace

uint64_t NextPsb(Bytes bytes, uint64_t from) {
  static constexpr char kPattern[] =
      "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82";
  if (from >= bytes.size()) return bytes.size();
  const void* found = memmem(bytes.data() + from, bytes.size() - from, kPattern, kPsbSize);
  if (found == nullptr) return bytes.size();
  return static_cast<uint64_t>(static_cast<const uint8_t*>(found) - bytes.data());
}

std::optional<uint64_t> PaddingInStatus(Bytes bytes, const PtConfig& pt) {
  const pt_config config = MakeConfig(bytes, pt);
  PacketDecoder decoder(pt_pkt_alloc_decoder(&config));
  if (!decoder) return std::nullopt;
  pt_pkt_sync_set(decoder.get(), 0);
  uint64_t padding = 0;
  pt_packet packet;
  for (uint64_t at = 0; at < bytes.size();) {
    const int size = pt_pkt_next(decoder.get(), &packet, sizeof(packet));
    if (size <= 0 || !IsStatus(packet.type)) return std::nullopt;
    if (packet.type == ppt_pad) ++padding;
    at += static_cast<uint64_t>(size);
  }
  return padding;
}

Result<Readable> ReadableFrom(Bytes part, uint64_t psb, const PtConfig& pt) {
  const pt_config config = MakeConfig(part.subspan(psb), pt);
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
  const bool whole = !open_psb && size == -pte_eos && at == part.size();
  readable.end = open_psb.value_or(at);
  readable.code = whole ? pte_ok : pt_errcode(size);
  return readable;
}

pt_error_code SyncError(Bytes stream, uint64_t psb, const Readable& readable, const PtConfig& pt) {
  if (readable.end <= psb) return readable.code;
  const pt_config config = MakeConfig(stream.subspan(psb, readable.end - psb), pt);
  const QueryDecoder decoder(pt_qry_alloc_decoder(&config));
  if (!decoder) return pte_nomem;
  uint64_t ip = 0;
  const int status = pt_qry_sync_set(decoder.get(), &ip, 0);
  uint64_t offset = 0;
  pt_qry_get_offset(decoder.get(), &offset);
  // With an error of something further on, the position is there; with one of PSB+, at the PSB.
  return status < 0 && offset == 0 ? pt_errcode(status) : pte_ok;
}

}  // namespace flowback::libipt
