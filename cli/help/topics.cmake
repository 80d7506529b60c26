# SPDX-License-Identifier: MIT
# Writes topics.cc, which holds the documents of topics.def. Run as: cmake -D source=DIR -D out=FILE
# -P topics.cmake
file(STRINGS ${source}/cli/help/topics.def rows REGEX "^FLOWBACK_TOPIC")
set(text "// Generated from docs/ by cli/help/topics.cmake.\n#include \"cli/help/topics.h\"\n\n")
string(APPEND text "namespace flowback::cli {\nnamespace {\n\nconstexpr Topic kTopics[] = {\n")
foreach(row IN LISTS rows)
  if(NOT row MATCHES "^FLOWBACK_TOPIC\\(\"([a-z]+)\", \"([^\"]+)\", \"(.*)\"\\)$")
    message(FATAL_ERROR "cli/help/topics.def: not understood: ${row}")
  endif()
  set(name ${CMAKE_MATCH_1})
  string(REPLACE " " ";" files "${CMAKE_MATCH_2}")
  string(APPEND text "    {\"${name}\", \"${CMAKE_MATCH_3}\",\n")
  # A literal for each file: the compiler joins them.
  foreach(file IN LISTS files)
    file(READ ${source}/docs/${file}.md document)
    string(APPEND text "     R\"document(${document}\n)document\"\n")
  endforeach()
  string(APPEND text "    },\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\nstd::span<const Topic> Topics() { return kTopics; }\n\n")
string(APPEND text "}  // namespace flowback::cli\n")
file(WRITE ${out} "${text}")
