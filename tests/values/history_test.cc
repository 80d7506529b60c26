// SPDX-License-Identifier: MIT
// What the value engine proves of short pieces of code, and what it must not prove.
#include <gtest/gtest.h>

#include <map>
#include <string_view>
#include <vector>

#include "decode/instruction/effects.h"
#include "replay/values/value_history.h"

namespace flowback::values {
namespace {

constexpr uint64_t kCode = 0x401000;
constexpr uint8_t kRax = 0, kRcx = 1, kRdx = 2, kRbx = 3, kRsp = 4, kRsi = 6;

// Instructions in hexadecimal, each behind the other.
ExecutedPath Code(std::initializer_list<std::string_view> instructions) {
  ExecutedPath path;
  uint64_t address = kCode;
  for (const std::string_view text : instructions) {
    PathInstruction one{.address = address};
    for (size_t i = 0; i + 1 < text.size(); i += 2)
      one.bytes[one.length++] =
          static_cast<uint8_t>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16));
    address += one.length;
    one.next = address;
    path.instructions.push_back(one);
  }
  path.end_address = address;
  return path;
}

using Memory = std::map<uint64_t, uint8_t>;

Memory Word(uint64_t address, uint64_t value) {
  Memory memory;
  for (unsigned i = 0; i < 8; ++i) memory[address + i] = static_cast<uint8_t>(value >> 8 * i);
  return memory;
}

ValueHistory History(ExecutedPath path, std::vector<std::pair<uint8_t, uint64_t>> registers,
                     Memory memory = {}) {
  const size_t end = path.instructions.size();
  KnownState state{.point = end, .registers = std::move(registers)};
  state.memory = [memory](uint64_t address) {
    const auto byte = memory.find(address);
    return byte == memory.end() ? std::nullopt : std::optional(byte->second);
  };
  return ValueHistory::Of(std::move(path), {.states = {state}, .is_private = {}, .constant = {}});
}

// mov rax, [rsp]; mov rcx, rax
TEST(ValueHistory, ALoadsAddressAndResultProveMemory) {
  const auto history = History(Code({"488b0424", "4889c1"}), {{kRsp, 0x7000}, {kRcx, 77}});
  EXPECT_EQ(history.Register(1, kRax), 77U);
  EXPECT_EQ(history.Byte(0, 0x7000), 77);
  EXPECT_EQ(history.Byte(2, 0x7001), 0);
  EXPECT_FALSE(history.Register(0, kRax));
  EXPECT_EQ(history.ProofOf(1, kRax).kind, ProofKind::kBackward);
  EXPECT_EQ(history.ProofOf(0, kRsp).kind, ProofKind::kState);
}

// push rbx; pop rdx; xor ebx, ebx
TEST(ValueHistory, WhatWasPushedIsTheRegister) {
  const auto history = History(Code({"53", "5a", "31db"}), {{kRsp, 0x7000}, {kRdx, 5}});
  EXPECT_EQ(history.Register(0, kRbx), 5U);
  EXPECT_EQ(history.Register(1, kRsp), 0x6ff8U);
  EXPECT_EQ(history.Register(3, kRbx), 0U);
}

// mov [rsp], rcx; mov [rbx], rdx; mov rbx, rsi; mov rax, [rsp]
TEST(ValueHistory, AStoreToAnUnknownAddressEndsWhatIsKnownOfMemory) {
  const ExecutedPath path = Code({"48890c24", "488913", "4889f3", "488b0424"});
  const auto history = History(path, {{kRsp, 0x7000}, {kRax, 9}});
  EXPECT_EQ(history.Byte(2, 0x7000), 9);
  EXPECT_FALSE(history.Byte(1, 0x7000));
  EXPECT_FALSE(history.Register(0, kRcx));
}

// mov [rsp], rcx; mov [rsp+8], rdx; mov rax, [rsp]
TEST(ValueHistory, AStoreToAKnownAddressEndsTheseBytesOnly) {
  const ExecutedPath path = Code({"48890c24", "4889542408", "488b0424"});
  const auto history = History(path, {{kRsp, 0x7000}, {kRax, 9}});
  EXPECT_EQ(history.Register(0, kRcx), 9U);
  EXPECT_FALSE(history.Byte(0, 0x7000));
}

// mov rax, 1; syscall (write); mov [rsp], rcx, with nothing else that changes memory
TEST(ValueHistory, ASystemCallMayWriteUnlessItIsKnownNotTo) {
  const Memory memory = Word(0x7000, 1234);
  const auto write = History(Code({"b801000000", "0f05"}), {{kRsp, 0x7000}, {kRbx, 3}}, memory);
  EXPECT_EQ(write.Byte(0, 0x7000), 1234 & 0xff);
  EXPECT_EQ(write.Register(0, kRbx), 3U);
  const auto read = History(Code({"31c0", "0f05"}), {{kRsp, 0x7000}, {kRcx, 3}}, memory);
  EXPECT_FALSE(read.Byte(0, 0x7000));
  EXPECT_EQ(read.Byte(2, 0x7000), 1234 & 0xff);
  EXPECT_EQ(read.Register(0, kRsp), 0x7000U);
  EXPECT_FALSE(read.Register(1, kRcx));
}

// nop, another thread's stores or a signal's handler, nop
TEST(ValueHistory, WhatHappenedBetweenEndsWhatIsKnown) {
  ExecutedPath path = Code({"90", "90"});
  path.instructions[1].before = Between::kMemoryMayChange;
  auto history = History(path, {{kRax, 1}}, Word(0x7000, 2));
  EXPECT_EQ(history.Byte(1, 0x7000), 2);
  EXPECT_FALSE(history.Byte(0, 0x7000));
  EXPECT_EQ(history.Register(0, kRax), 1U);
  path.instructions[1].before = Between::kAllMayChange;
  history = History(path, {{kRax, 1}}, Word(0x7000, 2));
  EXPECT_EQ(history.Register(1, kRax), 1U);
  EXPECT_FALSE(history.Register(0, kRax));
  EXPECT_FALSE(history.Byte(0, 0x7000));
}

// Control that does not come from the instruction before came by a signal.
TEST(ValueHistory, AHoleInTheFlowEndsWhatIsKnown) {
  ExecutedPath path = Code({"90", "90"});
  path.instructions[0].next = 0x500000;
  const auto history = History(path, {{kRax, 1}});
  EXPECT_FALSE(history.Register(0, kRax));
  EXPECT_EQ(history.Register(1, kRax), 1U);
  EXPECT_EQ(history.WhyRegister(2, kRax).end, ChainEnd::kGap);
  EXPECT_EQ(History(Code({"0f05"}), {}).WhyRegister(1, kRax).end, ChainEnd::kUnknown);
}

// cmp rax, 7; je +0x10: taken
TEST(ValueHistory, AJumpThatWasTakenProvesWhatWasCompared) {
  ExecutedPath path = Code({"4883f807", "7410"});
  path.instructions[1].next = path.end_address = kCode + 0x16;
  EXPECT_EQ(History(path, {}).Register(0, kRax), 7U);
  path.instructions[1].next = path.end_address = kCode + 6;
  EXPECT_FALSE(History(path, {}).Register(0, kRax));
}

// call rax: the flow tells where to.
TEST(ValueHistory, AnIndirectCallProvesItsTarget) {
  ExecutedPath path = Code({"ffd0"});
  path.instructions[0].next = path.end_address = 0x402000;
  const auto history = History(path, {{kRsp, 0x7000}});
  EXPECT_EQ(history.Register(0, kRax), 0x402000U);
  EXPECT_EQ(history.Register(0, kRsp), 0x7008U);
  EXPECT_EQ(history.Byte(1, 0x7000), 0x02);
}

// rep stosb writes where no step says; RDTSC's result is known of no one.
TEST(ValueHistory, RepeatedStoresEndAllMemory) {
  const auto history = History(Code({"f3aa"}), {{kRsp, 0x7000}}, Word(0x7000, 1));
  EXPECT_FALSE(history.Byte(0, 0x7000));
}

// mov eax, 5 where the state says 6
TEST(ValueHistory, AContradictionProvesNothing) {
  const auto history = History(Code({"90", "b805000000"}), {{kRax, 6}, {kRbx, 1}});
  EXPECT_EQ(history.contradiction(), 1U);
  EXPECT_FALSE(history.Register(0, kRbx));
}

// A register's byte is written: the others are as before.
TEST(ValueHistory, PartsOfRegistersAreKnownByThemselves) {
  const auto history = History(Code({"b405"}), {{kRax, 0x11220544}});  // mov ah, 5
  EXPECT_EQ(history.Bits(0, kRax).known, ~uint64_t{0xff00});
  EXPECT_EQ(history.Bits(0, kRax).value, 0x11220044U);
}

// Other instruction sets are not followed yet: nothing is known before their instructions.
TEST(ValueHistory, OtherInstructionSetsLeaveNothing) {
  ExecutedPath path = Code({"90"});
  path.instructions[0].mode = CodeMode::kX86_32;
  EXPECT_FALSE(History(path, {{kRax, 1}}).Register(0, kRax));
}

// mov rsi, 0x2a; mov [rsp], rsi; xor esi, esi; mov rax, [rsp]; lea rcx, [rax+1]
TEST(ValueHistory, AChainLeadsBackToTheConstant) {
  const auto history = History(Code({"48c7c62a000000", "48893424", "31f6", "488b0424", "488d4801"}),
                               {{kRsp, 0x7000}});
  const ValueChain chain = history.WhyRegister(5, kRcx);
  using Kind = ChainLink::Kind;
  std::vector<std::pair<size_t, Kind>> links;
  for (const ChainLink& link : chain.links) links.emplace_back(link.instruction, link.kind);
  EXPECT_EQ(
      links,
      (std::vector<std::pair<size_t, Kind>>{
          {4, Kind::kComputed}, {3, Kind::kLoaded}, {1, Kind::kStored}, {0, Kind::kConstant}}));
  EXPECT_EQ(chain.links[0].value, 43U);
  EXPECT_EQ(chain.links[1].address, 0x7000U);
  EXPECT_EQ(chain.end, ChainEnd::kConstant);
  EXPECT_EQ(history.WhyMemory(5, 0x7000).links.size(), 2U);
  EXPECT_EQ(history.WhyRegister(3, kRsi).end, ChainEnd::kConstant);
  EXPECT_EQ(history.WhyRegister(5, kRbx).end, ChainEnd::kBeginning);
}

// mov al, 5, of which the rest of the register is older; movzx ecx, al
TEST(ValueHistory, AChainEndsWhereTwoValuesAreMerged) {
  const auto history = History(Code({"b005", "0fb6c8"}), {});
  EXPECT_EQ(history.WhyRegister(2, kRax).end, ChainEnd::kSeveral);
  EXPECT_EQ(history.WhyRegister(2, kRcx).end, ChainEnd::kConstant);
  // xor al, ah
  EXPECT_EQ(History(Code({"30e0"}), {}).WhyRegister(1, kRax).end, ChainEnd::kSeveral);
  // mov [rsp], cl; mov [rsp+1], dl; movzx eax, word [rsp]
  const auto two = History(Code({"880c24", "88542401", "0fb70424"}), {{kRsp, 0x7000}});
  EXPECT_EQ(two.WhyRegister(3, kRax).end, ChainEnd::kSeveral);
}

// lock cmpxchg [rsp], rcx: whether it stored is not known. vmaskmovps [rsp], ymm0, ymm1: neither.
TEST(ValueHistory, AStoreThatMayNotHaveBeenIsNoLink) {
  for (const char* code : {"f0480fb10c24", "c4e27d2e0c24"}) {
    const ValueChain chain = History(Code({code}), {{kRsp, 0x7000}}).WhyMemory(1, 0x7000);
    EXPECT_EQ(chain.end, ChainEnd::kMemory) << code;
    EXPECT_TRUE(chain.links.empty()) << code;
  }
}

// A string instruction at the end, such as rep movsb, has come as far as the registers tell.
TEST(ValueHistory, AStringInstructionAtTheEndMayBeHalfDone) {
  for (const auto& [code, halves] : std::map<std::vector<uint8_t>, bool>{{{0xf3, 0xa4}, true},
                                                                         {{0xf2, 0x48, 0xaf}, true},
                                                                         {{0xa4}, false},
                                                                         {{0xf3, 0x90}, false}}) {
    ExecutedPath path = Code({"90"});
    path.end_code = code;
    const auto history = History(path, {{kRcx, 1}, {kRsi, 2}, {kRbx, 3}}, Word(0x7000, 2));
    EXPECT_EQ(history.Register(1, kRcx), 1U);
    EXPECT_EQ(history.Register(0, kRcx).has_value(), !halves);
    EXPECT_EQ(history.Register(0, kRsi).has_value(), !halves);
    EXPECT_EQ(history.Byte(0, 0x7000).has_value(), !halves);
    EXPECT_EQ(history.Register(0, kRbx), 3U);
  }
}

// lfs eax, [rsp]; the two have a base each.
TEST(ValueHistory, LoadsOfFarPointersChangeBases) {
  EXPECT_FALSE(History(Code({"0fb40424"}), {{step_register::kFsBase, 1}})
                   .Register(0, step_register::kFsBase));
  EXPECT_FALSE(History(Code({"0fb50424"}), {{step_register::kGsBase, 1}})
                   .Register(0, step_register::kGsBase));
}

// lock xadd [rax], rax
TEST(ValueHistory, AnExchangeAddStoresAtTheAddressBefore) {
  const auto history = History(Code({"48c7c000700000", "f0480fc100"}), {{kRax, 0x10}});
  EXPECT_FALSE(history.contradiction());
  EXPECT_EQ(history.Byte(2, 0x7000), 0x10);
  EXPECT_EQ(history.Byte(2, 0x7001), 0x70);
  EXPECT_FALSE(history.Byte(2, 0x10));
}

// mov eax, 1; syscall (write), in which a handler that is not recorded may have run
TEST(ValueHistory, ACallThatHidesHandlersMayWrite) {
  KnownState state{.point = 2};
  state.memory = [](uint64_t) { return std::optional<uint8_t>(7); };
  const ExecutedPath path = Code({"b801000000", "0f05"});
  const Surroundings shown{.states = {state}, .is_private = {}, .constant = {}};
  Surroundings hidden = shown;
  hidden.calls_hide_handlers = true;
  EXPECT_EQ(ValueHistory::Of(path, shown).Byte(0, 0x7000), 7);
  EXPECT_FALSE(ValueHistory::Of(path, hidden).Byte(0, 0x7000));
}

}  // namespace
}  // namespace flowback::values
