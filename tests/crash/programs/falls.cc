// SPDX-License-Identifier: MIT
// falls HOW...: a child process for each of the words, which ends in that way; prints the process
// numbers. A mark `CAUSE HOW` stands at the line that a report of it must show on its first screen,
// `AND HOW` at another one that it must show.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#define APART __attribute__((noinline, noclone))
#define UNPROTECTED __attribute__((noinline, noclone, optimize("no-stack-protector")))

extern bool library_falls;  // falls_library.cc

namespace {

volatile int sink;
volatile int zero;
volatile long far_words = 12;
volatile long far_bytes = 64;

// Writes more bytes than the caller has room for.
APART void Fill(char* room, long size) {
  for (long i = 0; i < size; ++i) room[i] = 'A';  // CAUSE smash
}
APART int Smash() {
  volatile char room[24];
  Fill(const_cast<char*>(room), far_bytes);
  return room[3];
}  // AND smash

UNPROTECTED void Overwrite(uint64_t* room, long words) {
  for (long i = 0; i < words; ++i) room[i] = 0x1122334455667000;  // CAUSE return
}
UNPROTECTED int ReturnsAstray() {
  uint64_t room[4];
#ifdef __aarch64__  // a frame's return address lies below its variables there
  Overwrite(static_cast<uint64_t*>(__builtin_frame_address(0)), 2);
#else
  Overwrite(room, far_words);
#endif
  sink = static_cast<int>(room[1]);
  return static_cast<int>(room[2]);
}  // AND return

struct Named {
  long name[2];
  int (*volatile act)(int);
};
Named named;
APART int Plus(int n) { return n + 1; }
APART void SetName(volatile long* name, long words) {
  for (long i = 0; i < words; ++i) name[i] = 0x6161616161616161;  // CAUSE pointer
}
APART int Act(Named* one) {
  return one->act(3) + 1;  // AND pointer
}
int PointerCall() {
  named.act = Plus;
  sink = Act(&named);
  SetName(named.name, zero + 3);
  return Act(&named);
}

struct Shape {
  virtual ~Shape() = default;
  virtual int Area() { return 1; }
  long size = 2;
};
struct Square : Shape {
  int Area() override { return static_cast<int>(size * size); }
};
APART void Clear(void* at) {
  *static_cast<volatile uint64_t*>(at) = 0x4242424242424242;  // CAUSE vtable
}
APART int AreaOf(Shape* shape) {
  return shape->Area() + 1;  // AND vtable
}
int VirtualCall() {
  Shape* const shape = zero == 0 ? new Square : new Shape;
  sink = AreaOf(shape);
  Clear(shape);
  return AreaOf(shape);
}

struct Node {
  Node* next;
  long value;
};
APART void Drop(Node* node) { free(node); }
APART volatile long* Reuse() {
  volatile long* const words = static_cast<long*>(malloc(sizeof(Node)));
  words[0] = 0x5555;  // CAUSE stale
  return words;
}
APART long NextOf(Node* node) {
  return node->next->value;  // AND stale
}
int UseAfterFree() {
  Node* const node = static_cast<Node*>(malloc(sizeof(Node)));
  node->next = node;
  sink = static_cast<int>(NextOf(node));
  Drop(node);
  sink = static_cast<int>(*Reuse());
  return static_cast<int>(NextOf(node));
}

APART void FreeFirst(char* block) {
  free(block);  // CAUSE freed
  sink = 1;
}
APART void FreeAgain(char* block) {
  free(block);  // AND freed
  sink = 2;
}
int FreedTwice() {
  char* const block = static_cast<char*>(malloc(100));
  char* const other = static_cast<char*>(malloc(100));
  FreeFirst(block);
  FreeFirst(other);
  FreeAgain(block);
  return 0;
}

struct Account {
  long padding[4];
  long balance;
  APART long Balance() { return balance; }  // AND member
};
APART long Read(Account* account) {
  const long balance = account->Balance();  // CAUSE member
  return balance + 1;
}
int NullMember() { return static_cast<int>(Read(reinterpret_cast<Account*>(zero + 0L))); }

APART int Odd(int n);
APART int Even(int n) {
  volatile char room[3000];
  room[0] = static_cast<char>(n);
  return Odd(n + 1) + room[0];  // CAUSE mutual
}
APART int Odd(int n) {
  volatile char room[2500];
  room[1] = static_cast<char>(n);
  return Even(n + 1) + room[1];
}

APART void Throw(int n) {
  if (n > 2) throw std::runtime_error("more than two");  // CAUSE rethrow
}
APART void Again(int n) {
  try {
    Throw(n);
  } catch (const std::exception&) {
    sink = n;
    throw;
  }
}
APART void AndAgain(int n) {
  try {
    Again(n);
  } catch (...) {
    sink = n + 1;
    throw;
  }
}
int Rethrown() {
  AndAgain(3);
  return 0;
}

volatile int* handled;
void Handler(int) {
  sink = *handled;  // CAUSE handler
}
APART int Interrupted() {
  raise(SIGUSR1);  // AND handler
  return sink;
}
int InHandler() {
  signal(SIGUSR1, Handler);
  return Interrupted();
}

jmp_buf back;
int* volatile jumped;
APART void Leap() {
  jumped = nullptr;  // CAUSE leap
  longjmp(back, 1);
}
int AfterLeap() {
  jumped = new int(4);
  if (setjmp(back) == 0) Leap();
  return *jumped;  // AND leap
}

APART int CallCode(int (*code)()) {
  return code() + 1;  // CAUSE made
}
int MadeCode() {
#ifdef __aarch64__
  const unsigned bytes[] = {0xd2800000, 0xb9400000, 0xd65f03c0};  // mov x0,#0; ldr w0,[x0]; ret
#else
  const unsigned char bytes[] = {0x31, 0xc0, 0x8b, 0x00,
                                 0xc3};  // xor %eax,%eax; mov (%rax),%eax; ret
#endif
  void* const at =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(at, bytes, sizeof bytes);
  __builtin___clear_cache(static_cast<char*>(at), static_cast<char*>(at) + sizeof bytes);
  return CallCode(reinterpret_cast<int (*)()>(at));
}

APART int ShrinkAndRead() {
  const rlimit none{};
  setrlimit(RLIMIT_CORE, &none);  // of a file that is too short, an emulator takes seconds
  char name[] = "/tmp/flowback-falls-XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  if (ftruncate(file, 8192) != 0) return 1;
  char* const map = static_cast<char*>(mmap(nullptr, 8192, PROT_READ, MAP_SHARED, file, 0));
  sink = map[5000];
  if (ftruncate(file, 100) != 0) return 1;
  return map[5000];  // CAUSE shrunk
}

APART int Divide(int a, int b) {
  return a / b;  // CAUSE quotient
}

// Shared by the parent and its children. The parent waits until the loop has gone round: a store
// before the loop would be all that a slow machine had executed until then.
volatile int* rounds;
APART int Wait() {
  for (;;) *rounds = *rounds + 1;  // CAUSE outside
}

int Library() {
  library_falls = true;
  exit(0);
}

struct Way {
  const char* name;
  int (*fall)();
};
const Way kWays[] = {
    {"smash", Smash},          {"return", ReturnsAstray},
    {"pointer", PointerCall},  {"vtable", VirtualCall},
    {"stale", UseAfterFree},   {"freed", FreedTwice},
    {"member", NullMember},    {"mutual", [] { return Even(1); }},
    {"rethrow", Rethrown},     {"handler", InHandler},
    {"leap", AfterLeap},       {"made", MadeCode},
    {"shrunk", ShrinkAndRead}, {"quotient", [] { return Divide(INT_MIN, zero - 1); }},
    {"outside", Wait},         {"library", Library},
};

void Fall(const char* how) {
  char folder[] = "core.XXXXXX";
  if (mkdtemp(folder) == nullptr || chdir(folder) != 0) _exit(90);
  for (const Way& way : kWays)
    if (strcmp(way.name, how) == 0) exit(way.fall());
  _exit(91);
}

}  // namespace

int main(int, char** words) {
  rounds = static_cast<int*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (char** how = words + 1; *how != nullptr; ++how) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) Fall(*how);
    printf("%s %d\n", *how, child);
    if (strcmp(*how, "outside") == 0) {
      for (int tries = 0; *rounds == 0 && tries < 10000; ++tries) usleep(1000);
      kill(child, SIGKILL);
    }
    waitpid(child, nullptr, 0);
  }
  return 0;
}
