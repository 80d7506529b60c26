// SPDX-License-Identifier: MIT
// Writes random programs of 64-bit or 32-bit x86: straight integer code with short jumps and calls,
// whose loads and stores stay in a small piece of memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "flowback/model/code_mode.h"

namespace flowback::test {

// R14 or EBX always points to the data, and the stack pointer into its upper half; everything else
// is overwritten at random, pointers too.
class CodeWriter {
 public:
  static constexpr unsigned kWidePointer = 14;
  static constexpr unsigned kShortPointer = 3;
  static constexpr unsigned kStackPointer = 4;
  static constexpr uint64_t kDataSize = 1024;

  explicit CodeWriter(uint64_t seed, CodeMode mode = CodeMode::kX86_64)
      : random_(seed),
        wide_(mode == CodeMode::kX86_64),
        pointer_(wide_ ? kWidePointer : kShortPointer) {}

  // A program of about that many instructions; each ends where the next one begins.
  std::vector<uint8_t> Program(size_t instructions) {
    code_.clear();
    pushed_ = 0;
    for (size_t i = 0; i < instructions; ++i) AddOne();
    code_.push_back(0x90);
    return code_;
  }

 private:
  unsigned Pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  unsigned AnyRegister() { return Pick(wide_ ? 16 : 8); }
  unsigned Word() const { return wide_ ? 8 : 4; }
  void Rex(unsigned rex) {
    if (wide_) Bytes({rex});
  }
  unsigned Destination() {
    for (;;)
      if (const unsigned one = AnyRegister(); one != pointer_ && one != kStackPointer) return one;
  }
  void Bytes(std::initializer_list<unsigned> bytes) {
    for (const unsigned byte : bytes) code_.push_back(static_cast<uint8_t>(byte));
  }
  void Number(uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) code_.push_back(static_cast<uint8_t>(value >> 8 * i));
  }
  uint64_t AnyNumber() {
    switch (Pick(4)) {
      case 0:
        return Pick(16);
      case 1:
        return ~uint64_t{Pick(16)};
      case 2:
        return uint64_t{1} << Pick(64);
      default:
        return random_();
    }
  }

  // Prefixes and opcode of an instruction with a ModRM byte. `size`: 1, 2, 4 or 8 bytes; `opcode`
  // is that of the form with one byte, of which the lowest bit chooses a larger one.
  void Opcode(unsigned opcode, unsigned size, unsigned reg, unsigned rm, bool two, unsigned index) {
    if (size == 2) Bytes({0x66});
    const unsigned rex =
        0x40 | (size == 8 ? 8U : 0U) | (reg >> 3) << 2 | (index >> 3) << 1 | rm >> 3;
    // Without REX, the byte registers 4 to 7 are AH, CH, DH, BH.
    if (wide_ && (rex != 0x40 || (size == 1 && Pick(2) == 0))) Bytes({rex});
    if (two) Bytes({0x0f});
    Bytes({opcode});
  }
  static bool NeedsRex(unsigned size, unsigned reg) { return size == 1 && reg >= 4 && reg < 8; }

  void RegisterForm(unsigned opcode, unsigned size, unsigned reg, unsigned rm, bool two = false) {
    // A byte of R14 or RSP is never written, nor one by its other name.
    Opcode(opcode, size, reg, rm, two, 0);
    Bytes({0xc0 | (reg & 7) << 3 | (rm & 7)});
  }

  // Memory that is surely in the data: by the pointer, by RSP, or by a register that gets its
  // address now.
  void MemoryForm(unsigned opcode, unsigned size, unsigned reg, bool two = false) {
    switch (Pick(4)) {
      case 0: {  // [rsp + small]
        Opcode(opcode, size, reg, kStackPointer, two, 0);
        Bytes({0x44 | (reg & 7) << 3, 0x24, Pick(16) * 4});
        return;
      }
      case 1: {  // [pointer + masked index]
        const unsigned index = IndexBut(reg);
        Opcode(0x81, 4, 4, index, false, 0);  // AND index, 0x78
        Bytes({0xe0 | (index & 7)});
        Number(0x78, 4);
        Opcode(opcode, size, reg, pointer_, two, index);
        const unsigned scale = Pick(2);
        Bytes({0x44 | (reg & 7) << 3, scale << 6 | (index & 7) << 3 | (pointer_ & 7), Pick(100)});
        return;
      }
      case 2: {  // another register, which is made from the pointer
        const unsigned base = IndexBut(reg);
        if ((base & 7) == 4) break;
        RegisterForm(0x89, Word(), pointer_, base);
        Opcode(opcode, size, reg, base, two, 0);
        Bytes({0x40 | (reg & 7) << 3 | (base & 7), Pick(120)});
        return;
      }
      default:
        break;
    }
    Opcode(opcode, size, reg, pointer_, two, 0);
    Bytes({0x40 | (reg & 7) << 3 | (pointer_ & 7), Pick(120)});
  }
  unsigned IndexBut(unsigned reg) {
    for (;;)
      if (const unsigned one = Destination(); one != reg && one != 4) return one;
  }

  unsigned AnySize() { return 1U << Pick(wide_ ? 4 : 3); }
  unsigned Wide() { return 4U << Pick(wide_ ? 2 : 1); }

  // Byte registers with numbers 4 to 7 may be parts of others: RSP is never one of them.
  unsigned ByteSafe(unsigned size) {
    for (;;)
      if (const unsigned one = Destination(); size != 1 || one < 4 || one >= 8) return one;
  }

  // A conditional jump over a move to the register.
  void JumpOverMove(unsigned opcode, unsigned to) {
    Bytes({opcode, wide_ ? 3U : 2U});
    Rex(0x40 | to >> 3);
    Bytes({0x89, 0xc0 | (to & 7)});
  }

  void Arithmetic();
  void Move();
  void Unary();
  void Shift();
  void Bits();
  void Exchange();
  void Conditional();
  void Stack();
  void Strange();

  void AddOne() {
    switch (Pick(12)) {
      case 0:
      case 1:
      case 2:
        return Arithmetic();
      case 3:
      case 4:
      case 5:
        return Move();
      case 6:
        return Unary();
      case 7:
        return Shift();
      case 8:
        return Bits();
      case 9:
        return Pick(2) == 0 ? Exchange() : Conditional();
      case 10:
        return Stack();
      default:
        return Pick(3) == 0 ? Strange() : Move();
    }
  }

  std::mt19937_64 random_;
  bool wide_;
  unsigned pointer_;
  std::vector<uint8_t> code_;
  unsigned pushed_ = 0;
};

inline void CodeWriter::Arithmetic() {
  const unsigned size = AnySize();
  const unsigned operation = Pick(8);
  const unsigned wide = size == 1 ? 0 : 1;
  switch (Pick(4)) {
    case 0:
      return RegisterForm(operation * 8 + wide, size, ByteSafe(size), ByteSafe(size));
    case 1:
      return MemoryForm(operation * 8 + wide, size, ByteSafe(size));
    case 2:
      return MemoryForm(operation * 8 + 2 + wide, size, ByteSafe(size));
    default:
      RegisterForm(size == 1 ? 0x80 : 0x81, size, operation, ByteSafe(size));
      return Number(AnyNumber(), size == 8 ? 4 : size);
  }
}

inline void CodeWriter::Move() {
  const unsigned size = AnySize();
  const unsigned wide = size == 1 ? 0 : 1;
  switch (Pick(8)) {
    case 0:
    case 1:
      return RegisterForm(0x88 + wide, size, ByteSafe(size), ByteSafe(size));
    case 2:
      return MemoryForm(0x88 + wide, size, ByteSafe(size));
    case 3:
      return MemoryForm(0x8a + wide, size, ByteSafe(size));
    case 4: {
      const unsigned to = Destination();
      Rex(0x48 | to >> 3);
      Bytes({0xb8 | (to & 7)});
      return Number(AnyNumber(), Word());
    }
    case 5: {  // MOVZX, MOVSX
      const unsigned opcode = Pick(2) == 0 ? 0xb6 : 0xbe;
      const bool from_byte = Pick(2) == 0;
      const unsigned from = from_byte ? ByteSafe(1) : Destination();
      if (Pick(2) == 0)
        return MemoryForm(opcode + (from_byte ? 0 : 1), Wide(), Destination(), true);
      return RegisterForm(opcode + (from_byte ? 0 : 1), Wide(), Destination(), from, true);
    }
    case 6:
      if (!wide_) return Bytes({0x40 | Pick(2) << 3 | Destination()});  // INC, DEC
      return RegisterForm(0x63, 8, Destination(), Destination());       // MOVSXD
    default: {                                                          // LEA
      const unsigned to = Destination();
      const unsigned base = AnyRegister();
      const unsigned index = IndexBut(16);
      Opcode(0x8d, Wide(), to, base, false, index);
      Bytes({0x84 | (to & 7) << 3, Pick(4) << 6 | (index & 7) << 3 | (base & 7)});
      return Number(AnyNumber(), 4);
    }
  }
}

inline void CodeWriter::Unary() {
  const unsigned size = AnySize();
  const unsigned wide = size == 1 ? 0 : 1;
  switch (Pick(6)) {
    case 0:  // INC, DEC
      return RegisterForm(0xfe + wide, size, Pick(2), ByteSafe(size));
    case 1:
      return MemoryForm(0xfe + wide, size, Pick(2));
    case 2:  // NOT, NEG, MUL, IMUL
      return RegisterForm(0xf6 + wide, size, 2 + Pick(4), ByteSafe(size));
    case 3:
      return MemoryForm(0xf6 + wide, size, 2 + Pick(2));
    case 4:
      return RegisterForm(0xaf, Wide(), Destination(), Destination(), true);
    default: {
      RegisterForm(0x69, Wide(), Destination(), Destination());
      return Number(AnyNumber(), 4);
    }
  }
}

inline void CodeWriter::Shift() {
  static constexpr unsigned kKinds[] = {0, 1, 4, 5, 7, 2, 3};
  const unsigned size = AnySize();
  const unsigned wide = size == 1 ? 0 : 1;
  const unsigned kind = kKinds[Pick(Pick(4) == 0 ? 7 : 5)];
  switch (Pick(4)) {
    case 0:
      return RegisterForm(0xd0 + wide, size, kind, ByteSafe(size));
    case 1:
      return RegisterForm(0xd2 + wide, size, kind, ByteSafe(size));
    case 2:
      RegisterForm(Pick(2) == 0 ? 0xa4 : 0xac, Wide(), Destination(), Destination(), true);
      return Bytes({Pick(64)});
    default:
      RegisterForm(0xc0 + wide, size, kind, ByteSafe(size));
      return Bytes({Pick(70)});
  }
}

inline void CodeWriter::Bits() {
  switch (Pick(6)) {
    case 0: {  // BSWAP
      const unsigned to = Destination();
      Rex((Pick(2) == 0 ? 0x48U : 0x40U) | to >> 3);
      return Bytes({0x0f, 0xc8 | (to & 7)});
    }
    case 1:  // BT, BTS, BTR, BTC by a register
      return RegisterForm(0xa3 + 8 * Pick(4), Wide(), Destination(), Destination(), true);
    case 2:  // and by a constant
      RegisterForm(0xba, Wide(), 4 + Pick(4), Destination(), true);
      return Bytes({Pick(64)});
    case 3:  // BSF, BSR
      return RegisterForm(0xbc + Pick(2), Wide(), Destination(), Destination(), true);
    case 4:  // CDQ, CQO, CWDE, CDQE, CBW, CWD
      switch (Pick(6)) {
        case 0:
          return Bytes({0x99});
        case 1:
          Rex(0x48);
          return Bytes({0x99});
        case 2:
          return Bytes({0x98});
        case 3:
          Rex(0x48);
          return Bytes({0x98});
        case 4:
          return Bytes({0x66, 0x98});
        default:
          return Bytes({0x66, 0x99});
      }
    default:  // CLC, STC, CMC
      return Bytes({Pick(2) == 0 ? 0xf8U + Pick(2) : 0xf5U});
  }
}

inline void CodeWriter::Exchange() {
  const unsigned size = AnySize();
  const unsigned wide = size == 1 ? 0 : 1;
  const unsigned a = ByteSafe(size);
  switch (Pick(6)) {
    case 0:
      return RegisterForm(0x86 + wide, size, a, ByteSafe(size));
    case 1:
      return MemoryForm(0x86 + wide, size, a);
    case 2:
      return RegisterForm(0xc0 + wide, size, a, ByteSafe(size), true);  // XADD
    case 3:
      return MemoryForm(0xc0 + wide, size, a, true);
    case 4:
      return RegisterForm(0xb0 + wide, size, a, ByteSafe(size), true);  // CMPXCHG
    default:
      return MemoryForm(0xb0 + wide, size, a, true);
  }
}

inline void CodeWriter::Conditional() {
  switch (Pick(4)) {
    case 0:
      return RegisterForm(0x90 + Pick(16), 1, 0, ByteSafe(1), true);  // SETcc
    case 1:
      return RegisterForm(0x40 + Pick(16), Wide(), Destination(), Destination(), true);  // CMOVcc
    case 2: {  // CMP, and a jump over a move
      RegisterForm(0x83, Wide(), 7, Destination());
      Bytes({Pick(3)});
      const unsigned to = Destination();
      return JumpOverMove(0x70 + Pick(16), to);
    }
    default: {  // TEST, and a jump over a move
      const unsigned one = Destination();
      RegisterForm(0x85, Wide(), one, one);
      const unsigned to = Destination();
      return JumpOverMove(0x74 + Pick(2), to);
    }
  }
}

inline void CodeWriter::Stack() {
  switch (Pick(6)) {
    case 0:
    case 1: {
      if (pushed_ == 24) break;
      ++pushed_;
      const unsigned from = AnyRegister();
      Rex(0x40 | from >> 3);
      return Bytes({0x50 | (from & 7)});
    }
    case 2: {
      if (pushed_ == 24) break;
      ++pushed_;
      if (Pick(2) == 0) return Bytes({0x6a, Pick(256)});
      Bytes({0x68});
      return Number(AnyNumber(), 4);
    }
    case 3: {  // a call over which a jump leads, and its return
      const unsigned to = Destination();
      Bytes({0xe8, 2, 0, 0, 0, 0xeb, wide_ ? 4U : 3U});
      Rex(0x48 | to >> 3);
      return Bytes({0xff, 0xc0 | (to & 7), 0xc3});
    }
    case 4: {  // a frame
      const unsigned to = Destination();
      if (to == 5) break;
      Bytes({0x55});
      Rex(0x48);
      Bytes({0x89, 0xe5});
      Rex(0x48);
      Bytes({0x83, 0xec, 0x18});
      Rex(0x48 | (to >> 3) << 2);
      Bytes({0x89, 0x45 | (to & 7) << 3, 0xf8});  // MOV [rbp-8], to
      return Bytes({0xc9});
    }
    default:
      break;
  }
  if (pushed_ == 0) return;
  --pushed_;
  const unsigned to = Destination();
  Rex(0x40 | to >> 3);
  Bytes({0x58 | (to & 7)});
}

inline void CodeWriter::Strange() {
  switch (Pick(7)) {
    case 0:  // RDTSC
      return Bytes({0x0f, 0x31});
    case 1:  // REP STOSB of a few bytes
      RegisterForm(0x89, Word(), pointer_, 7);
      Bytes({0xb9});
      Number(Pick(40), 4);
      return Bytes({0xf3, 0xaa});
    case 2:  // MOVUPS to and from memory
      Rex(0x41);
      return Bytes({0x0f, 0x10 + Pick(2), 0x40 | (pointer_ & 7), Pick(100)});
    case 3:  // MOVQ between register kinds
      Bytes({0x66});
      Rex(0x48);
      return Bytes({0x0f, Pick(2) == 0 ? 0x6eU : 0x7eU, 0xc0});
    case 4:  // STOSQ, LODSQ
      RegisterForm(0x89, Word(), pointer_, 7);
      RegisterForm(0x89, Word(), pointer_, 6);
      Rex(0x48);
      return Bytes({Pick(2) == 0 ? 0xabU : 0xadU});
    case 5:  // MOVNTI
      return MemoryForm(0xc3, Wide(), Destination(), true);
    default:  // LAHF, CMC
      return Bytes({Pick(2) == 0 ? 0x9fU : 0xf5U});
  }
}

}  // namespace flowback::test
