# SPDX-License-Identifier: MIT
# One static library per room. Third parties are PRIVATE to their room: no public header names them.
include_guard()
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

add_library(flowback_options INTERFACE)
# Files name themselves and their lines from the top folder on, in whichever clone they lie.
target_compile_options(flowback_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                       -fno-strict-aliasing -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # At -O3 g++ 12 finds overflows inside std::string and std::vector that are not there.
  target_compile_options(flowback_options INTERFACE
    -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # It collects garbage only above half a gigabyte, and takes a tenth less time.
  target_compile_options(flowback_options INTERFACE --param=ggc-min-heapsize=524288)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_UNITY_BUILD)
  # It takes a file that another one includes for a header.
  target_compile_options(flowback_options INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of g++ 12's library calls what that library deprecates.
  target_compile_options(flowback_options INTERFACE -Wno-deprecated-declarations)
endif()
if(FLOWBACK_SANITIZE)
  target_compile_options(flowback_options INTERFACE -fsanitize=${FLOWBACK_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND FLOWBACK_SANITIZE MATCHES undefined)
    # The address sanitizer knows the sizes of objects better, and a fifth of the compiler's time goes with them.
    target_compile_options(flowback_options INTERFACE -fno-sanitize=object-size)
  endif()
  target_link_options(flowback_options INTERFACE -fsanitize=${FLOWBACK_SANITIZE})
endif()
if(FLOWBACK_FUZZERS)
  add_custom_target(fuzzers)
endif()

# Parsing the headers that nearly every file includes is a third of the work of compiling it: they are
# parsed once for each set of options. The build for clang-tidy does without, so that no file lacks an
# include unseen.
set(FLOWBACK_COMMON_HEADERS <algorithm> <array> <atomic> <charconv> <chrono> <cstdint> <cstring> <deque>
  <expected> <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional> <set> <span>
  <string> <string_view> <tuple> <unordered_map> <unordered_set> <utility> <variant> <vector>)
option(FLOWBACK_PRECOMPILED "Precompile the headers that are used everywhere" ON)
if(FLOWBACK_PRECOMPILED AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # With the time in them ccache would never find them again.
  target_compile_options(flowback_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()

# flowback_precompile(TARGET headers...): in front of each of its files.
function(flowback_precompile target)
  if(FLOWBACK_PRECOMPILED)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# flowback_share_headers(TARGET OWNER): as OWNER, which has the same options.
function(flowback_share_headers target owner)
  if(FLOWBACK_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# The headers of all libraries, and of those that format text.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers/none.cc CONTENT "")
add_library(flowback_headers STATIC ${PROJECT_BINARY_DIR}/headers/none.cc)
target_link_libraries(flowback_headers PRIVATE flowback_options)
flowback_precompile(flowback_headers ${FLOWBACK_COMMON_HEADERS})
find_package(fmt REQUIRED)
add_library(flowback_text_headers STATIC ${PROJECT_BINARY_DIR}/headers/none.cc)
target_link_libraries(flowback_text_headers PRIVATE flowback_options fmt::fmt)
flowback_precompile(flowback_text_headers ${FLOWBACK_COMMON_HEADERS} <fmt/format.h>)

# flowback_optimise(TARGET LEVEL): LEVEL is Og or O2, in place of the O3 of a release build. O3 is for what each block
# of the flow passes through. Code that runs once a command, or waits for a file, a child or a person, has Og: it
# compiles in two thirds of the time. The rest has O2. Sanitized builds optimise neither the code that runs once nor
# that which writes: they take longer to compile it than to run it.
function(flowback_optimise target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-${level}>)
  if(level STREQUAL Og AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 sees values at -Og that are not set, where nothing reads them.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)
  endif()
  if(FLOWBACK_SANITIZE AND (level STREQUAL Og OR target MATCHES "_(writers|query)$"))
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# flowback_room(NAME SOURCES... [ROOMS lib...] [PRIVATE third-party...] [OPTIMISE level])
function(flowback_room name)
  cmake_parse_arguments(ROOM "" "OPTIMISE" "SOURCES;ROOMS;PRIVATE" ${ARGN})
  add_library(flowback_${name} STATIC ${ROOM_SOURCES})
  if(ROOM_OPTIMISE)
    flowback_optimise(flowback_${name} ${ROOM_OPTIMISE})
  endif()
  target_include_directories(flowback_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(flowback_${name}
    PUBLIC ${ROOM_ROOMS}
    PRIVATE $<BUILD_INTERFACE:flowback_options> ${ROOM_PRIVATE})
  if("fmt::fmt" IN_LIST ROOM_PRIVATE)
    flowback_share_headers(flowback_${name} flowback_text_headers)
  else()
    flowback_share_headers(flowback_${name} flowback_headers)
  endif()
  set_property(GLOBAL APPEND PROPERTY FLOWBACK_ROOMS flowback_${name})
endfunction()

# flowback_source_version(SOURCE MACRO sources...): in SOURCE, MACRO is a string that changes with any
# of the sources.
function(flowback_source_version source macro)
  set(hashes "")
  foreach(path IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(SHA256 ${path} hash)
    string(APPEND hashes ${hash})
  endforeach()
  string(SHA256 version "${hashes}")
  set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS ${macro}="${version}")
endfunction()

# What tests keep on disk is neither the user's nor in the user's place.
set(FLOWBACK_TEST_ENVIRONMENT "FLOWBACK_CACHE=${PROJECT_BINARY_DIR}/test-cache")

# A test that has not ended after so many seconds never will: on an idle machine none takes a tenth of
# them, but for those that say so. tests/conventions/limits.py sees to it that each has a limit.
set(FLOWBACK_TEST_SECONDS 120)
set(FLOWBACK_TEST_SECONDS_MAX 900)

# flowback_test_limit(VARIABLE [SECONDS]): the limit for this build; sanitizers take several times as long.
function(flowback_test_limit variable)
  set(seconds ${FLOWBACK_TEST_SECONDS})
  if(ARGC GREATER 1 AND NOT "${ARGV1}" STREQUAL "")
    set(seconds ${ARGV1})
  endif()
  if(FLOWBACK_SANITIZE)
    math(EXPR seconds "${seconds} * 5")
  endif()
  set(${variable} ${seconds} PARENT_SCOPE)
endfunction()

# A test has its folder's name as its label, with `unit.` before it where it is of one room alone,
# without the program. ctest -L takes a part of it.
set(FLOWBACK_UNIT_FOLDERS base calls capture code debug emulate flow instruction packets pt schedule symbols
  threads)
function(flowback_test_label variable)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  if(folder IN_LIST FLOWBACK_UNIT_FOLDERS)
    set(folder unit.${folder})
  endif()
  set(${variable} ${folder} PARENT_SCOPE)
endfunction()

# flowback_command_test(NAME COMMAND words... [SECONDS limit] [SKIPS]): a test that is a command. With
# SKIPS, status 77 says that this machine lacks what it needs. These tests take longest and start first, so that no
# core waits for the last of them.
function(flowback_command_test name)
  cmake_parse_arguments(TEST "SKIPS" "SECONDS" "COMMAND" ${ARGN})
  flowback_test_limit(seconds ${TEST_SECONDS})
  flowback_test_label(label)
  add_test(NAME ${name} COMMAND ${TEST_COMMAND})
  set_tests_properties(${name} PROPERTIES
    LABELS ${label} TIMEOUT ${seconds} COST ${seconds} ENVIRONMENT "${FLOWBACK_TEST_ENVIRONMENT}")
  if(TEST_SKIPS)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

# flowback_test(NAME SOURCES... [ALONE sources...] [LINK lib...] [SECONDS limit] [BUSY] [COMMANDS]): one GoogleTest program, found by
# ctest case by case; the limit is each case's. Optimising a test's own code takes longer than running
# it: -Og takes three fifths of the time that -O1 does. With sanitizers it is not optimised at all. Only
# a test that is BUSY with work of its own, which would take many times as long, is optimised in both.
# One of COMMANDS looks at what the program flowback does, and at no room of its own: a build with sanitizers has none
# of it, as that of the release build, with `commands.` before its label, runs the sanitized program there.
# Files that are ALONE name their helpers as others do, and are not compiled together with them.
function(flowback_test name)
  cmake_parse_arguments(TEST "BUSY;COMMANDS" "SECONDS" "SOURCES;ALONE;LINK" ${ARGN})
  flowback_test_limit(seconds ${TEST_SECONDS})
  add_executable(${name} ${TEST_SOURCES} ${TEST_ALONE})
  # Many tests name their helpers alike: larger units would hold two of one name.
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 8)
  if(TEST_ALONE)
    set_source_files_properties(${TEST_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE flowback_options ${TEST_LINK} flowback_places GTest::gtest_main)
  if(TEST_BUSY)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  else()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Og>)
    if(FLOWBACK_SANITIZE)
      target_compile_options(${name} PRIVATE -O0)
    endif()
    flowback_share_headers(${name} flowback_test_headers)
  endif()
  flowback_test_label(label)
  if(TEST_COMMANDS AND FLOWBACK_SANITIZE)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  if(TEST_COMMANDS)
    set(label commands.${label})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES
    PROPERTIES LABELS ${label} TIMEOUT ${seconds} ENVIRONMENT "${FLOWBACK_TEST_ENVIRONMENT}")
endfunction()

# flowback_tell_fuzzers(rooms...): these and the rooms that they rest on tell a fuzzer which of their blocks it reached.
# Others don't: it takes a sixth of the time of compiling them.
function(flowback_tell_fuzzers)
  get_property(rooms GLOBAL PROPERTY FLOWBACK_ROOMS)
  foreach(room IN LISTS ARGN)
    get_property(told GLOBAL PROPERTY FLOWBACK_TELL_FUZZERS)
    if(room IN_LIST told OR NOT room IN_LIST rooms)
      continue()
    endif()
    set_property(GLOBAL APPEND PROPERTY FLOWBACK_TELL_FUZZERS ${room})
    target_compile_options(${room} PRIVATE -fsanitize=fuzzer-no-link)
    get_target_property(linked ${room} LINK_LIBRARIES)
    flowback_tell_fuzzers(${linked})
  endforeach()
endfunction()

# flowback_fuzzer(NAME SOURCES... [LINK lib...]): bin/fuzz/NAME in a build with FLOWBACK_FUZZERS,
# nothing in others. Its seeds, if it needs any, lie in the folder NAME-seeds beside its source.
function(flowback_fuzzer name)
  if(NOT FLOWBACK_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(FUZZER "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${FUZZER_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/fuzz)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE flowback_options ${FUZZER_LINK})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  flowback_tell_fuzzers(${FUZZER_LINK})
  add_dependencies(fuzzers ${name})
endfunction()
