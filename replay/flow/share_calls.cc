// SPDX-License-Identifier: MIT
#include "replay/flow/share_calls.h"

#include <array>
#include <span>

namespace flowback {
namespace {

constexpr uint64_t kIsUsual = 1;
constexpr uint64_t kReplaced = 2;

// Each address by how far it lies from the one before.
void WriteAddresses(NumberWriter& out, std::span<const uint64_t> addresses, uint64_t& before) {
  out.Number(addresses.size());
  for (const uint64_t address : addresses) {
    out.Distance(before, address);
    before = address;
  }
}

std::vector<uint64_t> ReadAddresses(NumberReader& in, uint64_t& before) {
  std::vector<uint64_t> addresses;
  for (size_t left = in.Count(); left != 0 && in.ok(); --left)
    addresses.push_back(before = in.Distance(before));
  return addresses;
}

}  // namespace

void WriteCalls(NumberWriter& out, const std::vector<ShareCalls>* calls) {
  out.Number(calls == nullptr ? 0 : calls->size());
  if (calls == nullptr) return;
  uint64_t before = 0;
  for (const ShareCalls& share : *calls) {
    out.Number((share.change.usual ? kIsUsual : 0) | (share.change.replaced ? kReplaced : 0));
    if (!share.change.usual) continue;
    WriteAddresses(out, std::array{share.first, share.next}, before);
    WriteAddresses(out, share.change.returned, before);
    WriteAddresses(out, share.change.called.all(), before);
    out.Number(share.change.deepest);
  }
}

std::vector<ShareCalls> ReadCalls(NumberReader& in) {
  std::vector<ShareCalls> calls;
  uint64_t before = 0;
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    ShareCalls& share = calls.emplace_back();
    const uint64_t flags = in.Number();
    share.change.usual = (flags & kIsUsual) != 0;
    share.change.replaced = (flags & kReplaced) != 0;
    if (!share.change.usual) continue;
    const std::vector<uint64_t> ends = ReadAddresses(in, before);
    if (ends.size() != 2) in.Fail();
    if (!in.ok()) break;
    share.first = ends[0];
    share.next = ends[1];
    share.change.returned = ReadAddresses(in, before);
    share.change.called = AddressStack(ReadAddresses(in, before));
    share.change.deepest = in.Number();
  }
  return calls;
}

}  // namespace flowback
