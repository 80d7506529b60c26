// SPDX-License-Identifier: MIT
// Law 1, checked without the decoder's own sums: its losses and the packets between them.
#pragma once

#include <gtest/gtest.h>

#include "base/recorded/pt_config.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/psb.h"
#include "decode/pt/stream/errata.h"
#include "flowback/decode/decoder.h"

namespace flowback::accounts {

// The account that the losses imply. Fails the running test where they overlap, are not in order,
// or leave bytes between them that are no packets. A packet that damage made may reach into a PSB
// at which decoding goes on: its bytes up to there count, and the loss has none.
template <class Losses>
ByteAccount AccountOf(const DecodeInput& input, const Losses& losses) {
  ByteAccount account;
  const pt::Errata errata = pt::ErrataOf(PtConfigOf(input.config).cpu);
  pt::PebsState pebs;
  pt::Packet packet;
  uint64_t at = 0;
  const auto read_to = [&](uint64_t end, bool psb_goes_on = false) {
    while (at < end) {
      const pt::ReadResult size = pt::ReadPacket(input.bytes.subspan(at), pebs, packet, errata);
      if (psb_goes_on && size && *size > end - at) {
        account.decoded += end - at;
        break;
      }
      EXPECT_TRUE(size && *size <= end - at) << "no packet at " << at << ", outside of every loss";
      if (!size) break;
      (std::holds_alternative<pt::Pad>(packet) ? account.padding : account.decoded) += *size;
      at += *size;
    }
  };
  for (const DataLoss& loss : losses) {
    EXPECT_LE(loss.begin, loss.end);
    EXPECT_LE(at, loss.begin) << "losses overlap";
    const bool nothing_lost = loss.begin == loss.end;
    read_to(loss.begin, nothing_lost && pt::FindPsb(input.bytes, loss.begin) == loss.begin);
    account.lost += loss.end - loss.begin;
    at = loss.end;
    pebs = {};
  }
  read_to(input.bytes.size());
  return account;
}

// `told` is the decoder's own account.
template <class Losses>
void ExpectAccount(const DecodeInput& input, const Losses& losses, const ByteAccount& told) {
  const ByteAccount account = AccountOf(input, losses);
  EXPECT_EQ(told.decoded, account.decoded);
  EXPECT_EQ(told.padding, account.padding);
  EXPECT_EQ(told.lost, account.lost);
}

}  // namespace flowback::accounts
