// SPDX-License-Identifier: MIT
// Address spaces as persistent balanced trees.
//
// A long recording has tens of thousands of mapping records, and each that maps over older code
// starts another epoch. Were every epoch a copy, time and memory would grow with the square. So the
// tree's nodes are immutable: a change makes new nodes along one path and shares the rest with the
// space it was copied from; copying a space copies one pointer.
//
// The tree is an AVL tree by address, built from one operation: Join(left, mapping, right) makes a
// balanced tree of two whose heights may differ, by going down the higher one's side until the
// heights fit (Blelloch, Ferizovic, Sun: "Just Join for Parallel Ordered Sets"). Split and all else
// follow from it.
#include <algorithm>
#include <cstring>
#include <utility>

#include "decode/code/cache/block_cache.h"
#include "flowback/decode/code_image.h"

namespace flowback {

struct AddressSpace::Node {
  Tree left;
  CodeMapping mapping;
  Tree right;
  unsigned height;
};

namespace {

using Node = AddressSpace::Node;
using Tree = AddressSpace::Tree;

// Ranges are compared by their last byte: one may end with the address space itself, where its end
// would wrap to 0.
uint64_t LastByte(uint64_t address, uint64_t size) { return address + (size - 1); }
uint64_t LastByte(const CodeMapping& mapping) { return LastByte(mapping.address, mapping.size); }

bool Contains(const CodeMapping& mapping, uint64_t address) {
  return address - mapping.address < mapping.size;
}

// `size`, cut at the end of the address space.
uint64_t SizeWithin(uint64_t address, uint64_t size) {
  return address == 0 ? size : std::min(size, -address);
}

unsigned Height(const Tree& tree) { return tree == nullptr ? 0 : tree->height; }

Tree MakeNode(Tree left, const CodeMapping& mapping, Tree right) {
  const unsigned height = 1 + std::max(Height(left), Height(right));
  return std::make_shared<const Node>(Node{std::move(left), mapping, std::move(right), height});
}

Tree RotateLeft(const Tree& tree) {
  const Node& up = *tree->right;
  return MakeNode(MakeNode(tree->left, tree->mapping, up.left), up.mapping, up.right);
}

Tree RotateRight(const Tree& tree) {
  const Node& up = *tree->left;
  return MakeNode(up.left, up.mapping, MakeNode(up.right, tree->mapping, tree->right));
}

// A node whose right side may be too high by one, put in balance.
Tree BalanceRight(const Tree& left, const CodeMapping& mapping, Tree right) {
  if (Height(right) <= Height(left) + 1) return MakeNode(left, mapping, std::move(right));
  if (Height(right->left) > Height(right->right)) right = RotateRight(right);
  return RotateLeft(MakeNode(left, mapping, std::move(right)));
}

Tree BalanceLeft(Tree left, const CodeMapping& mapping, const Tree& right) {
  if (Height(left) <= Height(right) + 1) return MakeNode(std::move(left), mapping, right);
  if (Height(left->right) > Height(left->left)) left = RotateLeft(left);
  return RotateRight(MakeNode(std::move(left), mapping, right));
}

Tree Join(const Tree& left, const CodeMapping& mapping, const Tree& right) {
  if (Height(left) > Height(right) + 1)
    return BalanceRight(left->left, left->mapping, Join(left->right, mapping, right));
  if (Height(right) > Height(left) + 1)
    return BalanceLeft(Join(left, mapping, right->left), right->mapping, right->right);
  return MakeNode(left, mapping, right);
}

// The mappings that start before `address`, and the others.
std::pair<Tree, Tree> Split(const Tree& tree, uint64_t address) {
  if (tree == nullptr) return {};
  if (tree->mapping.address < address) {
    auto [middle, right] = Split(tree->right, address);
    return {Join(tree->left, tree->mapping, middle), right};
  }
  auto [left, middle] = Split(tree->left, address);
  return {left, Join(middle, tree->mapping, tree->right)};
}

Tree WithoutLast(const Tree& tree) {
  if (tree->right == nullptr) return tree->left;
  return Join(tree->left, tree->mapping, WithoutLast(tree->right));
}

const CodeMapping* Last(const Tree& tree) {
  const Node* node = tree.get();
  while (node != nullptr && node->right != nullptr) node = node->right.get();
  return node == nullptr ? nullptr : &node->mapping;
}

Tree Concatenate(const Tree& left, const Tree& right) {
  const CodeMapping* last = Last(left);
  return last == nullptr ? right : Join(WithoutLast(left), *last, right);
}

Tree Insert(const Tree& tree, const CodeMapping& mapping) {
  const auto [left, right] = Split(tree, mapping.address);
  return Join(left, mapping, right);
}

// The part of `mapping` from `address` on, which is inside it.
CodeMapping TailFrom(CodeMapping mapping, uint64_t address) {
  const uint64_t skipped = address - mapping.address;
  mapping.address = address;
  mapping.size -= skipped;
  mapping.section_offset += skipped;
  return mapping;
}

// The part of the mapping that its section has bytes for.
CodeMapping CutToSection(CodeMapping mapping) {
  const uint64_t bytes = mapping.section->bytes().size();
  const uint64_t available = bytes - std::min(bytes, mapping.section_offset);
  mapping.size = std::min(SizeWithin(mapping.address, mapping.size), available);
  return mapping;
}

// The first mapping that ends behind `address`.
const CodeMapping* FirstReaching(const Node* node, uint64_t address) {
  const CodeMapping* found = nullptr;
  while (node != nullptr) {
    const bool reaches = LastByte(node->mapping) >= address;
    if (reaches) found = &node->mapping;
    node = reaches ? node->left.get() : node->right.get();
  }
  return found;
}

void Append(const Tree& tree, std::vector<CodeMapping>& list) {
  if (tree == nullptr) return;
  Append(tree->left, list);
  list.push_back(tree->mapping);
  Append(tree->right, list);
}

// `tree` with a hole.
Tree WithHole(const Tree& tree, uint64_t address, uint64_t size) {
  const uint64_t last = LastByte(address, size);
  auto [left, rest] = Split(tree, address);
  auto [removed, right] = last == ~uint64_t{0} ? std::pair(rest, Tree()) : Split(rest, last + 1);
  // What starts before the hole or inside it and goes on behind it.
  const CodeMapping* over = Last(removed != nullptr ? removed : left);
  if (over != nullptr && LastByte(*over) > last) right = Insert(right, TailFrom(*over, last + 1));
  if (const CodeMapping* head = Last(left); head != nullptr && LastByte(*head) >= address) {
    CodeMapping cut = *head;
    cut.size = address - cut.address;
    left = Join(WithoutLast(left), cut, nullptr);
  }
  return Concatenate(left, right);
}

bool HasAny(const Tree& tree, uint64_t address, uint64_t size) {
  if (size == 0) return false;
  const CodeMapping* found = FirstReaching(tree.get(), address);
  return found != nullptr && found->address <= LastByte(address, size);
}

// Null when `address` is in a hole.
const CodeMapping* FindIn(const Tree& tree, uint64_t address) {
  const CodeMapping* found = FirstReaching(tree.get(), address);
  return found != nullptr && Contains(*found, address) ? found : nullptr;
}

const CodeMapping* First(const Tree& tree) {
  const Node* node = tree.get();
  while (node != nullptr && node->left != nullptr) node = node->left.get();
  return node == nullptr ? nullptr : &node->mapping;
}

// `tree` with all of `other` over it.
Tree WithAll(Tree tree, const Tree& other) {
  if (tree == nullptr || other == nullptr) return tree == nullptr ? other : tree;
  if (LastByte(*Last(tree)) < First(other)->address) return Concatenate(tree, other);
  std::vector<CodeMapping> list;
  Append(other, list);
  for (const CodeMapping& mapping : list) {
    if (HasAny(tree, mapping.address, mapping.size))
      tree = WithHole(tree, mapping.address, mapping.size);
    tree = Insert(tree, mapping);
  }
  return tree;
}

}  // namespace

void AddressSpace::Map(const CodeMapping& mapping) {
  Unmap(mapping.address, mapping.size);
  const CodeMapping cut = CutToSection(mapping);
  if (cut.size != 0) root_ = Insert(root_, cut);
}

void AddressSpace::Unmap(uint64_t address, uint64_t size) {
  size = SizeWithin(address, size);
  if (HasAny(root_, address, size)) root_ = WithHole(root_, address, size);
  if (HasAny(reasons_, address, size)) reasons_ = WithHole(reasons_, address, size);
}

bool AddressSpace::Overlaps(uint64_t address, uint64_t size) const {
  return HasAny(root_, address, SizeWithin(address, size));
}

const CodeMapping* AddressSpace::Find(uint64_t address) const { return FindIn(root_, address); }

void AddressSpace::Explain(uint64_t address, uint64_t size,
                           std::shared_ptr<const CodeSection> reason) {
  size = SizeWithin(address, size);
  if (size == 0) return;
  if (HasAny(reasons_, address, size)) reasons_ = WithHole(reasons_, address, size);
  reasons_ =
      Insert(reasons_,
             {.address = address, .size = size, .section_offset = 0, .section = std::move(reason)});
}

const std::string* AddressSpace::WhyNothing(uint64_t address) const {
  const CodeMapping* found = FindIn(reasons_, address);
  return found == nullptr || Find(address) != nullptr ? nullptr : &found->section->name();
}

std::shared_ptr<const CodeSection> AddressSpace::SectionOrReason(uint64_t address) const {
  const CodeMapping* found = Find(address);
  if (found == nullptr) found = FindIn(reasons_, address);
  return found == nullptr ? nullptr : found->section;
}

void AddressSpace::MapAll(const AddressSpace& other) {
  root_ = WithAll(root_, other.root_);
  reasons_ = WithAll(reasons_, other.reasons_);
}

size_t AddressSpace::Read(uint64_t address, uint8_t* buffer, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const CodeMapping* mapping = Find(address + done);
    if (mapping == nullptr) break;
    const uint64_t skipped = address + done - mapping->address;
    const Bytes bytes = mapping->section->bytes().subspan(mapping->section_offset + skipped);
    const size_t part = std::min<uint64_t>(size - done, mapping->size - skipped);
    std::memcpy(buffer + done, bytes.data(), part);
    mapping->section->blocks().NoteRead();
    done += part;
  }
  return done;
}

std::vector<CodeMapping> AddressSpace::mappings() const {
  std::vector<CodeMapping> list;
  Append(root_, list);
  return list;
}

}  // namespace flowback
