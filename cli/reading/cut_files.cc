// SPDX-License-Identifier: MIT
#include "cli/reading/cut_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/mapped_file.h"

namespace flowback::cli {
namespace {

// A line of /proc/self/maps, whose file's name goes on to the line's end.
struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t offset = 0;  // of `begin` in the file
  uint64_t inode = 0;
  bool read_only = false;
  bool is_private = false;
  char path[1024] = "";
};

// What the handler met first. A signal handler has no other place for it.
enum class Noted : uint8_t { kNothing, kComing, kThere };
std::atomic<Noted> noted = Noted::kNothing;
Mapping noted_mapping;
uint64_t noted_address = 0;

// Everything down to SurviveCutFiles runs in the handler: no memory is asked for, no lock taken.

class MapsReader {
 public:
  MapsReader() : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapsReader() {
    if (fd_ >= 0) close(fd_);
  }
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;

  // "7f0000000000-7f0000001000 r--p 00002000 fe:01 1234    /path"
  bool Next(Mapping& mapping) {
    if (at_end()) return false;
    mapping.begin = Number(16);
    mapping.end = Number(16);
    mapping.read_only = Get() == 'r' && Get() == '-' && Get() == '-';
    char kind = Get();
    for (; kind != 'p' && kind != 's' && kind != 0; kind = Get()) continue;
    mapping.is_private = kind == 'p';
    Get();
    mapping.offset = Number(16);
    Number(16);  // the device's two numbers
    Number(16);
    mapping.inode = Number(10);
    ReadPath(mapping);
    return true;
  }

 private:
  bool at_end() { return at_ == size_ && !Fill(); }
  bool Fill() {
    at_ = size_ = 0;
    const ssize_t got = fd_ < 0 ? -1 : read(fd_, buffer_, sizeof buffer_);
    if (got > 0) size_ = static_cast<size_t>(got);
    return got > 0;
  }
  char Get() { return at_end() ? char{0} : buffer_[at_++]; }
  // With the character behind it.
  uint64_t Number(unsigned base) {
    uint64_t value = 0;
    for (char c = Get();; c = Get()) {
      const bool letter = base == 16 && c >= 'a' && c <= 'f';
      if (!letter && (c < '0' || c > '9')) return value;
      value = value * base + static_cast<unsigned>(letter ? c - 'a' + 10 : c - '0');
    }
  }
  void ReadPath(Mapping& mapping) {
    size_t size = 0;
    char c = Get();
    while (c == ' ') c = Get();
    for (; c != '\n' && c != 0; c = Get())
      if (size + 1 < sizeof mapping.path) mapping.path[size++] = c;
    mapping.path[size] = 0;
  }

  int fd_;
  char buffer_[2048];
  size_t at_ = 0;
  size_t size_ = 0;
};

bool FindMapping(uint64_t address, Mapping& mapping) {
  MapsReader maps;
  while (maps.Next(mapping))
    if (address >= mapping.begin && address < mapping.end) return true;
  return false;
}

// From the page of `address` to the mapping's end: what lies behind a file's end is gone, too.
bool PutZeros(uint64_t address, const Mapping& mapping) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = address / page * page;
  void* const place = reinterpret_cast<void*>(begin);
  return mmap(place, mapping.end - begin, PROT_READ,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == place;
}

void TakeNote(uint64_t address, const Mapping& mapping) {
  Noted nothing = Noted::kNothing;
  if (!noted.compare_exchange_strong(nothing, Noted::kComing)) return;
  noted_mapping = mapping;
  noted_address = address;
  noted.store(Noted::kThere, std::memory_order_release);
}

// Only files that are read: shared memory without room, say, is another matter. The instruction
// is executed again after this, and ends the program where nothing was put in its way.
void OnBusError(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  Mapping mapping;
  const bool is_cut = info->si_code == BUS_ADRERR && FindMapping(address, mapping) &&
                      mapping.read_only && mapping.is_private && mapping.inode != 0;
  if (is_cut) TakeNote(address, mapping);  // before anybody can read the zeros
  // Another thread may have been here first: then the page is a nameless one by now.
  const bool is_mended = info->si_code == BUS_ADRERR && mapping.inode == 0 && mapping.read_only &&
                         noted.load() != Noted::kNothing;
  if (!is_mended && (!is_cut || !PutZeros(address, mapping))) std::signal(signal, SIG_DFL);
  errno = error;
}

}  // namespace

void SurviveCutFiles() {
  struct sigaction action{};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

Status CheckNothingMet() {
  if (noted.load(std::memory_order_acquire) == Noted::kNothing) return {};
  while (noted.load(std::memory_order_acquire) != Noted::kThere) continue;  // a few instructions
  const uint64_t offset = noted_mapping.offset + (noted_address - noted_mapping.begin);
  return Fail(CutWhileRead(noted_mapping.path, offset));
}

Status CheckUncut(const Recording& recording, const RecordingCode* code) {
  // By size first: that names a file as the user did, and the place where it ends.
  if (Status status = CheckWhole(recording.files); !status) return status;
  // Code is decoded once: most text is made without another look at the images.
  if (code != nullptr && code->TakeRead())
    if (Status status = CheckWhole(code->files()); !status) return status;
  return CheckNothingMet();
}

}  // namespace flowback::cli
