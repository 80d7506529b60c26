// SPDX-License-Identifier: MIT
#include "tests/bench/libipt_peer.h"

#include <intel-pt.h>

#include "decode/pt/libipt/configuration.h"

namespace flowback::bench {
namespace {

// Enough for every section of a large program, so that none is mapped twice.
constexpr uint64_t kCacheLimit = uint64_t{1} << 30;

struct Free {
  void operator()(pt_image* image) const { pt_image_free(image); }
  void operator()(pt_image_section_cache* cache) const { pt_iscache_free(cache); }
};

// What its two decoders have in common, under one name.
template <class DecoderType, auto alloc, auto release, auto set_image, auto sync, auto event>
struct Calls {
  using Decoder = DecoderType;
  static constexpr auto kAlloc = alloc;
  static constexpr auto kFree = release;
  static constexpr auto kSetImage = set_image;
  static constexpr auto kSync = sync;
  static constexpr auto kEvent = event;
};

struct Blocks : Calls<pt_block_decoder, pt_blk_alloc_decoder, pt_blk_free_decoder, pt_blk_set_image,
                      pt_blk_sync_forward, pt_blk_event> {
  static int Next(Decoder* decoder, uint64_t& instructions) {
    pt_block block;
    block.ninsn = 0;
    const int status = pt_blk_next(decoder, &block, sizeof(block));
    instructions += block.ninsn;
    return status;
  }
};

struct Instructions : Calls<pt_insn_decoder, pt_insn_alloc_decoder, pt_insn_free_decoder,
                            pt_insn_set_image, pt_insn_sync_forward, pt_insn_event> {
  static int Next(Decoder* decoder, uint64_t& instructions) {
    pt_insn instruction;
    instruction.iclass = ptic_error;
    const int status = pt_insn_next(decoder, &instruction, sizeof(instruction));
    instructions += instruction.iclass != ptic_error;
    return status;
  }
};

template <class With>
uint64_t CountWith(const pt_config& config, pt_image* image) {
  const auto free = [](typename With::Decoder* decoder) { With::kFree(decoder); };
  const std::unique_ptr<typename With::Decoder, decltype(free)> decoder(With::kAlloc(&config));
  if (!decoder) return 0;
  With::kSetImage(decoder.get(), image);
  uint64_t instructions = 0;
  int status = With::kSync(decoder.get());
  while (status >= 0) {
    if ((status & pts_event_pending) != 0) {
      pt_event event;
      status = With::kEvent(decoder.get(), &event, sizeof(event));
      continue;
    }
    if ((status & pts_eos) != 0) break;
    status = With::Next(decoder.get(), instructions);
  }
  return instructions;
}

Error LibiptError(const std::string& what, int status) {
  return {ErrorCode::kSystem, "libipt: " + what + ": " + pt_errstr(pt_errcode(status))};
}

}  // namespace

struct LibiptPeer::State {
  pt_config config;
  std::unique_ptr<pt_image_section_cache, Free> cache;
  std::unique_ptr<pt_image, Free> image;

  Status Add(const CodeMapping& mapping) {
    const uint64_t offset = mapping.section->file_offset() + mapping.section_offset;
    const int section = pt_iscache_add_file(cache.get(), mapping.section->name().c_str(), offset,
                                            mapping.size, mapping.address);
    if (section < 0) return Fail(LibiptError("can't cache " + mapping.section->name(), section));
    const int status = pt_image_add_cached(image.get(), cache.get(), section, nullptr);
    if (status < 0) return Fail(LibiptError("can't map " + mapping.section->name(), status));
    return {};
  }
};

LibiptPeer::LibiptPeer(std::unique_ptr<State> state) : state_(std::move(state)) {}
LibiptPeer::LibiptPeer(LibiptPeer&&) noexcept = default;
LibiptPeer::~LibiptPeer() = default;

Result<LibiptPeer> LibiptPeer::Create(const Workload& workload) {
  auto state = std::make_unique<State>();
  state->config = libipt::MakeConfig(workload.bytes, workload.config);
  state->cache.reset(pt_iscache_alloc(nullptr));
  state->image.reset(pt_image_alloc(nullptr));
  if (!state->cache || !state->image) return Fail(LibiptError("allocating", -pte_nomem));
  if (const int status = pt_iscache_set_limit(state->cache.get(), kCacheLimit); status < 0)
    return Fail(LibiptError("setting the cache limit", status));
  for (const CodeMapping& mapping : workload.AllCode().mappings())
    if (Status added = state->Add(mapping); !added) return Fail(added.error());
  return LibiptPeer(std::move(state));
}

uint64_t LibiptPeer::Decode(LibiptDecoder with) {
  return with == LibiptDecoder::kBlocks
             ? CountWith<Blocks>(state_->config, state_->image.get())
             : CountWith<Instructions>(state_->config, state_->image.get());
}

}  // namespace flowback::bench
