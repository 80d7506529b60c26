// SPDX-License-Identifier: MIT
#include "replay/writers/text/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "replay/writers/text/code_words.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/xml.h"

namespace flowback {
namespace {

// The quick look at eight bytes at once agrees with the definition, wherever the byte lies.
TEST(Printable, EveryByteAtEveryPlace) {
  for (unsigned value = 0; value < 256; ++value) {
    const bool plain = value >= 0x20 && value < 0x7f && value != '\\';
    for (size_t size = 1; size < 20; ++size)
      for (size_t at = 0; at < size; ++at) {
        std::string text(size, 'x');
        text[at] = static_cast<char>(value);
        ASSERT_EQ(IsPlain(text), plain) << value << " at " << at << " of " << size;
        ASSERT_EQ(Printable(text) == text, plain) << value;
      }
  }
}

// A byte does not hide its neighbour.
TEST(Printable, EveryPairOfBytes) {
  for (unsigned first = 0; first < 256; ++first)
    for (unsigned second = 0; second < 256; ++second) {
      const auto plain = [](unsigned byte) { return byte >= 0x20 && byte < 0x7f && byte != '\\'; };
      std::string text = "12345678";
      text[3] = static_cast<char>(first);
      text[4] = static_cast<char>(second);
      ASSERT_EQ(IsPlain(text), plain(first) && plain(second)) << first << " " << second;
    }
}

TEST(Printable, Escapes) {
  EXPECT_EQ(Printable("a\nb\r\t\x1b[0m\x7f\\"), R"(a\nb\r\t\x1b[0m\x7f\\)");
  EXPECT_EQ(Printable(std::string(1, '\0')), R"(\x00)");
  EXPECT_EQ(Printable("\xc2\x85\xe2\x80\xa9\xe2\x81\xa6"), R"(\u0085\u2029\u2066)");
  EXPECT_EQ(Printable("\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd"), "\\ufffe\\uffff\xef\xbf\xbd");
  EXPECT_EQ(PrintableProse("\\n\n"), R"(\n\n)");
  EXPECT_EQ(PrintableSource("\ta\t\x1b\\"), "\ta\t\\x1b\\");
}

TEST(Printable, KeepsTextInAnyLanguage) {
  const std::string text = "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\xa7";
  EXPECT_EQ(Printable(text), text);
}

// Overlong forms, surrogates, cut sequences and what is beyond U+10FFFF are bytes.
TEST(Printable, BytesThatAreNoText) {
  EXPECT_EQ(Printable("\xc0\x9b"), R"(\xc0\x9b)");
  EXPECT_EQ(Printable("\xe0\x80\x9b"), R"(\xe0\x80\x9b)");
  EXPECT_EQ(Printable("\xed\xa0\x80"), R"(\xed\xa0\x80)");
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");
  EXPECT_EQ(Printable("\xe6\x97"), R"(\xe6\x97)");
}

TEST(ByCount, ChoosesTheVerb) {
  EXPECT_EQ(ByCount(1, "is", "are"), "is");
  EXPECT_EQ(ByCount(0, "is", "are"), "are");
  EXPECT_EQ(ByCount(2, "is", "are"), "are");
}

// What names a namespace or an operator is no parameter.
TEST(ShortName, LosesArgumentsAndParameters) {
  EXPECT_EQ(ShortName("f(std::vector<int>)"), "f(std::vector<int>)");
  EXPECT_EQ(ShortName("f(std::map<std::string, int>, std::map<int, std::string>)"),
            "f(std::map<...>, std::map<...>)");
  EXPECT_EQ(ShortName("(anonymous namespace)::Parser::Read(unsigned long, unsigned long)"),
            "(anonymous namespace)::Parser::Read(...)");
  EXPECT_EQ(ShortName("a::(anonymous namespace)::b(int (*)(char), unsigned long, long) const"),
            "a::(anonymous namespace)::b(...) const");
  EXPECT_EQ(ShortName("Comparison::operator()(unsigned long, unsigned long) const"),
            "Comparison::operator()(...) const");
  EXPECT_EQ(ShortName("aFunctionWithAVeryLongNameAndWithoutAnyParameters()"),
            "aFunctionWithAVeryLongNameAndWithoutAnyParameters()");
  EXPECT_EQ(ShortName("cut_in_the_middle_of_its_name(unsigned long, unsigned"),
            "cut_in_the_middle_of_its_name(...");
  EXPECT_EQ(ShortName("\xff\\"), "\\xff\\\\");
}

// Markup holds none of them either, where text comes to it by another way.
TEST(Xml, HoldsOnlyItsCharacters) {
  EXPECT_EQ(InMarkup("a<b> & \"c\"\t\xc3\xbc\n"), "a&lt;b&gt; &amp; &quot;c&quot;\t\xc3\xbc\n");
  EXPECT_EQ(InMarkup("\x01\x1f\xff\xed\xa0\x80\xef\xbf\xbe\xef\xbf\xbf\xc3"),
            R"(\x01\x1f\xff\xed\xa0\x80\ufffe\uffff\xc3)");
  EXPECT_EQ(InMarkup(std::string(1, '\0')), R"(\x00)");
  EXPECT_EQ(XmlProse("a\\b\n"), R"(a\b\n)");
  EXPECT_EQ(XmlSource("\ta < \xff"), "\ta &lt; \\xff");
}

}  // namespace
}  // namespace flowback
