// SPDX-License-Identifier: MIT
// Which function an address belongs to, as far as a model of calls must know.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "flowback/decode/code_image.h"
#include "flowback/replay/symbolizer.h"

namespace flowback {

namespace symbols {
class UnwindTable;  // replay/symbols/frames/unwind_table.h
}

// A piece of a function: what the compiler moved away ("f.cold") is another piece with the same id.
struct FunctionPiece {
  uint64_t begin = 0;  // addresses, half-open; both 0: no function is known at the address
  uint64_t end = 0;
  uint64_t id = 0;        // 0: not known
  bool is_entry = false;  // `begin` is where the function is entered
  bool is_stub = false;   // of a procedure linkage table: jumps on to the function itself

  bool Holds(uint64_t ip) const { return ip >= begin && ip < end; }
};

class FunctionFinder {
 public:
  virtual ~FunctionFinder() = default;
  // `space` may be null: then nothing is known.
  virtual FunctionPiece Find(const AddressSpace* space, uint64_t ip) = 0;
  // Where an exception goes on that reaches the call which would return to `return_address`; 0: in
  // the caller, or it is not known. By default it never is.
  virtual uint64_t LandingPad(const AddressSpace* /*space*/, uint64_t /*return_address*/) {
    return 0;
  }
  // Whether an exception goes on there that reaches some call of the function.
  virtual bool IsLandingPad(const AddressSpace* /*space*/, uint64_t /*ip*/) { return false; }
  // Returns the bytes between the stack pointer at `ip` and the frame's begin (its canonical frame
  // address). Empty: no table says so. By default none does.
  virtual std::optional<int64_t> FrameSize(const AddressSpace* /*space*/, uint64_t /*ip*/) {
    return std::nullopt;
  }
};

// By symbols; where a file has none, by the table that its exceptions are unwound with. Only what
// the symbols call a function is one: labels in assembly are not. The address spaces asked about
// must live as long as this. May be used by several threads.
class SymbolFunctions final : public FunctionFinder {
 public:
  explicit SymbolFunctions(Symbolizer& symbolizer) : symbolizer_(symbolizer) {}
  FunctionPiece Find(const AddressSpace* space, uint64_t ip) override;
  uint64_t LandingPad(const AddressSpace* space, uint64_t return_address) override;
  bool IsLandingPad(const AddressSpace* space, uint64_t ip) override;
  std::optional<int64_t> FrameSize(const AddressSpace* space, uint64_t ip) override;

 private:
  // Calls go to the same few places again and again.
  struct Answer {
    const AddressSpace* space = nullptr;
    uint64_t ip = 0;
    FunctionPiece piece;
  };
  struct Pad {
    const AddressSpace* space = nullptr;
    uint64_t return_address = 0;
    uint64_t address = 0;
  };
  static constexpr size_t kAnswers = 4096;

  FunctionPiece LookUp(const AddressSpace* space, uint64_t ip);
  FunctionPiece WithoutSymbol(const CodeMapping& mapping, uint64_t ip);
  const symbols::UnwindTable& TableOf(const CodeMapping& mapping);
  uint64_t IdOf(std::string key);

  Symbolizer& symbolizer_;
  std::mutex mutex_;
  std::vector<Answer> answers_ = std::vector<Answer>(kAnswers);
  std::vector<Pad> pads_ = std::vector<Pad>(kAnswers);
  std::unordered_map<std::string, uint64_t> ids_;  // by file and name
  std::unordered_map<std::string, std::shared_ptr<const symbols::UnwindTable>> tables_;  // by file
};

}  // namespace flowback
