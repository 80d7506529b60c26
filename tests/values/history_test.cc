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

// mov eax, 14 (rt_sigprocmask); syscall: the old mask of R10 bytes goes to RDX.
TEST(ValueHistory, ASystemCallWritesToTheBuffersOfItsArguments) {
  constexpr uint8_t kR10 = 10;
  Memory memory = Word(0x7000, 1);
  memory.merge(Word(0x7100, 2));
  memory.merge(Word(0x7108, 3));
  const ExecutedPath path = Code({"b80e000000", "0f05"});
  const auto known = History(path, {{kRdx, 0x7100}, {kR10, 8}}, memory);
  EXPECT_EQ(known.Byte(0, 0x7000), 1);
  EXPECT_FALSE(known.Byte(0, 0x7100));
  EXPECT_FALSE(known.Byte(0, 0x7107));
  EXPECT_EQ(known.Byte(0, 0x7108), 3);
  EXPECT_EQ(known.Byte(2, 0x7100), 2);
  EXPECT_FALSE(History(path, {{kRdx, 0x7100}}, memory).Byte(0, 0x7000)) << "how much?";
  EXPECT_FALSE(History(path, {{kR10, 8}}, memory).Byte(0, 0x7000)) << "where?";
  EXPECT_EQ(History(path, {{kRdx, 0}, {kR10, 8}}, memory).Byte(0, 0x7100), 2) << "nowhere";
}

// mov [rsp], rcx; xor eax, eax (read); syscall; mov rax, [rsp]
TEST(ValueHistory, AStoredValueOutlivesACallThatWritesElsewhere) {
  const ExecutedPath path = Code({"48890c24", "31c0", "0f05", "488b0424"});
  const auto read = [&](uint64_t buffer) {
    return History(path, {{kRsp, 0x7000}, {kRsi, buffer}, {kRdx, 16}, {kRax, 9}}).Register(0, kRcx);
  };
  EXPECT_EQ(read(0x7008), 9U);
  EXPECT_EQ(read(0x6ff0), 9U);
  EXPECT_FALSE(read(0x7007));
  EXPECT_FALSE(read(0x6ff1));
}

// mov eax, 9 (mmap); syscall; mov rbx, rax: the new memory is where the call says.
TEST(ValueHistory, MemoryThatIsMappedIsNotKnownBefore) {
  Memory memory = Word(0x7000, 1);
  memory.merge(Word(0x100000, 2));
  const ExecutedPath path = Code({"b809000000", "0f05", "4889c3"});
  const auto history = History(path, {{kRbx, 0x100000}, {kRsi, 100}}, memory);
  EXPECT_EQ(history.Byte(0, 0x7000), 1);
  EXPECT_FALSE(history.Byte(0, 0x100000));
  EXPECT_EQ(history.Byte(3, 0x100000), 2);
}

// mov eax, 202 (futex); syscall: waiting changes nothing, locking the first word alone.
TEST(ValueHistory, WhatACallDoesMayDependOnItsOtherArguments) {
  constexpr uint8_t kRdi = 7;
  Memory memory = Word(0x7000, 1);
  memory.merge(Word(0x7100, 2));
  const auto futex = [&](uint64_t operation, uint64_t address) {
    return History(Code({"b8ca000000", "0f05"}), {{kRdi, 0x7000}, {kRsi, operation}}, memory)
        .Byte(0, address);
  };
  EXPECT_EQ(futex(128, 0x7000), 1);
  EXPECT_FALSE(futex(134, 0x7000));
  EXPECT_EQ(futex(134, 0x7100), 2);
  EXPECT_FALSE(futex(999, 0x7100)) << "no operation that is known";
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

// call rax: the flow has the target.
TEST(ValueHistory, AnIndirectCallProvesItsTarget) {
  ExecutedPath path = Code({"ffd0"});
  path.instructions[0].next = path.end_address = 0x402000;
  const auto history = History(path, {{kRsp, 0x7000}});
  EXPECT_EQ(history.Register(0, kRax), 0x402000U);
  EXPECT_EQ(history.Register(0, kRsp), 0x7008U);
  EXPECT_EQ(history.Byte(1, 0x7000), 0x02);
}

// mov edi, 0x7100; mov ecx, 4; rep stosb. In which direction is not known.
TEST(ValueHistory, RepeatedStoresEndTheMemoryThatTheyMayReach) {
  Memory memory;
  for (uint64_t address = 0x70f0; address < 0x7110; ++address) memory[address] = 5;
  const auto unknown = History(Code({"f3aa"}), {}, memory);
  EXPECT_FALSE(unknown.Byte(0, 0x70f0));
  const auto known = History(Code({"bf00710000", "b904000000", "f3aa"}), {}, memory);
  for (uint64_t address = 0x70f0; address < 0x7110; ++address)
    EXPECT_EQ(known.Byte(2, address).has_value(), address < 0x70fd || address > 0x7103) << address;
}

ExecutedPath Converted(ExecutedPath path) {
  path.keeps_convention = true;
  return path;
}

// call; xor rbx, rbx; ret; nop: the function does not keep RBX as the convention asks it to.
TEST(ValueHistory, OnlyAPathThatSaysSoKeepsRegistersInCalls) {
  ExecutedPath path = Code({"e8fb0f0000", "4831db", "c3", "90"});
  path.instructions[0].next = path.instructions[1].address = 0x402000;
  path.instructions[1].next = path.instructions[2].address = 0x402003;
  path.instructions[2].next = path.instructions[3].address = kCode + 5;
  path.instructions[3].next = path.end_address = kCode + 6;
  const auto proven = History(path, {{kRbx, 0}, {5, 77}});
  EXPECT_EQ(proven.Register(0, 5), 77U);
  EXPECT_FALSE(proven.Register(0, kRbx));
  EXPECT_EQ(History(Converted(path), {{kRbx, 0}}).Register(0, kRbx), 0U);
  // Its kept value contradicts its computation.
  EXPECT_TRUE(History(Converted(path), {{kRbx, 1}}).contradiction());
}

using Write = LastWrite::Kind;

// mov [rsp], cl; mov [rsp+1], cl; ...: no store alone wrote the whole word.
TEST(LastWrite, StoresOfOneStayInAFunctionMakeAWord) {
  const ExecutedPath path =
      Code({"48c7042401000000", "880c24", "884c2401", "884c2402", "884c2403", "90"});
  const auto history = History(path, {{kRsp, 0x7000}});
  const LastWrite four =
      history.LastWriteTo(6, {.address = 0x7000, .value = {}, .bytes = 4}, false);
  EXPECT_EQ(four.kind, Write::kStored);
  EXPECT_EQ(four.instruction, 4U);
  const LastWrite eight = history.LastWriteTo(6, {.address = 0x7000, .value = {}}, false);
  EXPECT_EQ(eight.kind, Write::kStored) << "a part may have changed nothing";
  EXPECT_EQ(eight.instruction, 0U);
  EXPECT_EQ(history.LastWriteTo(6, {.address = 0x7100, .value = {}}, false).kind, Write::kNone);
}

// mov [rbx], rdx; mov rbx, rsi; mov [rsp+8], rcx: only the first may have written to the word.
TEST(LastWrite, WhoAloneMayHaveWritten) {
  const auto history = History(Code({"488913", "4889f3", "48894c2408"}), {{kRsp, 0x7000}});
  const StoredValue word{.address = 0x7000, .value = {}};
  const LastWrite only = history.OnlyWriteTo(0, 3, word, false, {});
  EXPECT_EQ(only.kind, Write::kStored);
  EXPECT_EQ(only.instruction, 0U);
  EXPECT_EQ(history.OnlyWriteTo(1, 3, word, false, {}).kind, Write::kNone);
  const auto spare = [](uint64_t address) { return address == kCode; };
  EXPECT_EQ(history.OnlyWriteTo(0, 3, word, false, spare).kind, Write::kNone);
  // A call between two that may have: mov [rbx], rdx; syscall (any); mov [rbx], rdx; mov rbx, rsi
  const auto two = History(Code({"488913", "0f05", "488913", "4889f3"}), {{kRsp, 0x7000}});
  EXPECT_EQ(two.OnlyWriteTo(0, 4, word, false, {}).kind, Write::kOther);
}

// movups [rsp], xmm0; and one that covers half of the word
TEST(LastWrite, AVectorWritesAllThatItCovers) {
  const auto history = History(Code({"0f110424", "90"}), {{kRsp, 0x7000}});
  EXPECT_EQ(history.LastWriteTo(2, {.address = 0x7008, .value = 5}, false).kind, Write::kStored);
  EXPECT_EQ(history.LastWriteTo(2, {.address = 0x700c, .value = 5}, false).kind, Write::kNone);
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

// A string instruction at the end, such as rep movsb, has come as far as the registers show.
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
