// SPDX-License-Identifier: MIT
#include "replay/dap/function_names.h"

#include <gtest/gtest.h>

namespace flowback::dap {
namespace {

bool Names(std::string_view typed, std::string_view function) {
  return Fits(TakeApart(typed), TakeApart(function));
}

TEST(FunctionNames, AreTypedWithAndWithoutNamespacesAndParameters) {
  for (const char* typed : {"f", "b::f", "a::b::f", "f(int, char *)", "a::b::f( int,char* )"})
    EXPECT_TRUE(Names(typed, "a::b::f(int, char*)")) << typed;
  for (const char* typed : {"f(int)", "f()", "a::f", "x::f", "g", "", "f<int>", "::"})
    EXPECT_FALSE(Names(typed, "a::b::f(int, char*)")) << typed;
  EXPECT_TRUE(Names("main(void)", "main()"));
  EXPECT_TRUE(Names("unsigned_one(unsigned int)", "unsigned_one(unsigned  int)"));
}

TEST(FunctionNames, MayLeaveTemplateArgumentsOut) {
  for (const char* typed : {"f", "S::f", "a::S::f", "a::S<int>::f", "f<b(c)>", "f<b(c)>(int)"})
    EXPECT_TRUE(Names(typed, "int a::S<int>::f<b(c)>(int)")) << typed;
  EXPECT_FALSE(Names("S<long>::f", "int a::S<int>::f<b(c)>(int)"));
}

TEST(FunctionNames, OfOperators) {
  EXPECT_TRUE(Names("operator<<", "a::operator<<(std::ostream&, a::S const&)"));
  EXPECT_TRUE(Names("a::S::operator()", "a::S::operator()(int) const"));
  EXPECT_TRUE(Names("operator new", "operator new(unsigned long)"));
  EXPECT_TRUE(Names("S::operator bool", "a::S::operator bool() const"));
  EXPECT_TRUE(Names("S::operator->", "a::S::operator->()"));
  EXPECT_FALSE(Names("operator<", "a::operator<<(std::ostream&, a::S const&)"));
}

TEST(FunctionNames, HaveMarks) {
  EXPECT_TRUE(Names("memcpy", "memcpy@GLIBC_2.14"));
  EXPECT_FALSE(Names("puts", "puts@plt"));
  EXPECT_TRUE(Names("f", "f.constprop.0"));
  EXPECT_TRUE(Names("f", "f.part.0"));
  EXPECT_TRUE(Names("f(int)", "a::f(int) [clone .isra.0]"));
  EXPECT_TRUE(Names("f", "(anonymous namespace)::f(int)"));
  EXPECT_TRUE(Names("(anonymous namespace)::f", "a::(anonymous namespace)::f(int)"));
  EXPECT_TRUE(Names("main.visit", "main.visit"));
}

}  // namespace
}  // namespace flowback::dap
