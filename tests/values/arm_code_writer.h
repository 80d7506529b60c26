// SPDX-License-Identifier: MIT
// Writes random programs of AArch64: straight integer code with short jumps and calls, whose loads
// and stores stay in a small piece of memory.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace flowback::test {

// X28 always points to the middle of the data, and the stack pointer into its upper half.
class ArmCodeWriter {
 public:
  static constexpr uint64_t kDataSize = 1024;

  ArmCodeWriter(uint64_t seed, uint64_t data) : random_(seed), data_(data) {}

  // Sets all registers and executes about that many instructions.
  std::vector<uint32_t> Program(size_t instructions) {
    words_.clear();
    Set(28, data_ + kDataSize / 2);
    Set(0, data_ + 800);
    Put(0x9100001f);  // MOV SP, X0
    for (unsigned i = 0; i < 31; ++i)
      if (i != 28) Set(i, random_() >> (Pick(3) * 24));
    while (words_.size() < instructions) AddOne();
    return words_;
  }
  // MOVZ, MOVK.
  void Set(unsigned to, uint64_t value) {
    for (unsigned part = 0; part < 4; ++part)
      Put((part == 0 ? 0xd2800000U : 0xf2800000U) | part << 21 |
          static_cast<uint32_t>(value >> part * 16 & 0xffff) << 5 | to);
  }
  const std::vector<uint32_t>& words() const { return words_; }

 private:
  static constexpr unsigned kPointer = 28;

  unsigned Pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  void Put(uint32_t word) { words_.push_back(word); }
  unsigned Any() { return Pick(32); }
  unsigned To() {
    for (;;)
      if (const unsigned one = Pick(31); one != kPointer) return one;
  }
  unsigned But(unsigned other, unsigned another = 99) {
    for (;;)
      if (const unsigned one = To(); one != other && one != another) return one;
  }
  unsigned Bits() { return wide_ ? 64 : 32; }
  uint32_t Three() { return Pick(32) << 16 | Any() << 5 | To(); }

  void Compute();
  void ComputeMore();
  void Move();
  void Memory();
  void Pair();
  void Atomic();
  void Control();

  void AddOne() {
    wide_ = Pick(3) != 0;
    sf_ = wide_ ? 1U << 31 : 0;
    switch (Pick(10)) {
      case 0:
      case 1:
        return Compute();
      case 2:
      case 3:
        return ComputeMore();
      case 4:
      case 5:
        return Move();
      case 6:
      case 7:
        return Memory();
      case 8:
        return Pick(3) != 0 ? Pair() : Atomic();
      default:
        return Control();
    }
  }

  std::mt19937_64 random_;
  uint64_t data_;
  std::vector<uint32_t> words_;
  unsigned pushed_ = 0;
  bool wide_ = true;
  uint32_t sf_ = 0;
};

inline void ArmCodeWriter::Compute() {
  const uint32_t kind = Pick(4) << 29;  // ADD, ADDS, SUB, SUBS; AND, ORR, EOR, ANDS
  switch (Pick(6)) {
    case 0:
      return Put(0x11000000 | sf_ | kind | Pick(2) << 22 | Pick(4096) << 10 | Any() << 5 | To());
    case 1:
      return Put(0x0b000000 | sf_ | kind | Pick(3) << 22 | Pick(Bits()) << 10 | Three());
    case 2:
      return Put(0x0b200000 | sf_ | kind | Pick(8) << 13 | Pick(5) << 10 | Three());
    case 3:
    case 4:
      return Put(0x0a000000 | sf_ | kind | Pick(4) << 22 | Pick(2) << 21 | Pick(Bits()) << 10 |
                 Three());
    default:
      return Put(0x12000000 | sf_ | kind | (wide_ ? 1U << 22 : 0) | Pick(Bits()) << 16 |
                 Pick(Bits() - 1) << 10 | Any() << 5 | To());
  }
}

inline void ArmCodeWriter::ComputeMore() {
  switch (Pick(9)) {
    case 0:
    case 1: {  // SBFM, BFM, UBFM
      return Put(0x13000000 | sf_ | Pick(3) << 29 | (wide_ ? 1U << 22 : 0) | Pick(Bits()) << 16 |
                 Pick(Bits()) << 10 | Any() << 5 | To());
    }
    case 2: {  // EXTR
      const unsigned from = Any();
      return Put(0x13800000 | sf_ | (wide_ ? 1U << 22 : 0) | (Pick(2) == 0 ? from : Any()) << 16 |
                 Pick(Bits()) << 10 | from << 5 | To());
    }
    case 3: {  // UDIV, SDIV, LSLV, LSRV, ASRV, RORV
      constexpr uint32_t kOpcodes[] = {2, 3, 8, 9, 10, 11};
      return Put(0x1ac00000 | sf_ | kOpcodes[Pick(6)] << 10 | Three());
    }
    case 4: {  // RBIT, REV16, REV32, REV, CLZ, CLS
      uint32_t opcode = Pick(6);
      if (!wide_ && opcode == 3) opcode = 2;
      return Put(0x5ac00000 | sf_ | opcode << 10 | Any() << 5 | To());
    }
    case 5: {  // MADD, MSUB, and the long ones
      if (Pick(2) == 0) return Put(0x1b000000 | sf_ | Pick(2) << 15 | Any() << 10 | Three());
      if (Pick(2) == 0)
        return Put(0x9b000000 | (Pick(2) == 0 ? 1U : 5U) << 21 | Pick(2) << 15 | Any() << 10 |
                   Three());
      return Put(0x9b007c00 | (Pick(2) == 0 ? 2U : 6U) << 21 | Three());
    }
    case 6:  // ADC, SBC
      return Put(0x1a000000 | sf_ | Pick(4) << 29 | Three());
    case 7:  // CSEL, CSINC, CSINV, CSNEG
      return Put(0x1a800000 | sf_ | Pick(2) << 30 | Pick(16) << 12 | Pick(2) << 10 | Three());
    default:  // CCMN, CCMP
      return Put(0x3a400000 | sf_ | Pick(2) << 30 | Pick(32) << 16 | Pick(16) << 12 |
                 Pick(2) << 11 | Any() << 5 | Pick(16));
  }
}

inline void ArmCodeWriter::Move() {
  switch (Pick(6)) {
    case 0:
    case 1: {
      constexpr uint32_t kKinds[] = {0, 2, 3};
      return Put(0x12800000 | sf_ | kKinds[Pick(3)] << 29 | Pick(wide_ ? 4 : 2) << 21 |
                 Pick(65536) << 5 | To());
    }
    case 2:  // ORR from the zero register
      return Put(0x2a0003e0 | sf_ | Pick(31) << 16 | To());
    case 3:  // ADR, ADRP
      return Put(0x10000000 | Pick(2) << 31 | Pick(4) << 29 | Pick(1 << 19) << 5 | To());
    case 4:  // FMOV there, and back
      return Put((Pick(2) == 0 ? 0x9e670000U : 0x9e660000U) | Pick(4) << 5 | To());
    default:  // SUB from the zero register
      return Put(0x4b0003e0 | sf_ | Pick(31) << 16 | To());
  }
}

inline void ArmCodeWriter::Memory() {
  const uint32_t size = Pick(4);
  const uint32_t kinds = size == 3 ? 2 : size == 2 ? 3 : 4;
  const uint32_t access = size << 30 | 0x38000000 | Pick(Pick(2) == 0 ? 2 : kinds) << 22;
  switch (Pick(7)) {
    case 0:  // from the pointer, and from the stack pointer
      return Put(access | 1U << 24 | Pick(480U >> size) << 10 | kPointer << 5 | To());
    case 1:
      return Put(access | 1U << 24 | Pick(200U >> size) << 10 | 31U << 5 | To());
    case 2:
      return Put(access | Pick(512) << 12 | kPointer << 5 | To());
    case 3: {  // with a base that changes
      const unsigned base = To();
      Put(0xaa0003e0 | kPointer << 16 | base);
      return Put(access | Pick(512) << 12 | (Pick(2) == 0 ? 1U : 3U) << 10 | base << 5 | But(base));
    }
    case 4: {  // with an index
      const unsigned index = To();
      Put(0x927d0800 | index << 5 | index);  // AND index, 0x38
      constexpr uint32_t kExtensions[] = {2, 3, 6, 7};
      return Put(access | 1U << 21 | index << 16 | kExtensions[Pick(4)] << 13 | Pick(2) << 12 |
                 2U << 10 | kPointer << 5 | But(index));
    }
    case 5: {  // push and pop
      const bool pushes = pushed_ == 0 || (pushed_ < 12 && Pick(2) == 0);
      pushed_ += pushes ? 1 : ~0U;
      return Put((pushes ? 0xf81f0fe0 : 0xf84107e0) | To());
    }
    default:  // literals: the code itself
      return Put(0x18000000 | Pick(3) << 30 | To());
  }
}

inline void ArmCodeWriter::Pair() {
  const unsigned one = To();
  const bool loads = Pick(2) == 0;
  const uint32_t kind = Pick(loads ? 3 : 2);
  constexpr uint32_t kKinds[] = {0, 2, 1};
  const uint32_t access = 0x28000000 | kKinds[kind] << 30 | (loads ? 1U << 22 : 0) |
                          Pick(32) << 15 | But(one) << 10 | one;
  const uint32_t second = access >> 10 & 31;
  if (Pick(2) == 0) return Put(access | 2U << 23 | kPointer << 5);
  // The base may be among what is loaded, where it does not change.
  const bool changes = Pick(2) == 0;
  const unsigned base = changes || !loads ? But(one, second) : one;
  Put(0xaa0003e0 | kPointer << 16 | base);
  Put(access | (changes ? (Pick(2) == 0 ? 1U : 3U) : 2U) << 23 | base << 5);
}

inline void ArmCodeWriter::Atomic() {
  const uint32_t size = Pick(4) << 30;
  switch (Pick(5)) {
    case 0:  // CAS
      return Put(0x08a07c00 | size | To() << 16 | kPointer << 5 | Any());
    case 1:  // LDADD, LDCLR, LDEOR, LDSET, LDSMAX and so on, SWP
      return Put(0x38200000 | size | Any() << 16 | Pick(9) << 12 | kPointer << 5 | To());
    case 2: {  // LDXR, STXR
      const unsigned value = To();
      const unsigned status = But(value);
      Put(0x085f7c00 | size | kPointer << 5 | value);
      return Put(0x08007c00 | size | status << 16 | kPointer << 5 | value);
    }
    case 3: {  // LDAR, STLR
      return Put((Pick(2) == 0 ? 0x08dffc00U : 0x089ffc00U) | size | kPointer << 5 | To());
    }
    default: {  // a vector register
      return Put((Pick(2) == 0 ? 0x3d800000U : 0x3dc00000U) | Pick(16) << 10 | kPointer << 5 |
                 Pick(4));
    }
  }
}

inline void ArmCodeWriter::Control() {
  switch (Pick(5)) {
    case 0:  // CMP, and a jump over a move
      Put(0x6b00001f | sf_ | Any() << 16 | Any() << 5);
      Put(0x54000040 | Pick(16));
      return Put(0x2a0003e0 | sf_ | Pick(31) << 16 | To());
    case 1:
      Put(0x34000040 | sf_ | Pick(2) << 24 | Any());
      return Put(0x2a0003e0 | sf_ | Pick(31) << 16 | To());
    case 2:
      Put(0x36000040 | sf_ | Pick(2) << 24 | Pick(32) << 19 | Any());
      return Put(0x2a0003e0 | sf_ | Pick(31) << 16 | To());
    case 3: {  // a call, over whose function a jump leads
      const unsigned to = But(30);
      Put(0x94000002);
      Put(0x14000003);
      Put(0x91000400 | to << 5 | to);
      return Put(0xd65f03c0);
    }
    default: {  // BR
      const unsigned to = To();
      Put(0x10000040 | to);
      return Put(0xd61f0000 | to << 5);
    }
  }
}

}  // namespace flowback::test
