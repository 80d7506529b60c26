// SPDX-License-Identifier: MIT
// Builds functions out of the statements a compiler makes: ifs, loops, switches, calls.
//
// A function calls only functions with higher numbers, apart from guarded calls of itself, so the
// call depth is bounded by construction. A backward jump without a condition closes only loops that
// also hold a conditional branch (in main: an indirect call), so that no execution can run on
// without ever giving a packet: a decoder may take such a loop for a wrong image.
//
// Forms of branches (8 or 32 bits of displacement) are chosen when their distance is known, with
// every branch in between still counted at its longest; addresses come last.
#include "tests/support/generator/stream_generator_program.h"

#include <algorithm>

#include "tests/support/generator/stream_generator_encode.h"
#include "tests/support/generator/stream_generator_layout.h"

namespace flowback::testing {
namespace {

enum class Statement : uint8_t {
  kStraight,
  kIf,
  kIfElse,
  kDoWhile,
  kWhile,
  kCall,
  kIndirectCall,
  kSwitch,
  kZeroCall,
  kSystemCall,
  kRep,
  kPtwrite,
  kTransaction,
  kRecursion,
  kEarlyReturn,
  kCompat,
  kCount,
};

// Relative frequency of each statement, and the longest run of plain instructions.
struct Mix {
  uint16_t weights[static_cast<size_t>(Statement::kCount)];
  uint8_t longest_run;
};

//                        str  if  ie  do  wh call ica sw zero sys rep ptw tx rec ret 32
constexpr Mix kMixed = {{10, 12, 10, 8, 6, 14, 6, 5, 2, 2, 3, 2, 3, 3, 3, 3}, 9};
constexpr Mix kTntDense = {{3, 30, 20, 16, 10, 4, 1, 1, 1, 0, 1, 0, 1, 1, 4, 1}, 3};
constexpr Mix kTipDense = {{4, 4, 3, 3, 3, 4, 30, 24, 1, 1, 1, 1, 1, 1, 1, 3}, 5};
constexpr Mix kReturnHeavy = {{4, 6, 4, 3, 3, 40, 8, 1, 2, 0, 1, 0, 1, 8, 6, 1}, 4};

const Mix& MixOf(CodeShape shape) {
  switch (shape) {
    case CodeShape::kTntDense:
      return kTntDense;
    case CodeShape::kTipDense:
      return kTipDense;
    case CodeShape::kReturnHeavy:
      return kReturnHeavy;
    default:
      return kMixed;
  }
}

class Builder {
 public:
  Builder(const GeneratorOptions& options, Random& random)
      : options_(options),
        random_(random),
        encoder_(options.mode, random),
        mix_(MixOf(options.shape)) {}

  Program Build();

 private:
  // --- functions
  void Main();
  void Function(uint32_t number);
  void Handler(NodeKind end, std::vector<uint32_t>& list);
  unsigned SectionOf(uint32_t function) const {
    return function * options_.sections / options_.functions;
  }
  bool Reachable(uint32_t from, uint32_t to) const {
    return (SectionOf(from) == 2) == (SectionOf(to) == 2);
  }

  // --- statements of the current function
  void Body(unsigned statements, unsigned depth);
  Statement PickStatement();
  void Emit(Statement statement, unsigned depth);
  void Straight(unsigned at_most);
  void If(unsigned depth);
  void IfElse(unsigned depth);
  void DoWhile(unsigned depth);
  void While(unsigned depth);
  void Call();
  void IndirectCall();
  void Switch(unsigned depth);
  void Transaction(unsigned depth);
  void Recursion();
  void EarlyReturn();
  void Compat();
  void Return();
  std::vector<uint32_t> Callees(unsigned at_most, bool direct);

  // --- nodes
  uint32_t Here() const { return static_cast<uint32_t>(program_.nodes.size()); }
  uint32_t Add(NodeKind kind, const Code& code, Form form = Form::kFixed);
  uint32_t AddConditional(unsigned low_chance, unsigned high_chance);
  uint32_t AddJump() { return Add(NodeKind::kJump, {}, Form::kNear); }
  uint32_t AddIndirect(NodeKind kind);
  void AddChoice(uint32_t indirect, uint32_t target);
  void Bind(uint32_t branch, uint32_t target);
  uint64_t Distance(uint32_t branch, uint32_t target) const;
  void MoveSection(unsigned section);

  // --- at the end
  void ResolveCalls();

  // A call or tail jump whose target function is not built yet.
  struct FunctionReference {
    uint32_t node;
    uint32_t function;
  };

  const GeneratorOptions& options_;
  Random& random_;
  InstructionEncoder encoder_;
  const Mix& mix_;
  Draft draft_;
  Program& program_ = draft_.program;
  std::vector<FunctionReference> references_;
  std::vector<FunctionReference> choice_references_;  // node: index in Program::choices
  uint32_t function_ = 0;
  bool is_handler_ = false;
  bool in_transaction_ = false;
  bool in_compat_ = false;
};

constexpr uint8_t kLongestForm[] = {0, 0, 6, 6};

uint32_t Builder::Add(NodeKind kind, const Code& code, Form form) {
  const uint32_t index = Here();
  Node node;
  node.kind = kind;
  node.mode = in_compat_ ? CodeMode::kX86_32 : options_.mode;
  node.outside = options_.filter && !is_handler_ && function_ >= options_.functions / 2 &&
                 function_ < options_.functions * 3 / 4;
  node.length = form == Form::kFixed ? code.size : kLongestForm[static_cast<size_t>(form)];
  program_.nodes.push_back(node);
  draft_.codes.push_back(code);
  draft_.forms.push_back(form);
  return index;
}

uint32_t Builder::AddConditional(unsigned low_chance, unsigned high_chance) {
  const uint32_t index = Add(NodeKind::kConditional, {}, Form::kNear);
  program_.nodes[index].taken_chance =
      static_cast<uint8_t>(random_.Between(low_chance, high_chance));
  return index;
}

uint32_t Builder::AddIndirect(NodeKind kind) {
  const bool call = kind == NodeKind::kIndirectCall;
  const uint32_t index = Add(kind, call ? encoder_.IndirectCall() : encoder_.IndirectJump());
  program_.nodes[index].first_choice = static_cast<uint32_t>(program_.choices.size());
  return index;
}

// Choices of one branch must be added one after the other.
void Builder::AddChoice(uint32_t indirect, uint32_t target) {
  program_.choices.push_back(target);
  ++program_.nodes[indirect].choice_count;
}

uint64_t Builder::Distance(uint32_t branch, uint32_t target) const {
  const auto [first, last] =
      target > branch ? std::pair{branch + 1, target} : std::pair{target, branch + 1};
  uint64_t sum = 0;
  for (uint32_t i = first; i < last; ++i) {
    sum += program_.nodes[i].length;
    if (sum > 200) break;
  }
  return sum;
}

void Builder::Bind(uint32_t branch, uint32_t target) {
  Node& node = program_.nodes[branch];
  node.target = target;
  if (Distance(branch, target) > 110 || random_.Chance(150)) return;
  const bool counter = node.kind == NodeKind::kConditional && random_.Chance(60);
  draft_.forms[branch] = counter ? Form::kCounter : Form::kShort;
}

// A body's plain instructions, perhaps with a rep string among them.
void Builder::Straight(unsigned at_most) {
  unsigned count = static_cast<unsigned>(random_.Below(at_most + 1));
  if (random_.Chance(15)) count += 40;
  while (count-- > 0) Add(NodeKind::kPlain, encoder_.Plain());
}

void Builder::If(unsigned depth) {
  const uint32_t skip = AddConditional(20, 236);
  Body(1 + static_cast<unsigned>(random_.Below(2)), depth + 1);
  Bind(skip, Here());
}

void Builder::IfElse(unsigned depth) {
  const uint32_t other = AddConditional(20, 236);
  Body(1, depth + 1);
  const uint32_t end = AddJump();
  Bind(other, Here());
  Body(1, depth + 1);
  Bind(end, Here());
}

void Builder::DoWhile(unsigned depth) {
  const uint32_t top = Here();
  Straight(2);
  Body(static_cast<unsigned>(random_.Below(3)), depth + 1);
  Bind(AddConditional(90, 245), top);
}

void Builder::While(unsigned depth) {
  const uint32_t top = Here();
  Straight(2);
  const uint32_t leave = AddConditional(12, 130);
  Body(1 + static_cast<unsigned>(random_.Below(2)), depth + 1);
  Bind(AddJump(), top);
  Bind(leave, Here());
}

// Up to `at_most` functions that the current one may call.
std::vector<uint32_t> Builder::Callees(unsigned at_most, bool direct) {
  std::vector<uint32_t> callees;
  const uint32_t last = options_.functions - 1;
  if (is_handler_ || in_compat_ || function_ >= last) return callees;
  for (unsigned tries = 0; tries < 2 * at_most && callees.size() < at_most; ++tries) {
    const bool close = random_.Chance(700);
    const uint32_t top = close ? std::min(last, function_ + 6) : last;
    const uint32_t callee = static_cast<uint32_t>(random_.Between(function_ + 1, top));
    if (!direct || Reachable(function_, callee)) callees.push_back(callee);
  }
  return callees;
}

void Builder::Call() {
  const std::vector<uint32_t> callees = Callees(1, true);
  if (callees.empty()) return Straight(3);
  Code code;
  code.Add({0xe8, 0, 0, 0, 0});
  references_.push_back({Add(NodeKind::kCall, code), callees[0]});
}

void Builder::IndirectCall() {
  const std::vector<uint32_t> callees = Callees(1 + static_cast<unsigned>(random_.Below(7)), false);
  if (callees.empty()) return Straight(3);
  const uint32_t call = AddIndirect(NodeKind::kIndirectCall);
  for (uint32_t callee : callees) {
    choice_references_.push_back({static_cast<uint32_t>(program_.choices.size()), callee});
    AddChoice(call, 0);
  }
}

void Builder::Switch(unsigned depth) {
  const uint32_t jump = AddIndirect(NodeKind::kIndirectJump);
  const unsigned cases = static_cast<unsigned>(random_.Between(1, 6));
  for (unsigned i = 0; i < cases; ++i) AddChoice(jump, 0);
  const uint32_t first = program_.nodes[jump].first_choice;
  std::vector<uint32_t> ends;
  for (unsigned i = 0; i < cases; ++i) {
    program_.choices[first + i] = Here();
    Straight(2);
    if (depth < 3 && random_.Chance(300)) Body(1, depth + 1);
    ends.push_back(AddJump());
  }
  for (uint32_t end : ends) Bind(end, Here());
}

void Builder::Transaction(unsigned depth) {
  if (in_transaction_ || in_compat_) return Straight(2);
  Code begin;
  begin.Add({0xc7, 0xf8, 0, 0, 0, 0});
  const uint32_t start = Add(NodeKind::kTransactionBegin, begin);
  in_transaction_ = true;
  Straight(4);
  Body(2, depth + 1);
  if (random_.Chance(300)) {
    const uint32_t skip = AddConditional(160, 240);
    Add(NodeKind::kTransactionAbort, encoder_.TransactionAbort());
    Bind(skip, Here());
  }
  in_transaction_ = false;
  Add(NodeKind::kTransactionEnd, encoder_.TransactionEnd());
  const uint32_t end = AddJump();
  program_.nodes[start].target = Here();  // the fallback
  Straight(3);
  Add(NodeKind::kPlain, encoder_.Plain());
  Bind(end, Here());
}

void Builder::Recursion() {
  if (is_handler_ || in_compat_ || function_ == 0) return Straight(2);
  const uint32_t guard = AddConditional(128, 128);
  program_.nodes[guard].recursion_guard = true;
  Code code;
  code.Add({0xe8, 0, 0, 0, 0});
  references_.push_back({Add(NodeKind::kCall, code), function_});
  Bind(guard, Here());
}

void Builder::Return() { Add(NodeKind::kReturn, encoder_.Return()); }

void Builder::EarlyReturn() {
  if (is_handler_ || in_compat_ || function_ == 0 || in_transaction_) return Straight(2);
  const uint32_t skip = AddConditional(120, 245);
  Straight(2);
  Return();
  Bind(skip, Here());
}

// A far jump to the next instruction, which is of the other mode, and another one back.
void Builder::Compat() {
  if (!options_.compat || is_handler_ || in_compat_ || in_transaction_) return Straight(2);
  const auto jump = [this] {
    const uint32_t node = Add(NodeKind::kFarJump, encoder_.FarJump());
    program_.nodes[node].target = node + 1;
  };
  jump();
  in_compat_ = true;
  encoder_.SetMode(CodeMode::kX86_32);
  Straight(3);
  Body(2, 2);
  jump();
  in_compat_ = false;
  encoder_.SetMode(CodeMode::kX86_64);
  Add(NodeKind::kPlain, encoder_.Plain());
}

Statement Builder::PickStatement() {
  unsigned total = 0;
  for (uint16_t weight : mix_.weights) total += weight;
  uint64_t at = random_.Below(total);
  for (size_t i = 0;; ++i) {
    if (at < mix_.weights[i]) return static_cast<Statement>(i);
    at -= mix_.weights[i];
  }
}

void Builder::Emit(Statement statement, unsigned depth) {
  switch (statement) {
    case Statement::kStraight:
    case Statement::kCount:
      return Straight(mix_.longest_run * 2u);
    case Statement::kIf:
      return If(depth);
    case Statement::kIfElse:
      return IfElse(depth);
    case Statement::kDoWhile:
      return DoWhile(depth);
    case Statement::kWhile:
      return While(depth);
    case Statement::kCall:
      return Call();
    case Statement::kIndirectCall:
      return IndirectCall();
    case Statement::kSwitch:
      return Switch(depth);
    case Statement::kTransaction:
      return options_.transactions ? Transaction(depth) : Straight(3);
    case Statement::kRecursion:
      return Recursion();
    case Statement::kEarlyReturn:
      return EarlyReturn();
    case Statement::kCompat:
      return Compat();
    case Statement::kRep:
      Add(NodeKind::kRep, encoder_.RepString());
      return;
    case Statement::kPtwrite:
      if (options_.ptwrite) Add(NodeKind::kPtwrite, encoder_.Ptwrite());
      return;
    case Statement::kSystemCall:
      if (!options_.system_calls || is_handler_ || in_transaction_) return;
      if (random_.Chance(150)) {
        Add(NodeKind::kSoftInterrupt, encoder_.SoftInterrupt());
      } else {
        Add(NodeKind::kSystemCall, encoder_.SystemCall());
      }
      return;
    case Statement::kZeroCall: {
      Code call;
      call.Add({0xe8, 0, 0, 0, 0});
      const uint32_t node = Add(NodeKind::kZeroCall, call);
      program_.nodes[node].target = node + 1;
      Add(NodeKind::kPlain, encoder_.Pop());
      return;
    }
  }
}

void Builder::Body(unsigned statements, unsigned depth) {
  for (unsigned i = 0; i < statements; ++i) {
    Straight(mix_.longest_run);
    if (depth < 4) Emit(PickStatement(), depth);
  }
}

void Builder::Function(uint32_t number) {
  function_ = number;
  program_.entries.push_back(Here());
  Straight(4);
  Body(static_cast<unsigned>(random_.Between(2, 7)), 0);
  const std::vector<uint32_t> callees = Callees(1, true);
  if (!callees.empty() && random_.Chance(80)) {  // a tail call
    Code code;
    code.Add({0xe9, 0, 0, 0, 0});
    references_.push_back({Add(NodeKind::kJump, code), callees[0]});
  } else {
    Return();
  }
}

void Builder::Main() {
  function_ = 0;
  program_.entries.push_back(Here());
  const uint32_t top = Here();
  Straight(4);
  IndirectCall();
  for (int i = 0; i < 3; ++i) {
    Body(2, 0);
    IndirectCall();
  }
  Code code;
  code.Add({0xe9, 0, 0, 0, 0});
  program_.nodes[Add(NodeKind::kJump, code)].target = top;
}

void Builder::Handler(NodeKind end, std::vector<uint32_t>& list) {
  is_handler_ = true;
  list.push_back(Here());
  Straight(6);
  Body(3, 2);
  if (options_.kernel && random_.Chance(500)) Add(NodeKind::kMovCr3, encoder_.MovCr3());
  Straight(3);
  switch (end) {
    case NodeKind::kInterruptReturn:
      Add(end, encoder_.InterruptReturn());
      break;
    case NodeKind::kSystemReturn:
      Add(end, encoder_.SystemReturn());
      break;
    default:
      Add(end, encoder_.SystemCall());
  }
  is_handler_ = false;
}

void Builder::MoveSection(unsigned section) {
  if (draft_.section_starts.empty() || draft_.section_starts.back().second != section)
    draft_.section_starts.push_back({Here(), section});
}

void Builder::ResolveCalls() {
  for (const FunctionReference& reference : references_)
    program_.nodes[reference.node].target = program_.entries[reference.function];
  for (const FunctionReference& reference : choice_references_)
    program_.choices[reference.node] = program_.entries[reference.function];
}

Program Builder::Build() {
  MoveSection(0);
  Main();
  for (uint32_t i = 1; i < options_.functions; ++i) {
    MoveSection(SectionOf(i));
    Function(i);
  }
  // User handlers lie with the last functions; what kernel tracing shows has a section of its own.
  for (int i = 0; i < 2; ++i) Handler(NodeKind::kSignalReturn, program_.user_handlers);
  if (options_.kernel) MoveSection(kKernelSection);
  for (int i = 0; i < 2 && options_.kernel; ++i) {
    Handler(NodeKind::kInterruptReturn, program_.kernel_handlers);
    Handler(NodeKind::kSystemReturn, program_.system_entries);
  }
  ResolveCalls();
  return LayOut(std::move(draft_), options_, random_);
}

}  // namespace

Program BuildProgram(const GeneratorOptions& options, Random& random) {
  return Builder(options, random).Build();
}

}  // namespace flowback::testing
