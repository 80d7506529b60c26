// SPDX-License-Identifier: MIT
// Owners of libipt's objects.
#pragma once

#include <intel-pt.h>

#include <memory>

namespace flowback::libipt {

struct Free {
  void operator()(pt_insn_decoder* decoder) const { pt_insn_free_decoder(decoder); }
  void operator()(pt_query_decoder* decoder) const { pt_qry_free_decoder(decoder); }
  void operator()(pt_packet_decoder* decoder) const { pt_pkt_free_decoder(decoder); }
  void operator()(pt_image* image) const { pt_image_free(image); }
};

using InsnDecoder = std::unique_ptr<pt_insn_decoder, Free>;
using QueryDecoder = std::unique_ptr<pt_query_decoder, Free>;
using PacketDecoder = std::unique_ptr<pt_packet_decoder, Free>;
using Image = std::unique_ptr<pt_image, Free>;

}  // namespace flowback::libipt
