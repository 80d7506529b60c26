// SPDX-License-Identifier: MIT
// Names of languages other than C++. The readable forms of Rust's are llvm-cxxfilt-19's.
#include "replay/symbols/demangle/demangle.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace flowback::symbols {
namespace {

using Names = std::vector<std::pair<const char*, const char*>>;

void ExpectNames(const Names& names) {
  for (const auto& [mangled, readable] : names) EXPECT_EQ(Demangled(mangled), readable) << mangled;
}

TEST(Demangled, RustsNames) {
  ExpectNames({
      {"_RNvC5hello4main", "hello::main"},
      {"_RNvNtCsbt0fQicOZbh_10rust_namesu9gre_6ka8iu8lnge_loa", "rust_names::größe::länge"},
      {"_RINvMs0_NtNtNtCsjrHSEGnQ3l9_3std12backtrace_rs9symbolize5gimliNtB6_5Cache11with_"
       "globalNCNvB6_7resolves_0EBc_",
       "<std::backtrace_rs::symbolize::gimli::Cache>::with_global::<std::backtrace_rs::symbolize::"
       "gimli::resolve::{closure#1}>"},
      {"_RINvNtCsgEmfK2I1SDS_4core6escape14escape_unicodeKja_ECsgY6Mt91CT9J_14rustc_demangle",
       "core::escape::escape_unicode::<10>"},
      {"_RINvNtNtCsjrHSEGnQ3l9_3std3sys9backtrace28___rust_begin_short_"
       "backtraceFEuuECsbt0fQicOZbh_10rust_names",
       "std::sys::backtrace::__rust_begin_short_backtrace::<fn(), ()>"},
      {"_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeNtNtCslNYArtu3iFV_5alloc6string6StringECsbt0"
       "fQicOZbh_10rust_names.llvm.12144418271539600903",
       "core::ptr::drop_in_place::<alloc::string::String>"},
      {"_RINvC1a1bKb1_Kc41_E", "a::b::<true, 'A'>"},
  });
}

TEST(Demangled, RustsOlderNames) {
  ExpectNames({
      {"_ZN3foo3bar17h0123456789abcdefE", "foo::bar"},
      {"_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$closure$u7d$"
       "$u7d$$GT$17h0123456789abcdefE",
       "core::ptr::drop_in_place<std::rt::lang_start<()>::{{closure}}>"},
      {"_ZN3foo3barEv", "foo::bar()"},
  });
}

// The readable forms are those of `c++filt -s dlang`, without the parameters of functions.
TEST(Demangled, NamesOfTemplatesInD) {
  ExpectNames({
      {"_D3std5array__T8AppenderTyAaZQo__T3putTxaZQiMFNaNbNfxaZv",
       "std.array.Appender!(immutable(char[])).Appender.put!(const(char)).put"},
      {"_D3std4conv__T7toCharsVii16TaVEQBd5ascii10LetterCasei1TkZQBrFNaNbNiNfkZ6Result7opSliceMFNaN"
       "bNiNfmmZSQDuQDt__TQDrVii16TaVQDmi1TkZQEkFNaNbNiNfkZQCt",
       "std.conv.toChars!(16, char, 1, uint).toChars.Result.opSlice"},
      {"_D3std3uni__T9sliceBitsVmi5Vmi13ZQu__T6opCallTwZQkFNaNbNiNfwZk",
       "std.uni.sliceBits!(5uL, 13uL).sliceBits.opCall!(dchar).opCall"},
      {"_D3std6format8internal5write__T6getNthVAyaa13_696e7465676572207769647468SQCt6traits10isInte"
       "gralTiTxsZQCsFNaNfkxsZi",
       "std.format.internal.write.getNth!(\"integer width\", std.traits.isIntegral, int, "
       "const(short)).getNth"},
      {"_D3std11parallelism__T3runTDFZvZQkFQiZv", "std.parallelism.run!(void delegate()).run"},
      {"_D3std6base64__T10Base64ImplVai45Vai95Vai0Z12decodeLengthFNaNbNfImZm",
       "std.base64.Base64Impl!('-', '_', '\\x00').decodeLength"},
      {"_D3std3net4curl4HTTP15onReceiveHeaderMFNdDFIAaIQdZvZv",
       "std.net.curl.HTTP.onReceiveHeader"},
      {"_D8demangle__T4testVde0A8P6Vb1Z4testFZv", "demangle.test!(0x0.A8p6, true).test"},
      {"_D8demangle__T4testVG2iA2i1i2Z4testFZv", "demangle.test!([1, 2]).test"},
      {"_D8demangle__T4testTHiAyaZ4testFZv", "demangle.test!(immutable(char)[][int]).test"},
  });
}

// Names that go back to names that go back, or are within each other, cost no more than they show.
TEST(Demangled, ANameInDThatGrowsWithoutEndStaysAsItIs) {
  std::string name = "_D1a__T1bTAi";
  for (int i = 0; i < 60; ++i) name += "TB2QdQf";
  name += "Z1cFZv";
  std::string deep = "_D1a__T1bT" + std::string(100'000, 'A') + "iZ1cFZv";
  std::string nested = "_D";
  for (int i = 0; i < 20'000; ++i) nested += "1aF";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_LT(Demangled(name).size(), 20'000u);
  EXPECT_EQ(Demangled(deep), deep);
  EXPECT_EQ(Demangled(nested), nested);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

// A back reference, from the text's end, in digits of 26 letters of which the last is small.
void ReferTo(size_t target, std::string& text) {
  size_t distance = text.size() - target;
  std::string digits(1, static_cast<char>('a' + distance % 26));
  while ((distance /= 26) != 0)
    digits.insert(digits.begin(), static_cast<char>('A' + distance % 26));
  text += 'Q' + digits;
}

// Arguments that are left out are read, too: each of 120 refers to a template of 200 arguments,
// each of which refers to a type that says 3,500 letters 1,300 times. It takes no time.
TEST(Demangled, ANameInDThatSaysTheSameAgainAndAgainStaysAsItIs) {
  std::string name = "_D__T1tV";
  const size_t type = name.size();
  name += 'S';
  const size_t letters = name.size();
  name += "3500" + std::string(3500, 'a');
  for (int i = 0; i < 1300; ++i) ReferTo(letters, name);
  name += "nV";
  const size_t arguments = name.size();
  name += "S__T1u";
  for (int i = 0; i < 200; ++i) {
    name += 'V';
    ReferTo(type, name);
    name += 'n';
  }
  name += "Zn";
  for (int i = 0; i < 120; ++i) {
    name += 'V';
    ReferTo(arguments, name);
    name += 'n';
  }
  name += "Zi";
  EXPECT_EQ(Demangled(name), name);
}

TEST(Demangled, NamesOfDAndOCaml) {
  ExpectNames({
      {"_Dmain", "D main"},
      {"_D3std5stdio7writelnFZv", "std.stdio.writeln"},
      {"_D3app3appQeFZv", "app.app.app"},
      {"_D3foo", "_D3foo"},  // a name of C's
      {"camlStdlib__List__map_123", "Stdlib.List.map_123"},
      {"camlStdlib__List.map_123", "Stdlib.List.map_123"},
      {"camlMain__$2b$2b_12", "Main.++_12"},
      {"caml_alloc", "caml_alloc"},
      {"main.(*T).Method", "main.(*T).Method"},  // Go's
  });
}

TEST(Demangled, ABrokenNameStaysAsItIs) {
  for (const char* name : {"_R", "_RNvC5hel", "_RNvC5hello4mainB", "_RNvB_4main", "_RNvC0_E",
                           "_ZN3foo17h0123456789abcdefE1", "_D", "_DQ", "_D9999999999999999999a",
                           "_D1a__T1bTiZ", "_D1a__T1bVii", "_D1a__T1bVAyaa9_61Z1cFZv", "_D1aFQaZv"})
    EXPECT_EQ(Demangled(name), name);
}

// Each step repeats the one before twice: the text would have 2 to the power of forty letters.
TEST(Demangled, ARustNameThatGrowsWithoutEndStaysAsItIs) {
  std::string name = "_RINvC1a1b";
  std::string back = "TNtC1c1dE";
  for (int i = 0; i < 40; ++i) {
    const size_t at = name.size() - 2;
    name += back;
    std::string digits;
    for (size_t value = at; value != 0; value /= 62)
      digits += "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % 62];
    back = "TB" + std::string(digits.rbegin(), digits.rend()) + "_B" +
           std::string(digits.rbegin(), digits.rend()) + "_E";
  }
  name += "E";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_LT(Demangled(name).size(), 20'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace flowback::symbols
