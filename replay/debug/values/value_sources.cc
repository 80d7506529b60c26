// SPDX-License-Identifier: MIT
#include "replay/debug/values/value_sources.h"

namespace flowback {
namespace {

// The flow proves the program counter and nothing else.
class FlowValues final : public ValueSource {
 public:
  explicit FlowValues(const ValueInput&) {}
  std::optional<uint64_t> Register(const MachineThread& thread, std::string_view name) override {
    if (IsProgramCounter(name)) return thread.pc;
    return std::nullopt;
  }
};

// The code that was decoded, also that which no file has.
class CodeValues final : public ValueSource {
 public:
  explicit CodeValues(const ValueInput&) {}
  size_t Memory(const MachineThread& thread, uint64_t address, std::span<uint8_t> bytes) override {
    const AddressSpace* space = thread.instruction.space;
    return space == nullptr ? 0 : space->Read(address, bytes.data(), bytes.size());
  }
};

// Segments of the files that the process could not write to.
class FileValues final : public ValueSource {
 public:
  explicit FileValues(const ValueInput& input) : images_(input.images) {}
  size_t Memory(const MachineThread& thread, uint64_t address, std::span<uint8_t> bytes) override {
    const AddressSpace* space = thread.instruction.space;
    return space == nullptr ? 0 : images_.Read(*space, address, bytes);
  }

 private:
  ImageMemory& images_;
};

// A dump's values, at the only place for which they are proven.
class CoreValues final : public ValueSource {
 public:
  explicit CoreValues(const ValueInput& input) : core_(input.core) {}
  std::optional<uint64_t> Register(const MachineThread& thread, std::string_view name) override {
    return IsThere(thread) ? core_->Register(thread.tid, name) : std::nullopt;
  }
  size_t Memory(const MachineThread& thread, uint64_t address, std::span<uint8_t> bytes) override {
    const bool is_known = IsThere(thread) && thread.is_end && core_->keeps_memory();
    return is_known ? core_->Memory(address, bytes) : 0;
  }

  Bytes Signal(const MachineThread& thread) override {
    const bool is_killed = IsThere(thread) && thread.tid == core_->killed_tid();
    return is_killed && !core_->is_living() ? core_->signal() : Bytes();
  }

 private:
  bool IsThere(const MachineThread& thread) const {
    if (core_ == nullptr || core_->Counter(thread.tid) != thread.pc) return false;
    return core_->is_living() ? core_->PlaceOf(thread.tid, 0) == thread.number : thread.is_end;
  }

  const EndCore* core_;
};

// What follows from a dump's values along the way that led there.
class ProvenValues final : public ValueSource {
 public:
  explicit ProvenValues(const ValueInput& input) : past_(input.past) {}
  std::optional<uint64_t> Register(const MachineThread& thread, std::string_view name) override {
    const auto number = FollowedRegister(thread.instruction.mode, name);
    const auto at = number && past_ != nullptr ? past_->At(thread) : std::nullopt;
    return at ? at->history.Register(at->point, *number) : std::nullopt;
  }
  size_t Memory(const MachineThread& thread, uint64_t address, std::span<uint8_t> bytes) override {
    const auto at = past_ != nullptr ? past_->At(thread) : std::nullopt;
    // Where the thread waited for its end, others may have written to memory before the dump.
    const bool is_last = at && at->point == at->history.path().instructions.size();
    if (is_last && past_->is_shared() && !thread.is_end) return 0;
    size_t read = 0;
    for (; at && read < bytes.size(); ++read) {
      const auto byte = at->history.Byte(at->point, address + read);
      if (!byte) break;
      bytes[read] = *byte;
    }
    return read;
  }

 private:
  PastValues* past_;
};

}  // namespace

ValueSources::ValueSources(const ValueInput& input) {
#define FLOWBACK_VALUE_SOURCE(class, name) sources_.push_back(std::make_unique<class>(input));
#include "replay/debug/values/value_sources.def"
}

std::optional<uint64_t> ValueSources::Register(const MachineThread& thread, std::string_view name) {
  for (const auto& source : sources_)
    if (const auto value = source->Register(thread, name)) return value;
  return std::nullopt;
}

Bytes ValueSources::Signal(const MachineThread& thread) {
  for (const auto& source : sources_)
    if (const Bytes signal = source->Signal(thread); !signal.empty()) return signal;
  return {};
}

std::vector<uint8_t> ValueSources::Memory(const MachineThread& thread, uint64_t address,
                                          size_t size) {
  std::vector<uint8_t> bytes(size);
  size_t read = 0;
  while (read < size) {
    size_t more = 0;
    for (const auto& source : sources_) {
      more = source->Memory(thread, address + read, std::span(bytes).subspan(read));
      if (more != 0) break;
    }
    if (more == 0) break;
    read += more;
  }
  bytes.resize(read);
  return bytes;
}

}  // namespace flowback
